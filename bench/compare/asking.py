"""One HTTP request at a time, by hand: for what is not a matter of load."""

import json
import re
import socket
import struct

MODERN = "2026-07-28"
SESSION = "2025-11-25"
PATIENCE_S = 10


# Of each request of 2026-07-28.
META = {"io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "compare", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}}


def post(method, params, name=""):
    """The bytes of a request of 2026-07-28."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method,
                       "params": {**params, "_meta": META}})
    return (f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {MODERN}\r\n"
            f"Mcp-Method: {method}\r\n" + (f"Mcp-Name: {name}\r\n" if name else "") +
            f"Content-Length: {len(body)}\r\n\r\n{body}").encode()


DISCOVER = post("server/discover", {})


class Connection:
    """A connection to a server, which closes without a trace: thousands of them come and go."""

    def __init__(self, address, patience_s=PATIENCE_S):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        try:
            self.socket.settimeout(patience_s)
            self.socket.connect(address)
            if family == socket.AF_INET:
                self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                       struct.pack("ii", 1, 0))
        except OSError:
            self.socket.close()
            raise

    def ask(self, request):
        """Status and body of an answer; the body is None when it has no Content-Length."""
        self.socket.sendall(request)
        got = b""
        while True:
            part = self.socket.recv(65536)
            if not part:
                raise ConnectionError("closed before its answer")
            got += part
            head, end, body = got.partition(b"\r\n\r\n")
            if not end:
                continue
            size = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
            if size is None:
                return int(head.split()[1]), None
            if len(body) >= int(size[1]):
                return int(head.split()[1]), body.decode()

    def close(self):
        self.socket.close()


def ask_once(address, request):
    connection = Connection(address)
    try:
        return connection.ask(request)
    finally:
        connection.close()
