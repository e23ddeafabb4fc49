"""Clients of every revision over Streamable HTTP and stdio.

Every message that arrives is judged by wire_schema before a test sees it.
"""

import itertools
import json
import queue
import re
import subprocess
import threading

from http_client import TIMEOUT_S, Connection, EventStream, HttpError
from wire_schema import JUDGE, VERSIONS, WireError

META = "io.modelcontextprotocol/"
CAPABILITIES = {"sampling": {}, "elicitation": {}, "roots": {"listChanged": True}}
CLIENT_INFO = {"name": "integration-test", "version": "4.5.6"}
NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri",
            "tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId"}
JSON_TYPE = ("Content-Type", "application/json")
ACCEPT_BOTH = ("Accept", "application/json, text/event-stream")
REPLY_S = 20


class RpcError(Exception):
    """The answer was an error."""

    def __init__(self, error, reply=None):
        super().__init__(f"{error['code']}: {error['message']}")
        self.code = error["code"]
        self.message = error["message"]
        self.data = error.get("data")
        self.reply = reply


class Reply:
    """What came back for one POST: HTTP response, final message, notifications before it."""

    def __init__(self, response, message, before, streamed):
        self.response = response
        self.status = response.status
        self.message = message
        self.before = before
        self.streamed = streamed

    @property
    def result(self):
        if "error" in self.message:
            raise RpcError(self.message["error"], self)
        return self.message["result"]

    @property
    def error(self):
        assert "error" in self.message, f"no error: {self.message}"
        return RpcError(self.message["error"], self)

    def notifications(self, method):
        return [m["params"] for m in self.before if m.get("method") == method]


def compact(message):
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def modern_params(params, version=VERSIONS["E"], capabilities=None, meta=None):
    """`params` with the `_meta` that every request of 2026-07-28 carries."""
    return {**(params or {}), "_meta": {
        META + "protocolVersion": version,
        META + "clientInfo": CLIENT_INFO,
        META + "clientCapabilities": CAPABILITIES if capabilities is None else capabilities,
        **(meta or {})}}


def legacy_params(params, meta=None):
    if params is None and not meta:
        return None
    return {**(params or {}), **({"_meta": meta} if meta else {})}


class Client:
    """A client of one revision over HTTP, on one keep-alive connection (made anew when lost).
    `patience_s`: how long it waits for something to come."""

    def __init__(self, address, rev, path="/mcp", capabilities=None, patience_s=TIMEOUT_S):
        self.address = address
        self.rev = rev
        self.path = path
        self.capabilities = CAPABILITIES if capabilities is None else capabilities
        self.patience_s = patience_s
        self.session = None
        self.ready = False
        self.ids = itertools.count(1)
        self.asked = {}
        self._connection = None
        self._others = []

    def close(self):
        for connection in [self._connection, *self._others]:
            if connection:
                connection.close()
        self._connection, self._others = None, []

    def connect(self):
        """A further connection, closed with the client."""
        connection = Connection(self.address, self.patience_s)
        self._others.append(connection)
        return connection

    @property
    def connection(self):
        if self._connection is None:
            self._connection = Connection(self.address, self.patience_s)
        return self._connection

    # ---- composing ----

    def headers(self, message=None, extra=()):
        """What a client of this revision sends; `extra` replaces, a value of None removes."""
        out = [JSON_TYPE, ACCEPT_BOTH]
        if self.rev == "E":
            out.append(("MCP-Protocol-Version", VERSIONS["E"]))
            if message and "id" in message and "method" in message:
                out.append(("Mcp-Method", message["method"]))
                key = NAMED_BY.get(message["method"])
                value = (message.get("params") or {}).get(key) if key else None
                if isinstance(value, str):
                    out.append(("Mcp-Name", value))
        else:
            if self.session:
                out.append(("Mcp-Session-Id", self.session))
            if self.ready and self.rev in "CD":
                out.append(("MCP-Protocol-Version", VERSIONS[self.rev]))
        replaced = {name.lower() for name, _ in extra}
        out = [pair for pair in out if pair[0].lower() not in replaced]
        return out + [(name, value) for name, value in extra if value is not None]

    def compose(self, method, params=None, meta=None, capabilities=None, identifier=None):
        identifier = next(self.ids) if identifier is None else identifier
        if self.rev == "E":
            chosen = self.capabilities if capabilities is None else capabilities
            params = modern_params(params, capabilities=chosen, meta=meta)
        else:
            params = legacy_params(params, meta)
        self.asked[identifier] = method
        message = {"jsonrpc": "2.0", "id": identifier, "method": method}
        if params is not None:
            message["params"] = params
        return message

    # ---- exchanging ----

    def post(self, message, extra=(), connection=None):
        """Sends a message (or bytes) and reads what comes back."""
        body = message if isinstance(message, bytes) else compact(message)
        known = message if isinstance(message, dict) else None
        own = connection is None
        connection = connection or self.connection
        connection.send_request("POST", self.path, self.headers(known, extra), body)
        return self.read_reply(connection, (known or {}).get("id"), own)

    def read_reply(self, connection, identifier=None, own=False):
        """The answer to a POST whose bytes were sent."""
        response = connection.read_head()
        if self.rev == "E" and response["Mcp-Session-Id"] is not None:
            raise WireError("2026-07-28 has no sessions")
        if response.media_type == "text/event-stream":
            reply = self._read_stream(connection, response, identifier)
        else:
            reply = self._read_body(connection, response)
        if own and (response["Connection"] or "").lower() == "close":
            self._connection.close()
            self._connection = None
        return reply

    def _read_body(self, connection, response):
        # The head was read already: put a plain body behind it.
        if response.status in (202, 204):
            if response["Content-Type"] or response["Content-Length"] not in (None, "0"):
                raise HttpError(f"no body is expected: {response}")
            return Reply(response, None, [], False)
        if response["Transfer-Encoding"] is not None:
            response.body = b"".join(connection.chunks(response))
        else:
            response.body = connection.take(int(response["Content-Length"]))
        message = response.json()
        self.judge(message)
        return Reply(response, message, [], False)

    def _read_stream(self, connection, response, identifier):
        if self.rev == "E" and response["X-Accel-Buffering"] != "no":
            raise HttpError(f"X-Accel-Buffering: no is missing: {response}")
        stream, before, final = EventStream(connection, response), [], None
        for message in self.messages(stream):
            if final is not None:
                raise WireError(f"a message behind the answer: {message}")
            if "method" not in message:
                if message.get("id") != identifier or type(message["id"]) is not type(identifier):
                    raise WireError(f"an answer to {identifier!r} was due: {message}")
                final = message
            else:
                before.append(message)
        return Reply(response, final, before, True)

    def messages(self, stream):
        """The judged messages of a stream until it ends."""
        while (event := stream.next_event()) is not None:
            message = self.take_event(event)
            if message is not None:
                yield message

    def take_event(self, event):
        """The judged message of an event, None for a priming event."""
        if self.rev == "E" and event.id is not None:
            raise WireError("events of 2026-07-28 have no id")
        if not event.data:
            if self.rev != "D":
                raise WireError("an event without data, which clients before 2025-11-25 parse")
            return None
        message = json.loads(event.data)
        self.judge(message)
        return message

    def judge(self, message):
        if isinstance(message, list):
            assert self.rev == "B" and message, f"no batches but in 2025-03-26: {message}"
            for member in message:
                JUDGE.message(self.rev, member, self.asked.get)
        else:
            JUDGE.message(self.rev, message, self.asked.get)

    def call(self, method, params=None, extra=(), connection=None, **more):
        """Sends a request and returns the Reply."""
        message = self.compose(method, params, **more)
        reply = self.post(message, extra, connection)
        assert reply.message is not None, f"{method} was not answered: {reply.response}"
        if isinstance(reply.message, dict) and "id" in reply.message:
            assert reply.message["id"] == message["id"], reply.message
            assert type(reply.message["id"]) is type(message["id"])
        return reply

    def request(self, method, params=None, **more):
        """Sends a request and returns its result; raises RpcError."""
        return self.call(method, params, **more).result

    def notify(self, method, params=None, extra=(), connection=None):
        message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        return self.post(message, extra, connection)

    def respond(self, identifier, connection=None, **outcome):
        """Answers a request of the server's: `result` or `error`."""
        return self.post({"jsonrpc": "2.0", "id": identifier, **outcome}, connection=connection)

    # ---- what most tests need ----

    def open(self):
        """Does what a client of this revision does first."""
        if self.rev != "E":
            self.initialize()
            reply = self.notify("notifications/initialized")
            assert reply.status == 202, reply.response
        return self

    def initialize(self, version=None, **more):
        params = {"protocolVersion": version or VERSIONS[self.rev],
                  "capabilities": self.capabilities, "clientInfo": CLIENT_INFO}
        reply = self.call("initialize", params, **more)
        result = reply.result
        assert reply.status == 200
        session = reply.response["Mcp-Session-Id"]
        if session is not None:
            assert re.fullmatch(r"[\x21-\x7e]+", session)
        self.session = session
        self.ready = True
        return result

    def tool(self, name, arguments=None, **more):
        """The Reply of a tools/call."""
        params = {"name": name}
        if arguments is not None:
            params["arguments"] = arguments
        return self.call("tools/call", params, **more)

    def tool_text(self, name, arguments=None, **more):
        result = self.tool(name, arguments, **more).result
        assert not result.get("isError"), result
        return result["content"][0]["text"]

    def begin(self, method, params=None, extra=(), **more):
        """Sends a request on a connection of its own and reads nothing yet."""
        message = self.compose(method, params, **more)
        connection = self.connect()
        connection.send_request("POST", self.path, self.headers(message, extra),
                                compact(message))
        return connection, message["id"]

    def open_stream(self, extra=()):
        """The GET stream of a session."""
        connection = self.connect()
        headers = self.headers(extra=(("Content-Type", None), ("Accept", "text/event-stream"),
                                      *extra))
        connection.send_request("GET", self.path, headers)
        return EventStream(connection, connection.read_head())

    def listen(self, **kinds):
        """subscriptions/listen: the stream, the id, and what was acknowledged."""
        connection, identifier = self.begin("subscriptions/listen", {"notifications": kinds})
        stream = EventStream(connection, connection.read_head())
        first = self.take_event(stream.next_event())
        assert first["method"] == "notifications/subscriptions/acknowledged", first
        return stream, identifier, first["params"]

    def next_message(self, stream):
        """The next judged message of a stream, None at its end."""
        return next(self.messages(stream), None)

    def delete(self, extra=(), connection=None):
        connection = connection or self.connection
        return connection.request("DELETE", self.path,
                                  self.headers(extra=(("Content-Type", None), *extra)))


class Pipe:
    """A channel of whole messages both ways. Judges by the revision given with each request."""

    def __init__(self, rev, capabilities=None):
        self.rev = rev
        self.capabilities = CAPABILITIES if capabilities is None else capabilities
        self.ids = itertools.count(1)
        self.asked = {}

    def note(self, message):
        """Remembers what is asked for; members of a batch each."""
        for member in message if isinstance(message, list) else [message]:
            if "id" in member and "method" in member:
                rev = "E" if META + "protocolVersion" in json.dumps(member) else self.rev
                self.asked[member["id"]] = (member["method"], rev)

    def judge(self, message, rev=None):
        assert isinstance(message, dict) or (rev or self.rev) == "B", f"a batch: {message}"
        for member in message if isinstance(message, list) else [message]:
            identifier = member.get("id")
            known = self.asked.get(identifier) if isinstance(identifier, (int, str)) else None
            JUDGE.message(rev or (known[1] if known else self.rev), member,
                          lambda key: self.asked.get(key, (None,))[0])
        return message

    def compose(self, method, params=None, rev=None, meta=None, capabilities=None):
        rev = rev or self.rev
        params = (modern_params(params, meta=meta, capabilities=capabilities) if rev == "E"
                  else legacy_params(params, meta))
        message = {"jsonrpc": "2.0", "id": next(self.ids), "method": method}
        if params is not None:
            message["params"] = params
        return message

    def call(self, method, params=None, **more):
        """Sends a request; returns (answer, messages that came before it)."""
        message = self.compose(method, params, **more)
        self.send(message)
        before = []
        while True:
            answer = self.recv()
            assert answer is not None, f"the server has gone: {self.log[-500:]!r}"
            if "method" not in answer and answer.get("id") == message["id"]:
                return answer, before
            before.append(answer)

    def request(self, method, params=None, **more):
        answer, _ = self.call(method, params, **more)
        if "error" in answer:
            raise RpcError(answer["error"])
        return answer["result"]

    def notify(self, method, params=None):
        self.send({"jsonrpc": "2.0", "method": method,
                   **({} if params is None else {"params": params})})

    def respond(self, identifier, **outcome):
        """Answers a request of the server's: `result` or `error`."""
        self.send({"jsonrpc": "2.0", "id": identifier, **outcome})

    def open(self):
        self.initialize()
        self.notify("notifications/initialized")
        return self

    def initialize(self):
        return self.request("initialize", {
            "protocolVersion": VERSIONS[self.rev], "capabilities": self.capabilities,
            "clientInfo": CLIENT_INFO}, rev=self.rev)


class LegacyEvents(EventStream):
    """The event stream of 2024-11-05: the address for messages is an event of its own kind."""

    def _parse(self, block):
        rest = block.removeprefix(b"event: endpoint\n")
        event = super()._parse(rest)
        if rest != block:
            event.type = "endpoint"
        return event


class LegacySse(Pipe):
    """A client of the HTTP+SSE transport of 2024-11-05, for any revision with sessions."""

    log = b""

    def __init__(self, address, rev="A", capabilities=None, extra=()):
        super().__init__(rev, capabilities)
        self.address = address
        self.connection = Connection(address)  # of the messages
        self.stream = self.open_stream(address, extra)
        first = self.stream.next_event()
        assert first.type == "endpoint" and first.id is None, first.data
        self.target = first.data

    @staticmethod
    def open_stream(address, extra=()):
        connection = Connection(address)
        connection.send_request("GET", "/sse", [("Accept", "text/event-stream"), *extra])
        response = connection.read_head()
        if response.status != 200:
            connection.close()
            raise HttpError(f"no stream: {response}")
        return LegacyEvents(connection, response)

    def post(self, body, connection=None, extra=(JSON_TYPE,)):
        """Posts bytes to the stream's address; whatever the response."""
        return (connection or self.connection).request("POST", self.target, extra, body)

    def send(self, message, connection=None):
        self.note(message)
        response = self.post(compact(message), connection)
        assert response.status == 202, response

    def recv(self, rev=None):
        """The next message, judged; None when the server has ended the stream."""
        event = self.stream.next_event()
        if event is None:
            return None
        # "message" is what an event without a name is called.
        if event.type not in (None, "message") or event.id is not None or not event.data:
            raise WireError(f"not a message event: {event.type} {event.id} {event.data!r}")
        return self.judge(json.loads(event.data), rev)

    def close(self):
        self.stream.close()
        self.connection.close()


class Stdio(Pipe):
    """A server behind two pipes."""

    def __init__(self, program, *arguments, rev="D", capabilities=None):
        super().__init__(rev, capabilities)
        self.process = subprocess.Popen([program, "stdio", *map(str, arguments)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.lines = queue.Queue()
        self.log = b""
        self._readers = [threading.Thread(target=self._read, daemon=True),
                         threading.Thread(target=self._read_log, daemon=True)]
        for reader in self._readers:
            reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def _read_log(self):
        for line in self.process.stderr:
            self.log += line

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        self.note(message)
        self.write(compact(message) + b"\n")

    def recv(self, rev=None, timeout=REPLY_S):
        """The next message, judged; None when the server has closed its output."""
        line = self.lines.get(timeout=timeout)
        if line is None:
            return None
        assert line.endswith(b"\n") and b"\r" not in line, f"not a line: {line[:200]!r}"
        return self.judge(json.loads(line), rev)

    def close(self, timeout=REPLY_S):
        """Closes the input; the server must end by itself. Returns what it still wrote."""
        rest = []
        try:
            if not self.process.stdin.closed:
                self.process.stdin.close()
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"no end after EOF: {self.log[-500:]!r}") from None
        finally:
            for reader in self._readers:
                reader.join(timeout)
            self.process.stdout.close()
            self.process.stderr.close()
        while not self.lines.empty():
            line = self.lines.get()
            if line is not None:
                rest.append(line)
        assert code == 0, f"exit code {code}: {self.log[-1000:]!r}"
        return rest
