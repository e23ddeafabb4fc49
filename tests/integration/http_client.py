"""A small HTTP/1.1 client that sees every byte and forgives nothing.

http.client of the standard library repairs what a server gets wrong; here a response that is not
exactly framed is a failure.
"""

import json
import re
import socket
import time

TIMEOUT_S = 20

STATUS_LINE = re.compile(rb"HTTP/1\.1 ([1-5]\d\d) ([\x20-\x7e]*)\Z")
FIELD_LINE = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([\x20-\x7e\t]*?)[ \t]*\Z")
HEAD_BYTES_MAX = 64 * 1024


class HttpError(AssertionError):
    """The server broke the rules of HTTP, or went away."""


class Response:
    def __init__(self, status, reason, headers):
        self.status = status
        self.reason = reason
        self.headers = headers  # pairs as received
        self.body = b""

    def __getitem__(self, name):
        """The value of a header, None when absent; it must not be repeated."""
        found = [value for key, value in self.headers if key.lower() == name.lower()]
        if len(found) > 1:
            raise HttpError(f"{name} is there {len(found)} times")
        return found[0] if found else None

    @property
    def media_type(self):
        return (self["Content-Type"] or "").split(";")[0].strip().lower()

    def json(self):
        if self.media_type != "application/json":
            raise HttpError(f"{self.status} is no JSON but {self['Content-Type']}: {self.body!r}")
        return json.loads(self.body)

    def error_code(self):
        """The code of the JSON-RPC error in the body."""
        return self.json()["error"]["code"]

    def __repr__(self):
        return f"<{self.status} {dict(self.headers)} {self.body[:300]!r}>"


class TlsAddress(tuple):
    """(host, port) of a server that speaks TLS, as `context` (an ssl.SSLContext) wants it."""

    def __new__(cls, address, context, name="localhost"):
        made = super().__new__(cls, address)
        made.context, made.name = context, name
        return made


class Connection:
    """One connection; `address` is (host, port), a TlsAddress or the path of a Unix socket.
    `source`: the own address, where another than the usual one is wanted."""

    def __init__(self, address, timeout=TIMEOUT_S, source=None):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        self.sock.settimeout(timeout)
        try:
            if source:
                self.sock.bind((source, 0))
            self.sock.connect(address)
        except OSError:
            self.sock.close()
            raise
        if family == socket.AF_INET:
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if isinstance(address, TlsAddress):
            try:
                self.sock = address.context.wrap_socket(self.sock, server_hostname=address.name)
            except OSError:
                self.sock.close()
                raise
        self.buffer = b""
        self.host = "localhost" if isinstance(address, str) else f"{address[0]}:{address[1]}"

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # ---- sending ----

    def send(self, data):
        self.sock.sendall(data)

    def send_request(self, method, target, headers=(), body=None, version="HTTP/1.1"):
        self.send(self.render(method, target, headers, body, version))

    def render(self, method, target, headers=(), body=None, version="HTTP/1.1"):
        """The bytes of a request; Host and Content-Length unless they are given."""
        names = {name.lower() for name, _ in headers}
        lines = [f"{method} {target} {version}"]
        if "host" not in names:
            lines.append(f"Host: {self.host}")
        if body is not None and not names & {"content-length", "transfer-encoding"}:
            lines.append(f"Content-Length: {len(body)}")
        lines += [f"{name}: {value}" for name, value in headers]
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (body or b"")

    # ---- receiving ----

    def fill(self):
        """Reads more into the buffer; False at the end of the stream."""
        data = self.sock.recv(65536)
        self.buffer += data
        return bool(data)

    def at_eof(self):
        """Whether the server closes without sending anything more."""
        try:
            return not self.buffer and not self.fill()
        except ConnectionResetError:
            return True

    def take_line(self):
        while b"\r\n" not in self.buffer:
            if len(self.buffer) > HEAD_BYTES_MAX or not self.fill():
                raise HttpError(f"no line, but {self.buffer[:200]!r}")
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line

    def take(self, count):
        while len(self.buffer) < count:
            if not self.fill():
                raise HttpError(f"{len(self.buffer)} of {count} bytes, then the end")
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def read_head(self):
        line = self.take_line()
        match = STATUS_LINE.match(line)
        if not match:
            raise HttpError(f"no status line: {line!r}")
        headers = []
        while line := self.take_line():
            field = FIELD_LINE.match(line)
            if not field:
                raise HttpError(f"no header field: {line!r}")
            headers.append((field[1].decode(), field[2].decode()))
        response = Response(int(match[1]), match[2].decode(), headers)
        if response.status >= 200 and not response["X-Request-Id"]:
            raise HttpError(f"no X-Request-Id: {response}")
        if response["Content-Length"] is not None and response["Transfer-Encoding"] is not None:
            raise HttpError(f"two framings: {response}")
        return response

    def read_response(self, to_head=False):
        """One whole response. `to_head`: the request was HEAD."""
        response = self.read_head()
        if response.status < 200:
            return response
        if to_head or response.status in (202, 204, 304):
            if response.status in (202, 204) and response["Content-Type"] is not None:
                raise HttpError(f"no body, yet a Content-Type: {response}")
            if response["Content-Length"] not in (None, "0") and not to_head:
                raise HttpError(f"a body is announced: {response}")
            if response["Transfer-Encoding"] is not None:
                raise HttpError(f"chunks are announced: {response}")
            return response
        if response["Transfer-Encoding"] is not None:
            response.body = b"".join(self.chunks(response))
        elif response["Content-Length"] is not None:
            response.body = self.take(int(response["Content-Length"]))
        else:
            while self.fill():
                pass
            response.body, self.buffer = self.buffer, b""
        return response

    def chunks(self, response):
        """Yields the chunks of a chunked body as they arrive."""
        if response["Transfer-Encoding"] != "chunked":
            raise HttpError(f"unknown coding: {response}")
        while True:
            line = self.take_line()
            if not re.fullmatch(rb"[0-9a-fA-F]{1,16}", line):
                raise HttpError(f"no chunk size: {line!r}")
            size = int(line, 16)
            data = self.take(size)
            if self.take_line() != b"":
                raise HttpError("a chunk is longer than it says")
            if size == 0:
                return
            yield data

    def request(self, method, target, headers=(), body=None, version="HTTP/1.1"):
        self.send_request(method, target, headers, body, version)
        return self.read_response(to_head=method == "HEAD")


class Event:
    def __init__(self):
        self.id = None
        self.type = None
        self.retry = None
        self.data = None


class EventStream:
    """Reads server-sent events from a response whose head has been read."""

    def __init__(self, connection, response):
        if response.media_type != "text/event-stream":
            raise HttpError(f"no event stream: {response}")
        if response["Content-Length"] is not None:
            raise HttpError("an event stream has no length")
        self.connection = connection
        self.response = response
        self.ended = False  # properly, by the last chunk
        self.comments = 0
        self._text = b""
        self._chunks = self._source()

    def _source(self):
        if self.response["Transfer-Encoding"] is not None:
            yield from self.connection.chunks(self.response)
        else:  # a client of HTTP/1.0: the stream ends with the connection
            while True:
                data, self.connection.buffer = self.connection.buffer, b""
                yield data
                if not self.connection.fill():
                    return

    def next_event(self):
        """The next event, None when the stream has ended properly."""
        end = time.monotonic() + TIMEOUT_S  # comments keep the socket from timing out
        while b"\n\n" not in self._text:
            if time.monotonic() > end:
                raise HttpError(f"no event within {TIMEOUT_S} s")
            data = next(self._chunks, None)
            if data is None:
                if self._text:
                    raise HttpError(f"half an event at the end: {self._text!r}")
                self.ended = True
                return None
            self._text += data
            while self._text.startswith(b":"):  # a comment needs no blank line of its own
                line, separator, rest = self._text.partition(b"\n")
                if not separator:
                    break
                self.comments += 1
                self._text = rest.lstrip(b"\n")
        block, self._text = self._text.split(b"\n\n", 1)
        return self._parse(block)

    def _parse(self, block):
        event = Event()
        if b"\r" in block:
            raise HttpError(f"a carriage return within an event: {block!r}")
        for line in block.decode("utf-8").split("\n"):
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "":
                self.comments += 1
            elif name == "data":
                if event.data is not None:
                    raise HttpError("a message is on one line")
                event.data = value
            elif name == "id":
                event.id = value
            elif name == "event":
                event.type = value
            elif name == "retry":
                event.retry = int(value)
            else:
                raise HttpError(f"unknown field: {line!r}")
        if event.type not in (None, "message"):
            raise HttpError(f"an event named {event.type}")
        return event

    def close(self):
        self.connection.close()
