"""A server in this process whose answers are written by a function: right, late or wrong."""

import datetime
import json
import socketserver
import threading
import types

import evidence

CLOSE = object()  # instead of an answer: end the connection
NEVER = object()  # nothing, and the connection stays open


class Request:
    """One request, as it came."""

    def __init__(self, head, body, serial):
        lines = head.decode().split("\r\n")
        self.method, self.path, _ = lines[0].split(" ")
        self.headers = {name.lower(): value.strip() for name, _, value in
                        (line.partition(":") for line in lines[1:] if line)}
        self.body = body
        is_form = self.headers.get("content-type", "") == "application/x-www-form-urlencoded"
        self.message = json.loads(body) if body and not is_form else {}
        self.serial = serial  # of all requests of the server, from 0
        self.at = datetime.datetime.now(datetime.timezone.utc)

    def __str__(self):
        return f"{self.at:%H:%M:%S.%f} {self.method} {self.path} {self.body[:100]}"

    @property
    def rpc_method(self):
        return self.message.get("method", "")


def result_of(request):
    """A right result."""
    asked = request.message.get("params", {}).get("protocolVersion")
    return {"initialize": {"protocolVersion": asked, "capabilities": {},
                           "serverInfo": {"name": "s", "version": "1"}},
            "tools/list": {"tools": []}, "ping": {},
            "tools/call": {"content": [{"type": "text", "text": "hello"}]},
            "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {},
                                "resultType": "complete"}}.get(request.rpc_method)


def message(request, result=None, **changes):
    """A right answer as JSON, or one with other members."""
    right = {"jsonrpc": "2.0", "id": request.message.get("id"),
             "result": result_of(request) if result is None else result, **changes}
    return json.dumps({name: value for name, value in right.items() if value is not ...})


def http(body, status="200 OK", kind="application/json", headers=""):
    """An answer with its length."""
    text = body.encode()
    return (f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(text)}\r\n"
            f"{headers}\r\n").encode() + text


def chunked(*pieces, kind="application/json"):
    """An answer in chunks."""
    text = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n"
    for piece in (*pieces, ""):
        text += f"{len(piece.encode()):x}\r\n{piece}\r\n"
    return text.encode()


class ScriptedServer:
    """Answers what `script(request)` says: bytes, a tuple of pieces to be sent one by one, a
    generator of the events of a stream at whose end the connection ends, CLOSE or NEVER. Bytes with
    "Connection: close", or of HTTP/1.0, end the connection. `context`: an ssl.SSLContext, for
    https."""

    def __init__(self, script, context=None):
        self.script = script
        self.requests = []
        self.connections = 0
        self._lock = threading.Lock()
        self._end = threading.Event()
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            disable_nagle_algorithm = True

            def handle(self):
                with outer._lock:
                    outer.connections += 1
                try:
                    while outer.one(self.rfile, self.wfile):
                        pass
                except OSError:
                    pass  # the client has gone: its right

        class Listener(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True
            request_queue_size = 128

            def get_request(self):
                sock, address = super().get_request()
                if context is not None:
                    # Its handshake is the handler's work, on a thread of its own.
                    sock = context.wrap_socket(sock, server_side=True,
                                               do_handshake_on_connect=False)
                return sock, address

        self.listener = Listener(("127.0.0.1", 0), Handler)
        self.base = (f"http{'s' if context else ''}://localhost:"
                     f"{self.listener.server_address[1]}")
        self._thread = threading.Thread(target=self.listener.serve_forever, args=(0.02,))
        self._thread.start()
        evidence.keep(f"asked of {self.base}", lambda: list(map(str, self.requests)))

    @property
    def url(self):
        return f"http://127.0.0.1:{self.listener.server_address[1]}/mcp"

    def one(self, reader, writer):
        """Reads and answers a request; False at the end of the connection."""
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = reader.readline()
            if not line:
                return False
            head += line
        length = [int(line[15:]) for line in head.split(b"\r\n")
                  if line.lower().startswith(b"content-length:")]
        body = reader.read(length[0]) if length else b""
        with self._lock:
            request = Request(head, body, len(self.requests))
            self.requests.append(request)
        answer = self.script(request)
        if answer is CLOSE:
            return False
        if answer is NEVER:
            self._end.wait()
            return False
        if isinstance(answer, types.GeneratorType):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
            for event in answer:
                writer.write(event.encode())
                writer.flush()
            return False
        pieces = answer if isinstance(answer, tuple) else (answer,)
        for piece in pieces:
            writer.write(piece)
            writer.flush()
        whole = b"".join(pieces)
        return b"Connection: close" not in whole and not whole.startswith(b"HTTP/1.0")

    def stop(self):
        self._end.set()
        self.listener.shutdown()
        self.listener.server_close()
        self._thread.join()
