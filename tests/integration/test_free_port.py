"""Ports for servers that have to be told one. Once a recipe's port, which the system had handed out
just before, was a client's of another test by the time its server came, which could not bind it."""

import socket

import pytest

import free_port


def test_it_can_be_bound_and_is_none_that_the_system_hands_out():
    for _ in range(50):
        port = free_port.free_port()
        with socket.socket() as system, socket.socket() as server:
            system.bind(("127.0.0.1", 0))
            server.bind(("", port))
            first = free_port.handed_out_from()
            assert first <= system.getsockname()[1]
            assert port < first or first <= free_port.FIRST


@pytest.mark.parametrize("first", (1024, free_port.FIRST))
def test_where_the_system_hands_out_all(monkeypatch, first):
    monkeypatch.setattr(free_port, "handed_out_from", lambda: first)
    assert free_port.FIRST <= free_port.free_port() <= 65535


def test_none_that_is_taken(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", free_port.free_port()))
        port = taken.getsockname()[1]
        monkeypatch.setattr(free_port, "FIRST", port)
        monkeypatch.setattr(free_port, "handed_out_from", lambda: port + 1)
        with pytest.raises(RuntimeError, match="is free"):
            free_port.free_port()
