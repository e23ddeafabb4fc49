"""An MCP server of 2025-11-25 that does what its tools say, for test_fault_cycles.py. It starts a
thousand times, so it imports little."""

import json
import os
import signal
import sys
import time

TOOLS = ("echo", "wait", "crash", "flood", "burst", "garbage", "babble", "deaf", "orphans", "noise",
         "release", "turn")
waiting = []


def send(**message):
    os.write(1, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def text(identifier, said):
    send(id=identifier, result={"content": [{"type": "text", "text": said}]})


def write_all(descriptor, data):
    while data:
        data = data[os.write(descriptor, data):]


def echo(identifier, arguments):
    text(identifier, json.dumps(arguments))


def wait(identifier, _, token=None):
    """No answer, while others are answered; who gives a token is told that it has begun."""
    waiting.append(identifier)
    if token is not None:
        send(method="notifications/progress", params={"progressToken": token, "progress": 1})


def release(identifier, _):
    """Answers them after all."""
    for one in waiting:
        text(one, "released")
    text(identifier, str(len(waiting)))
    waiting.clear()


def turn(identifier, _):
    text(identifier, os.environ.get("TURN", ""))


def crash(*_):
    os.write(2, b"the disk is on fire\n")
    os.kill(os.getpid(), signal.SIGSEGV)


def flood(*_):
    """A message without an end."""
    while True:
        os.write(1, b"x" * 65536)


def burst(identifier, _):
    """More messages than anybody wants to hear, and then the answer."""
    one = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {
        "level": "info", "data": "x" * 50}}).encode() + b"\n"
    for _ in range(20):
        write_all(1, one * 500)
    text(identifier, "after all")


GARBAGE = b"\n".join([b"not json", b"", b"[]", b"{}", b'{"id": 99999, "result": {}}',
                      b'{"method": 5}', b"\x00\xff", b"[" * 5000, b'{"id": 1}', b"\xff" * 70000])


def garbage(identifier, _):
    write_all(1, GARBAGE + b"\n")
    text(identifier, "after all")


def babble(*_):
    """Garbage, half an answer, and the end."""
    write_all(1, GARBAGE + b'\n{"jsonrpc":"2.0","id":1,"result":{"content":[')
    os._exit(0)


def deaf(*_):
    """Too much said by somebody who does not want to end."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        try:
            os.write(1, b"x" * 65536)
        except BrokenPipeError:
            time.sleep(1)


def orphans(*_):
    """A child and a grandchild that hold all pipes stay behind."""
    if os.fork() == 0:
        os.fork()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(1)
    os._exit(0)


def noise(identifier, _):
    write_all(2, b"noise " * 200_000 + b"\n")
    text(identifier, "quiet")


def take(message):
    method, identifier = message.get("method"), message.get("id")
    if identifier is None:
        return
    if method == "initialize":
        send(id=identifier, result={
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "faulty", "version": "1"}})
    elif method == "tools/list":
        send(id=identifier, result={"tools": [
            {"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]})
    elif method == "tools/call":
        params = message["params"]
        token = params.get("_meta", {}).get("progressToken")
        more = (token,) if params["name"] == "wait" else ()
        globals()[params["name"]](identifier, params.get("arguments"), *more)
    else:
        send(id=identifier, error={"code": -32601, "message": "Method not found"})


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    for line in sys.stdin:
        take(json.loads(line))
