#!/usr/bin/env python3
"""The server of bridged_server.py behind HTTP, as servers of its revision speak it.

bridged_http_server.py REVISION JOURNAL [PORT] prints its URL. A: HTTP+SSE. B to D: Streamable HTTP
with sessions; D numbers its events, so that streams can be taken up. E: without sessions. Calls of
tools are answered with streams of events, everything else with JSON.
"""

import http.server
import json
import queue
import select
import socket
import sys
import threading
import urllib.parse
import uuid

import bridged_server

END = object()


class Gone(Exception):
    pass


class Server(bridged_server.Server):
    """Sends each message to the stream that it belongs to."""

    def __init__(self, revision, journal):
        super().__init__(revision, journal)
        self.names += ["forget", "polls", "refuse", "half", "cut"]
        self.sessions = set()
        self.streams = {}  # by request
        self.tokens = {}
        self.here = threading.local()
        self.by_itself = queue.Queue()  # what is said without being asked
        self.kept = {}  # D: by stream, what was said on it

    def send(self, message):
        message = {"jsonrpc": "2.0", **message}
        if self.revision == "A":
            return self.by_itself.put(message)
        self.stream_of(message).put(message)
        return None

    def stream_of(self, message):
        identifier, method = message.get("id"), message.get("method")
        params = message.get("params") or {}
        if method is None:
            return self.streams.get(identifier) or queue.Queue()
        if identifier is not None:
            return self.streams[self.asked[identifier]]
        if method == "notifications/progress":
            return self.streams[self.tokens[params["progressToken"]]]
        if method == "notifications/message":
            return self.streams[self.here.identifier]
        tag = (params.get("_meta") or {}).get("io.modelcontextprotocol/subscriptionId")
        return self.streams[tag] if tag is not None else self.by_itself

    def begin(self, message):
        """A request: its stream."""
        identifier = message["id"]
        made = self.streams[identifier] = queue.Queue()
        token = ((message.get("params") or {}).get("_meta") or {}).get("progressToken")
        if token is not None:
            self.tokens[token] = identifier

        def work():
            self.here.identifier = identifier
            self.take(message)
        threading.Thread(target=work, daemon=True).start()
        return made

    def crash_on_purpose(self):
        bridged_server.os._exit(3)

    def tool_forget(self, identifier, *_):
        """Ends all sessions, as a server does that was started again."""
        self.text(identifier, "forgotten")
        self.sessions.clear()
        self.by_itself.put(END)

    def tool_cut(self, identifier, _, arguments):
        """Ends its own stream, and changes while nobody hears of it."""
        self.by_itself.put(END)
        self.names.append(arguments["name"])
        self.text(identifier, "cut")

    def tool_polls(self, identifier, *_):
        """Closes the stream and answers on the one that takes it up."""
        self.streams[identifier].put(END)
        self.note("closed")

        def later():
            self.text(identifier, "polled")
        threading.Timer(0.3, later).start()

    def tool_half(self, identifier, *_):
        """Ends its answer before it has given one."""
        self.streams[identifier].put(END)

    def tool_refuse(self, *_):
        raise AssertionError("is refused before")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    of = None

    def log_message(self, *_):
        pass

    def plain(self, status, body=b"", **fields):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def message(self, value, **fields):
        self.plain(200, json.dumps(value).encode(), Content_Type="application/json", **fields)

    # ---- streams ----

    def open_events(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def chunk(self, text):
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def next_of(self, stream):
        while True:
            try:
                return stream.get(timeout=0.05)
            except queue.Empty:
                if select.select([self.connection], [], [], 0)[0]:
                    try:
                        if self.connection.recv(1, socket.MSG_PEEK) == b"":
                            raise Gone
                    except OSError as error:
                        raise Gone from error

    def tell(self, stream, until=None, name=None):
        """Writes what comes, to the answer of the request `until`."""
        number = 0
        if name is not None and self.of.revision == "D":
            self.chunk(f"id: {name}/{number}\nretry: 50\ndata: \n\n")
        while True:
            message = self.next_of(stream)
            if message is END:
                break
            number += 1
            where = f"id: {name}/{number}\n" if name and self.of.revision == "D" else ""
            self.chunk(f"{where}event: message\ndata: {json.dumps(message)}\n\n")
            if until is not None and message.get("id") == until and "method" not in message:
                break
        self.wfile.write(b"0\r\n\r\n")

    # ---- methods ----

    def do_GET(self):
        try:
            self.get()
        except (Gone, OSError):
            self.close_connection = True

    def get(self):
        of = self.of
        if of.revision == "A":
            session = str(uuid.uuid4())
            of.sessions.add(session)
            of.by_itself = queue.Queue()
            self.open_events()
            self.chunk(f"event: endpoint\ndata: /messages?sessionId={session}\n\n")
            return self.tell(of.by_itself)
        if of.revision == "E" or "text/event-stream" not in self.headers.get("Accept", ""):
            return self.plain(405)
        if self.headers.get("Mcp-Session-Id") not in of.sessions:
            return self.forgotten()
        last = self.headers.get("Last-Event-ID", "")
        of.note(f"reads {last}" if last else "reads")
        self.open_events()
        if last and not last.startswith("own/"):
            identifier = int(last.split("/")[0])
            return self.tell(of.streams[identifier], identifier, str(identifier))
        return self.tell(of.by_itself, None, "own")

    def do_DELETE(self):
        self.of.note("session ended")
        self.of.sessions.discard(self.headers.get("Mcp-Session-Id"))
        self.plain(204)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            self.post(json.loads(body))
        except (Gone, OSError):
            self.close_connection = True

    def post(self, message):
        of = self.of
        if of.revision == "A":
            return self.post_old(message)
        session = self.headers.get("Mcp-Session-Id")
        params = message.get("params") or {}
        method = message.get("method")
        if not of.modern and method not in ("initialize", "server/discover") and (
                session not in of.sessions):
            return self.forgotten()
        if params.get("name") == "refuse":
            return self.plain(503, b"busy")
        if of.modern and method is not None:
            self.check_fields(message, params)
        if method is None or "id" not in message:
            of.take(message)
            return self.plain(202)
        stream = of.begin(message)
        if method not in ("tools/call", "subscriptions/listen"):
            fields = {}
            if method == "initialize":
                fields["Mcp_Session_Id"] = str(uuid.uuid4())
                of.sessions.add(fields["Mcp_Session_Id"])
            return self.message(self.next_of(stream), **fields)
        self.open_events()
        try:
            return self.tell(stream, message["id"], str(message["id"]))
        except (Gone, OSError):
            if of.modern:
                of.note("cancelled by the end of its connection")
                of.listening = [one for one in of.listening if one != message["id"]]
            raise

    def forgotten(self):
        """C: as the examples of the official SDK do."""
        if self.of.revision != "C":
            return self.plain(404, b"no such session")
        return self.plain(400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":'
                               b'"Bad Request: No valid session ID provided"}}',
                          Content_Type="application/json")

    def check_fields(self, message, params):
        wanted = {"MCP-Protocol-Version": bridged_server.VERSIONS["E"],
                  "Mcp-Method": message["method"],
                  "Mcp-Name": params.get("name") or params.get("uri")}
        for name, value in wanted.items():
            if value is not None and self.headers.get(name) != value:
                self.of.note(f"bad field {name}: {self.headers.get(name)}")

    def post_old(self, message):
        of = self.of
        where = urllib.parse.urlsplit(self.path)
        session = urllib.parse.parse_qs(where.query).get("sessionId", [""])[0]
        if where.path != "/messages":
            return self.plain(405)
        if session not in of.sessions:
            return self.plain(404)
        self.plain(202)
        if "id" in message and "method" in message:
            of.begin(message)
        else:
            of.take(message)
        return None


def main():
    Handler.of = Server(sys.argv[1], sys.argv[2])
    port = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_address[1]}/mcp", flush=True)
    Handler.of.note("started")
    server.serve_forever()


if __name__ == "__main__":
    main()
