#!/usr/bin/env python3
"""A small service at a unix socket, for service.yaml and openapi.yaml:
tools/examples/orders.py [SOCKET], else ORDERS_SOCKET or /run/orders.sock."""

import json
import os
import re
import socketserver
import sys
import urllib.parse
from http.server import BaseHTTPRequestHandler

ORDERS = {7: {"number": 7, "state": "open", "item": "saddle", "notes": []},
          8: {"number": 8, "state": "sent", "item": "pillion seat", "notes": ["gift"]}}


class Orders(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def reply(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def find(self):
        """The order that a path names, its answer on the way if there is none."""
        found = re.fullmatch(r"/v1/orders/(\d+)(/notes)?", self.path.partition("?")[0])
        order = ORDERS.get(int(found[1])) if found else None
        if order is None:
            self.reply(404, {"error": "no such order"})
        return order

    def do_GET(self):
        path, _, query = self.path.partition("?")
        asked = urllib.parse.parse_qs(query)
        if path == "/v1/orders":
            state = asked.get("state", [None])[0]
            return self.reply(200, {"orders": [one for one in ORDERS.values()
                                               if state in (None, one["state"])]})
        order = self.find()
        if order:
            fields = ",".join(asked.get("fields", order)).split(",")
            self.reply(200, {name: order[name] for name in fields if name in order})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        order = self.find()
        if order:
            order["notes"].append(body["note"])
            self.reply(201, order)

    def address_string(self):
        return "unix"  # there is no host to look up


if __name__ == "__main__":
    place = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("ORDERS_SOCKET",
                                                                 "/run/orders.sock")
    if os.path.exists(place):
        os.unlink(place)
    with socketserver.ThreadingUnixStreamServer(place, Orders) as service:
        service.daemon_threads = True
        print(f"orders at {place}", flush=True)
        service.serve_forever()
