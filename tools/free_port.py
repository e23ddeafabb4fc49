"""A port for a server that has to be told one."""

import random
import socket

FIRST = 10000
TRIES = 100


def handed_out_from():
    """Where the ports begin that the system itself hands out, to clients and for port 0."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as setting:
        return int(setting.read().split()[0])


def free_port():
    """One at which nobody listens, on no address. None of those that the system hands out (if it
    leaves any): until its server listens, a client of a test beside this one could be given it."""
    last = handed_out_from() - 1
    if last < FIRST:
        last = 65535
    for _ in range(TRIES):
        port = random.SystemRandom().randint(FIRST, last)
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
        return port
    raise RuntimeError(f"no port from {FIRST} to {last} is free")
