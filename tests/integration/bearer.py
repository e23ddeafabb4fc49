"""Requests with bearer tokens, and what those hear who are refused."""

import re

from http_client import Connection
from mcp_client import Client, compact, modern_params

OPAQUE = "f00dfeedf00dfeedf00dfeedf00dfeed"
ECHO = {"name": "echo", "arguments": {"text": "hello"}}


def ask(address, token=None, headers=(), method="tools/list", params=None):
    """One request of 2026-07-28; `token` None: without one."""
    body = compact({"jsonrpc": "2.0", "id": 1, "method": method, "params": modern_params(params)})
    own = [("Authorization", f"Bearer {token}")] if token is not None else []
    name = [("Mcp-Name", params["name"])] if params else []
    with Connection(address) as connection:
        return connection.request("POST", "/mcp", [
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method), *name, *own, *headers],
            body)


def refused(response, error=None, status=401):
    """The challenge of a refusal, as a dictionary."""
    assert response.status == status, response
    body = response.json()
    assert body["error"]["code"] == -32600 and "id" not in body
    assert body["error"]["data"]["requestId"] == response["X-Request-Id"]
    scheme, _, rest = response["WWW-Authenticate"].partition(" ")
    challenge = dict(re.findall(r'(\w+)="([^"]*)"', rest))
    assert scheme == "Bearer" and challenge["realm"] == "test"
    assert challenge.get("error") == error, challenge
    return challenge


def client_of(server, token, rev="E", **more):
    """A client with a token, which a test may change: client.token."""
    made = Client(server.address, rev, **more)
    plain, made.token = made.headers, token
    made.headers = lambda message=None, extra=(): plain(
        message, [("Authorization", f"Bearer {made.token}"), *extra])
    return made.open() if rev != "E" else made
