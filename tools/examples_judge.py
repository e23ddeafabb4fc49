"""Each configuration of tools/examples, started as a new user would, asked by the Inspector's
command line and by a client of the official SDK. The servers behind servers.yaml come from npm.
Part of the suite `judges`, whose npm cache it uses."""

import json
import os
import tempfile
import time

from harness import ROOT, SHARED, end_group, run, server, start

EXAMPLES = "tools/examples"
CLIENT = ROOT / "tests/clients/sdk_requests.mjs"
CLIENT_S = 120  # time limit of a client; each takes a second
INSTALL_S = 600
SDK = ("sdk1", "@modelcontextprotocol/sdk@1.32.2", "zod")
INSPECTOR = ("inspector", "@modelcontextprotocol/inspector@2.12.0")
# What servers.yaml starts with npx, which finds them in npm's cache then.
SERVERS = ("examples-1", "@modelcontextprotocol/server-everything",
           "@modelcontextprotocol/server-filesystem", "@modelcontextprotocol/server-memory")

ORDERS_TOOLS = {"get_order", "add_note"}
GIVEN = {"number": 7, "item": "saddle"}


def call(name, expected, **arguments):
    """A call, and what its result must show."""
    return "tools/call", {"name": name, "arguments": arguments}, expected


def lists(kind, names):
    def has_them(result):
        return set(names) <= {one["uri" if kind == "resources" else "name"]
                              for one in result[kind]}
    return f"{kind}/list", {}, has_them


def says(text):
    return lambda result: not result.get("isError") and text in result["content"][0]["text"]


def gives(value):
    return lambda result: result["structuredContent"] == value


# What is asked, and what is expected: a function of the result.
ASKED = {
    "service.yaml": [
        lists("tools", ORDERS_TOOLS),
        call("get_order", gives(GIVEN), number=7, fields="number,item"),
        call("get_order", lambda result: result["isError"] and "no such order" in
             result["content"][0]["text"], number=99),
        call("add_note", says("soon"), number=7, note="soon")],
    "openapi.yaml": [
        lists("tools", ORDERS_TOOLS | {"list_orders"}),
        call("list_orders", says("pillion seat"), state="sent"),
        call("get_order", gives(GIVEN), number=7, fields="number,item"),
        call("add_note", says("later"), number=8, body={"note": "later"})],
    "commands.yaml": [
        lists("tools", {"disk_usage", "count_words"}),
        call("disk_usage", says(EXAMPLES), path=EXAMPLES),
        call("count_words", gives({"lines": 0, "words": 3, "bytes": 13}), text="one two three")],
    "servers.yaml": [
        lists("tools", {"everything__echo", "files__list_directory", "memory__read_graph"}),
        call("everything__echo", says("Echo: hello"), message="hello"),
        call("everything__get-sum", says("5"), a=2, b=3),
        call("files__list_allowed_directories", says("/tmp")),
        call("memory__search_nodes", says("entities"), query="nothing of the kind"),
        lists("prompts", {"everything__simple-prompt"}),
        ("prompts/get", {"name": "everything__simple-prompt", "arguments": {}},
         lambda result: result["messages"])],
    "files.yaml": [
        lists("resources", {"pillion://notes/seats.md"}),
        ("resources/read", {"uri": "pillion://notes/seats.md"},
         lambda result: "second rider" in result["contents"][0]["text"]),
        lists("prompts", {"review"}),
        ("prompts/get", {"name": "review", "arguments": {"language": "C++", "focus": "limits"}},
         lambda result: "written in C++" in result["messages"][0]["content"]["text"])],
}


def npm_folder(home, package):
    """The folder with a package and what it needs, or None and what npm said."""
    code, output = run(["bash", "-c", '. "$0/_lib.sh"; npm_dir "$@"', SHARED / "judges", *package],
                       INSTALL_S, env={"JUDGES_HOME": str(home)})
    return (output.strip().split("\n")[-1], "") if code == 0 else (None, output)


def arguments_of(flag, given):
    """Pairs as the Inspector reads them: JSON, or text that is none."""
    words = [f"{name}={value if isinstance(value, str) else json.dumps(value)}"
             for name, value in given.items()]
    return [word for one in words for word in (flag, one)]


def inspector_words(method, params):
    words = ["--method", method]
    if method == "tools/call":
        words += ["--tool-name", params["name"], *arguments_of("--tool-arg", params["arguments"])]
    elif method == "prompts/get":
        words += ["--prompt-name", params["name"],
                  *arguments_of("--prompt-args", params["arguments"])]
    elif method == "resources/read":
        words += ["--uri", params["uri"]]
    return words


def ask_inspector(command, url, asked):
    """The outputs of one run for each request."""
    return [run([*command, "--cli", url, "--transport", "http", *inspector_words(method, params)],
                CLIENT_S)[1] for method, params, _ in asked]


def ask_sdk(node, folder, url, asked):
    code, output = run([node, CLIENT, url, json.dumps([one[:2] for one in asked])], CLIENT_S,
                       env={"SDK_DIR": folder})
    lines = output.strip().split("\n")
    return lines if code == 0 and len(lines) == len(asked) else [output] * len(asked)


def judge(count, title, asked, outputs):
    for (method, params, expected), output in zip(asked, outputs):
        try:
            # The Inspector adds remarks of its own, on stderr.
            result, _ = json.JSONDecoder().raw_decode(output[output.index("{"):])
            good = bool(expected(result))
        except (ValueError, KeyError, IndexError, TypeError):
            good = False
        count.check(f"{title}: {method} {json.dumps(params)}", good, output)


class orders:
    """The service of two of the examples, at the socket `place`."""

    def __init__(self, place):
        self.place = place

    def __enter__(self):
        self.log = tempfile.TemporaryFile()
        self.process = start([f"{EXAMPLES}/orders.py"], self.log, env={"ORDERS_SOCKET": self.place})
        end = time.monotonic() + CLIENT_S
        while not os.path.exists(self.place):
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError("tools/examples/orders.py does not start")
            time.sleep(0.05)

    def __exit__(self, *_):
        end_group(self.process)
        self.log.close()


def wait_for_servers(running):
    """npx takes its time on a busy machine. Its servers have 20 s before ours serves, and who
    connects waits for that: longer than the Inspector does. What is not there then is offered when
    it comes."""
    end = time.monotonic() + CLIENT_S
    while "listening on" not in running.log_text() and time.monotonic() < end:
        time.sleep(0.1)
    while "bridge.incomplete" in running.log_text() and time.monotonic() < end:
        if all(f"bridge.up server={name}" in running.log_text()
               for name in ("everything", "files", "memory")):
            return
        time.sleep(0.5)


def examples(count, node, home, environment):
    folders = {}
    for package in (SDK, INSPECTOR, SERVERS):
        folders[package[0]], output = npm_folder(home, package)
        if folders[package[0]] is None:
            return count.skip("examples", f"npm cannot install {package[1]}: {output[-200:]}")
    command = [node, os.path.realpath(
        f"{folders['inspector']}/node_modules/.bin/mcp-inspector")]
    with tempfile.TemporaryDirectory() as folder:
        place = f"{folder}/orders.sock"
        with orders(place):
            for name, asked in ASKED.items():
                with server(count, ["tools/serve", "--config", f"{EXAMPLES}/{name}"],
                            {**environment, "ORDERS_SOCKET": place}) as running:
                    if running.listening:
                        wait_for_servers(running)
                        judge(count, f"Inspector on {name}", asked,
                              ask_inspector(command, running.url, asked))
                        judge(count, f"SDK client on {name}", asked,
                              ask_sdk(node, folders["sdk1"], running.url, asked))
