#!/usr/bin/env python3
"""An MCP server of one revision over its standard input and output, for the tests of the bridge.

bridged_server.py REVISION [JOURNAL]: REVISION is A to E as in wire_schema; what happens to it is
appended to JOURNAL, a line each. It does what its tools say, well or badly.
"""

import json
import os
import signal
import subprocess
import sys
import time

VERSIONS = {"A": "2024-11-05", "B": "2025-03-26", "C": "2025-06-18", "D": "2025-11-25",
            "E": "2026-07-28"}
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
OPEN = {"type": "object"}
# What a list says of a page that is shown to people (MCP Apps), and what its content says.
SHOWN = {"annotations": {"audience": ["user"], "priority": 0.5,
                         "lastModified": "2026-01-01T00:00:00Z"},
         "_meta": {"ui": {"csp": {"connectDomains": ["https://x.example"]}},
                   "io.modelcontextprotocol/own": 1}}
# Pages of tools (MCP Apps), which no list has.
PAGES = {"count": {"_meta": {"ui": {"resourceUri": "hidden://count"}}},
         "tell": {"_meta": {"ui/resourceUri": "hidden://tell"}},
         "big": {"_meta": {"ui": {"resourceUri": "hidden://big"}}}}
LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
ICONS = [{"src": "javascript:alert(1)"},
         {"src": "https://x.example/bridged.png", "mimeType": "image/png",
          "sizes": ["16x16", "large"], "theme": "light"}, {"src": "file:///etc/passwd"}]
NAMES = ["echo", "ask", "count", "tell", "wait", "crash", "garbage", "flood", "deaf", "orphan",
         "change", "touch", "big", "noise", "self"]


class Server:
    def __init__(self, revision, journal):
        self.revision = revision
        self.modern = revision == "E"
        self.journal = journal
        self.asked = {}
        self.questions = 0
        self.waiting = []
        self.listening = []
        self.names = list(NAMES)
        self.level = "debug"
        self.uris = ["memo://one"]

    def note(self, text):
        if self.journal:
            with open(self.journal, "a", encoding="utf-8") as file:
                file.write(text + "\n")

    def send(self, message):
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    def answer(self, identifier, result):
        if self.modern:
            result = {"resultType": "complete", **result}
        self.send({"id": identifier, "result": result})

    def text(self, identifier, text):
        self.answer(identifier, {"content": [{"type": "text", "text": text}]})

    def refuse(self, identifier, code, message):
        self.send({"id": identifier, "error": {"code": code, "message": message}})

    def tell(self, method, params=None):
        for identifier in self.listening if self.modern else [None]:
            tagged = dict(params or {})
            if self.modern:
                tagged["_meta"] = {"io.modelcontextprotocol/subscriptionId": identifier}
            self.send({"method": method, "params": tagged})

    def run(self):
        self.note("started")
        for line in sys.stdin:
            self.take(json.loads(line))
        self.note("input ended")

    def take(self, message):
        method, identifier = message.get("method"), message.get("id")
        params = message.get("params") or {}
        if method is None:
            return self.take_answer(message)
        if identifier is None:
            return self.take_notification(method, params)
        era = "io.modelcontextprotocol/protocolVersion" in (params.get("_meta") or {})
        if era != self.modern:
            return self.refuse(identifier, -32601, "Method not found")
        handler = getattr(self, "do_" + method.replace("/", "_"), None)
        if handler is None:
            return self.refuse(identifier, -32601, "Method not found")
        return handler(identifier, params)

    def take_notification(self, method, params):
        if method == "notifications/cancelled":
            self.note(f"cancelled {params.get('reason')}")
            self.listening = [one for one in self.listening if one != params["requestId"]]
        if method == "notifications/roots/list_changed":
            self.send({"id": "roots", "method": "roots/list"})

    def take_answer(self, message):
        if message["id"] == "roots":
            return self.note(" ".join(["roots"] + [one["uri"]
                                                   for one in message["result"]["roots"]]))
        identifier = self.asked.pop(message["id"])
        if "error" in message:
            return self.text(identifier, f"nobody: {message['error']['message']}")
        return self.greet(identifier, message["result"])

    def greet(self, identifier, said):
        good = said.get("action") == "accept"
        self.text(identifier, f"Hello, {said['content']['name'] if good else said['action']}")

    # ---- methods ----

    def capabilities(self):
        if "TOOLS_ALONE" in os.environ:
            return {"tools": {"listChanged": True}}
        tasks = {"tasks": {"requests": {"tools": {"call": {}}}}} if "TASKS" in os.environ else {}
        return {**tasks, "tools": {"listChanged": True}, "prompts": {}, "logging": {},
                "resources": {"subscribe": True}, "completions": {}}

    def do_initialize(self, identifier, params):
        self.note(f"initialized {params['protocolVersion']}")
        self.answer(identifier, {"protocolVersion": VERSIONS[self.revision],
                                 "capabilities": self.capabilities(),
                                 "serverInfo": {"name": "bridged", "version": "1"}})

    def do_server_discover(self, identifier, _):
        self.answer(identifier, {"supportedVersions": [VERSIONS["E"]], "ttlMs": 0,
                                 "cacheScope": "private", "capabilities": self.capabilities()})

    def do_logging_setLevel(self, identifier, params):
        self.level = params["level"]
        self.note(f"level {self.level}")
        self.answer(identifier, {})

    def do_tools_list(self, identifier, params):
        # Three to a page.
        begin = int(params.get("cursor", 0))
        page = [{"name": name, "description": "d", "inputSchema": self.schema_of(name),
                 **self.icons_of(name), **self.execution_of(name), **PAGES.get(name, {})}
                for name in self.names[begin:begin + 3]]
        more = {"nextCursor": str(begin + 3)} if begin + 3 < len(self.names) else {}
        self.answer(identifier, {"tools": page, **more, **self.cached()})

    def schema_of(self, name):
        given = os.environ.get("SCHEMA_OF_ECHO")
        return json.loads(given) if given and name == "echo" else OPEN

    @staticmethod
    def execution_of(name):
        only = name in os.environ.get("ONLY_TASKS", "").split()
        return {"execution": {"taskSupport": "required"}} if only else {}

    def icons_of(self, name):
        """Good ones and bad ones."""
        if name != "echo" or self.revision not in "DE":
            return {}
        return {"icons": ICONS}

    def cached(self):
        return {"ttlMs": 0, "cacheScope": "private"} if self.modern else {}

    def do_prompts_list(self, identifier, _):
        self.answer(identifier, {"prompts": [{"name": "poem", "arguments": [
            {"name": "about", "required": True}]}], **self.cached()})

    def do_prompts_get(self, identifier, params):
        about = params["arguments"]["about"]
        if about.startswith("{"):  # a content
            return self.answer(identifier, {"messages": [
                {"role": "assistant", "content": json.loads(about)}]})
        self.answer(identifier, {"description": "A poem", "messages": [
            {"role": "user", "content": {"type": "text", "text": f"Write about {about}"}},
            {"role": "assistant", "content": {"type": "text", "text": "No"}}]})
        return None

    def do_completion_complete(self, identifier, params):
        typed = params["argument"]["value"]
        self.answer(identifier, {"completion": {"values": [typed + "ms", typed + "ts"]}})

    def do_resources_list(self, identifier, _):
        self.answer(identifier, {"resources": [
            *({"uri": uri, "name": uri.split("/")[-1], "mimeType": "text/plain"}
              for uri in self.uris),
            {"uri": "ui://page", "name": "page", **SHOWN, "icons": ICONS}], **self.cached()})

    def do_resources_templates_list(self, identifier, _):
        self.answer(identifier, {"resourceTemplates": [
            {"uriTemplate": "memo://by/{name}", "name": "by"},
            {"uriTemplate": "ui://of/{name}", "name": "of", **SHOWN, "icons": ICONS}],
            **self.cached()})

    def do_resources_read(self, identifier, params):
        if params["uri"] == "memo://by/locked":
            return self.refuse(identifier, -32603, "The database is locked")
        if params["uri"] == "hidden://self":  # is not listed
            return self.answer(identifier, {"contents": [
                {"uri": "hidden://self", "text": str(os.getpid())}], **self.cached()})
        if params["uri"] == "memo://by/nobody":
            return self.refuse(identifier, -32602, "Resource memo://by/nobody not found")
        self.answer(identifier, {"contents": [
            {"uri": params["uri"], "mimeType": "text/plain", "text": "memo " + params["uri"],
             **({"_meta": SHOWN["_meta"]} if params["uri"].startswith("ui:") else {})}],
            **self.cached()})

    def do_resources_subscribe(self, identifier, params):
        self.note(f"subscribed {params['uri']}")
        self.answer(identifier, {})

    def do_resources_unsubscribe(self, identifier, params):
        self.note(f"unsubscribed {params['uri']}")
        self.answer(identifier, {})

    def do_subscriptions_listen(self, identifier, params):
        uris = params["notifications"].get("resourceSubscriptions", [])
        self.note("listened to" + "".join(" " + uri for uri in uris))
        for uri in uris:
            self.note(f"subscribed {uri}")
        self.listening.append(identifier)
        self.tell("notifications/subscriptions/acknowledged",
                  {"notifications": params["notifications"]})

    # ---- tools ----

    def do_tools_call(self, identifier, params):
        name = params["name"]
        if name not in self.names:
            return self.refuse(identifier, -32602, f"Unknown tool {name}")
        self.note(f"called {name}")
        return getattr(self, "tool_" + name)(identifier, params, params.get("arguments") or {})

    def tool_echo(self, identifier, _, arguments):
        if "link" in arguments:
            return self.answer(identifier, {"content": [
                {"type": "resource_link", **arguments["link"]}]})
        self.text(identifier, json.dumps(arguments))

    def tool_self(self, identifier, *_):
        self.text(identifier, str(os.getpid()))

    def tool_ask(self, identifier, params, arguments):
        question = {"message": "Who?", "requestedSchema": FORM}
        if not self.modern:
            self.asked[self.questions] = identifier
            self.questions += 1  # from 0 in each process, as the official SDKs have it
            return self.send({"id": self.questions - 1, "method": "elicitation/create",
                              "params": question})
        if "inputResponses" in params:
            assert params["requestState"] == "kept"
            if "who" in params["inputResponses"]:
                return self.greet(identifier, params["inputResponses"]["who"])
            return self.text(identifier, "nobody")
        return self.send({"id": identifier, "result": {
            "resultType": "input_required", "requestState": "kept", "inputRequests": {
                "who": {"method": "elicitation/create", "params": {"mode": "form", **question}}}}})

    def tool_count(self, identifier, params, arguments):
        for i in range(arguments["to"]):
            self.send({"method": "notifications/progress", "params": {
                "progressToken": params["_meta"]["progressToken"], "progress": i + 1,
                "total": arguments["to"], "message": f"step {i + 1}"}})
            time.sleep(arguments.get("pause", 0))
        self.text(identifier, "counted")

    def tool_tell(self, identifier, params, arguments):
        data = "x" * arguments["bytes"] if "bytes" in arguments else "careful"
        level = arguments.get("level", "warning")
        least = (params["_meta"].get("io.modelcontextprotocol/logLevel", "emergency")
                 if self.modern else self.level)
        wanted = LEVELS.index(level) >= LEVELS.index(least)
        for _ in range(arguments.get("times", 1) if wanted else 0):
            self.send({"method": "notifications/message", "params": {
                "level": level, "logger": "bridged", "data": data}})
        self.text(identifier, "told")

    def tool_wait(self, identifier, *_):
        self.waiting.append(identifier)

    def tool_crash(self, *_):
        sys.stderr.write("the disk is on fire\n")
        sys.stderr.flush()
        os._exit(3)

    def tool_garbage(self, identifier, *_):
        for line in ["not json", "", "[]", "{}", '{"id": 99999, "result": {}}', '{"method": 5}',
                     "\x00\xff", "[" * 5000]:
            sys.stdout.write(line + "\n")
        self.text(identifier, "after all")

    def tool_flood(self, *_):
        while True:
            sys.stdout.write("x" * 65536)

    def tool_deaf(self, identifier, *_):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.note("deaf")
        while True:
            time.sleep(1)

    def tool_orphan(self, identifier, *_):
        child = subprocess.Popen(["sleep", "1000"])
        self.note(f"grandchild {child.pid}")
        os._exit(0)

    def tool_noise(self, identifier, *_):
        for _ in range(2000):
            sys.stderr.write("noise " * 100 + "\n")
        self.text(identifier, "quiet")

    def tool_change(self, identifier, _, arguments):
        """Another tool, or a resource that comes or goes."""
        if "name" in arguments:
            self.names.append(arguments["name"])
            self.tell("notifications/tools/list_changed")
        else:
            self.uris = [uri for uri in self.uris if uri != arguments["resource"]] + [
                uri for uri in [arguments["resource"]] if uri not in self.uris]
            self.tell("notifications/resources/list_changed")
        self.text(identifier, "changed")

    def tool_touch(self, identifier, _, arguments):
        self.tell("notifications/resources/updated", {"uri": arguments["uri"]})
        self.text(identifier, "touched")

    def tool_big(self, identifier, _, arguments):
        self.text(identifier, "x" * arguments["bytes"])


if __name__ == "__main__":
    Server(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None).run()
