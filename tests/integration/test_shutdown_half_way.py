"""The end while clients are half-way through their handshakes. As root on some systems: others may
not hold a handshake up there."""

import ctypes
import errno
import select
import socket
import struct
import time

import pytest


class HalfWay:
    """A client in the middle of its handshake: it does not see the system's answer until it may."""

    DROP_ALL = ctypes.create_string_buffer(struct.pack("=HBBI", 0x06, 0, 0, 0))
    ATTACH_FILTER, DETACH_FILTER = 26, 27

    def __init__(self, address):
        self.sock = socket.socket()
        self.sock.setblocking(False)
        self.attach(self.sock)
        assert self.sock.connect_ex(address) == errno.EINPROGRESS

    @classmethod
    def attach(cls, sock):
        program = struct.pack("@HP", 1, ctypes.addressof(cls.DROP_ALL))
        sock.setsockopt(socket.SOL_SOCKET, cls.ATTACH_FILTER, program)

    def go_on(self):
        """What was dropped comes again after a second."""
        self.sock.setsockopt(socket.SOL_SOCKET, self.DETACH_FILTER, 0)
        self.sock.settimeout(20)

    def outcome(self):
        """0: it is connected."""
        select.select([], [self.sock], [], 20)
        return self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)


def may_filter():
    with socket.socket() as sock:
        try:
            HalfWay.attach(sock)
        except PermissionError:
            return False
    return True


pytestmark = [pytest.mark.asan,
              pytest.mark.skipif(not may_filter(), reason="this user may not attach filters")]


# A handshake that was held up for longer than the listener waited was refused, and its client reset
# if it believed to be connected: on a busy machine it was, and its request was lost.
@pytest.mark.parametrize("threads", [1, 2])
def test_who_was_half_way_when_the_end_began_is_answered(start, threads):
    running = start("--threads", threads)
    clients = [HalfWay(running.address) for _ in range(8)]
    running.process.terminate()
    running.wait_for_log("shutdown.begin")
    time.sleep(0.3)  # longer than it waits where nobody is half-way
    for client in clients:
        client.go_on()
    assert [client.outcome() for client in clients] == [0] * 8
    for client in clients:
        with client.sock as sock:
            sock.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert sock.recv(12) == b"HTTP/1.1 200"
    assert running.wait() == 0


def test_a_second_signal_does_not_wait_for_who_is_half_way(start):
    running = start()
    client = HalfWay(running.address)
    running.process.terminate()
    running.wait_for_log("shutdown.begin")
    running.process.terminate()
    assert running.wait() == 0
    client.sock.close()
