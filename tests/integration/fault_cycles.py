"""Runs the same fault many times at once against one server, while somebody else calls what is
well. With PILLION_LONG=1 it is a thousand times, fifty where a cycle takes long by its nature."""

import itertools
import os
import pathlib
import socket
import struct
import threading

from mcp_client import RpcError
from server_process import wait_until

LONG = os.environ.get("PILLION_LONG") == "1"
CYCLES = 1000 if LONG else 40
SLOW_CYCLES = 50 if LONG else 16
AT_ONCE = 16
MARK = "PILLION_FAULT_TEST"  # a variable of everybody who is started on behalf of a test


def marked(value):
    """All processes, wherever they have ended up, whose environment says so: pid -> command."""
    found = {}
    for place in pathlib.Path("/proc").iterdir():
        if not place.name.isdigit():
            continue
        try:
            if f"{MARK}={value}".encode() in (place / "environ").read_bytes().split(b"\0"):
                found[int(place.name)] = (place / "cmdline").read_bytes().replace(b"\0", b" ")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            pass
    return found


def is_sanitized(server):
    """Freed memory is kept for a while then, and its size says nothing."""
    return "libasan" in pathlib.Path(f"/proc/{server.pid}/maps").read_text(encoding="utf-8")


def called(client, name, arguments=None, **more):
    return client.request("tools/call", {"name": name, "arguments": arguments or {}}, **more)


def error_of(client, name, arguments=None, **more):
    """The code of the error that a call ends with, and its message."""
    try:
        result = called(client, name, arguments, **more)
    except RpcError as error:
        return error.code, error.message
    raise AssertionError(f"{name} went well: {str(result)[:300]}")


def failure(client, name, arguments=None, **more):
    """The text of a result that is an error of the tool."""
    result = called(client, name, arguments, **more)
    assert result["isError"] is True, str(result)[:300]
    return result["content"][0]["text"]


class Bystander:
    """Calls tools that are well, one after the other on one connection, until it is stopped; each
    call must succeed. `calls`: pairs of a name and arguments."""

    def __init__(self, client, calls):
        self.client, self.calls = client, calls
        self.rounds = 0
        self.fault = None
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        try:
            while not self._end.is_set():
                for name, arguments in self.calls:
                    result = called(self.client, name, arguments)
                    assert not result.get("isError"), f"{name}: {result}"
                self.rounds += 1
        except Exception as error:  # told by __exit__
            self.fault = error

    def __enter__(self):
        self._thread.start()
        wait_until(lambda: self.rounds or self.fault, what="a round of calls")
        return self

    def __exit__(self, kind, *_):
        self._end.set()
        self._thread.join()
        if kind is None and self.fault is not None:
            raise AssertionError(f"somebody else was hurt after {self.rounds} rounds: "
                                 f"{type(self.fault).__name__}: {self.fault}") from self.fault


def run_cycles(count, clients, cycle):
    """Runs `cycle(client, worker)` so often, on all clients at a time; the first fault counts."""
    tickets, faults = iter(range(count)), []
    lock = threading.Lock()

    def work(client, worker):
        try:
            while not faults:
                with lock:
                    if next(tickets, None) is None:
                        return
                cycle(client, worker)
        except Exception as error:  # raised again below
            faults.append(error)

    threads = [threading.Thread(target=work, args=(client, i), daemon=True)
               for i, client in enumerate(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]


class FaultyService:
    """An HTTP service that behaves, or not, as the path of a request says. It sees the end of a
    connection, wherever it is; `left` counts the connections that nobody has closed yet."""

    def __init__(self, folder=None):
        if folder is None:
            self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
            self.target = {"url": f"http://127.0.0.1:{self.listener.getsockname()[1]}"}
        else:
            path = os.path.join(folder, "faulty.sock")
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(path)
            self.listener.listen(256)
            self.target = {"url": "http://faulty.internal", "socket": path}
        self.left = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self._count(1)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _count(self, by):
        with self._lock:
            self.left += by

    def _serve(self, connection):
        try:
            with connection:
                connection.settimeout(60)
                head = b""
                while b"\r\n\r\n" not in head:
                    piece = connection.recv(65536)
                    if not piece:
                        return
                    head += piece
                getattr(self, head.split(b" ")[1].decode().strip("/"))(connection)
        except ConnectionError:
            pass  # it is the other end that leaves first
        finally:
            self._count(-1)

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self._thread.join()

    # ---- what it does, by path ----

    def well(self, connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                           b"Content-Length: 11\r\nConnection: close\r\n\r\n{\"ok\":true}")

    def slow(self, connection):
        connection.settimeout(0.3)
        try:
            assert connection.recv(1) == b""
        except TimeoutError:
            self.well(connection)

    def hang(self, connection):
        assert connection.recv(1) == b""

    def reset(self, connection):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def reset_within(self, connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
        self.reset(connection)

    def silent_end(self, connection):
        pass

    def drip(self, connection):
        """A byte a second."""
        connection.settimeout(1)
        for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b"x" * 1000:
            connection.sendall(bytes([byte]))
            try:
                assert connection.recv(1) == b""
                return
            except TimeoutError:
                pass

    def large(self, connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")
        self._pour(connection, b"x" * 65536)

    def endless(self, connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        self._pour(connection, b"10000\r\n" + b"x" * 65536 + b"\r\n")

    def _pour(self, connection, piece):
        for _ in range(100_000_000 // len(piece)):
            connection.sendall(piece)

    def short(self, connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")

    def long(self, connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef")

    def two_lengths(self, connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab")

    def garbage(self, connection):
        connection.sendall(b"\x00\xffgarbage\r\n\r\n")

    def redirect(self, connection):
        connection.sendall(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n"
                           b"Content-Length: 0\r\nConnection: close\r\n\r\n")


unique = itertools.count(1)
