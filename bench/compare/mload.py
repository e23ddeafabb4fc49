"""The load of mload.c (../shared/perf), with which the issue's bounds were found: closed loops over
TCP. A server that is slower than its client sleeps less and is woken less, so that its CPU time per
request depends on the client: ratios of two clients do not compare."""

import json
import pathlib
import re
import socket
import subprocess
import time

import asking
import load
import machine


def compile_client(source, folder):
    program = folder / "mload"
    subprocess.run(["cc", "-O2", "-o", program, source], check=True)
    return program


def open_session(address):
    """The id of a new session of asking.SESSION."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": asking.SESSION, "capabilities": {},
        "clientInfo": {"name": "compare", "version": "1"}}})
    request = (f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
               f"Accept: application/json, text/event-stream\r\nConnection: close\r\n"
               f"Content-Length: {len(body)}\r\n\r\n{body}")
    with socket.create_connection(address, asking.PATIENCE_S) as connection:
        connection.sendall(request.encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    return re.search(rb"\r\nmcp-session-id: *(\S+)", answer, re.IGNORECASE)[1].decode()


class Mload(load.Load):
    """Checks with pillion-bench, measures with mload what is a closed loop over TCP."""

    def __init__(self, build, options, folder):
        super().__init__(build, options.seconds, options.tries, options.spin)
        self._client, self._folder = compile_client(options.mload, folder), folder

    def _measure(self, server, scenario, connections, rate):
        if rate is not None or isinstance(server.address, str):
            return super()._measure(server, scenario, connections, rate)
        server.forget_log()
        command = [self._client, "-c", connections, "-d", self.seconds, "-w", load.WARM_UP_S,
                   "-p", server.pid, *self._question(server, scenario), server.url]
        process = machine.spawn(machine.CLIENT_CORES, command, stdout=subprocess.PIPE, text=True)
        output, _ = process.communicate()
        if process.returncode != 0:
            raise SystemExit(f"{server.name}: mload ends with {process.returncode}: {output}")
        said = {key: float(value) for key, value in re.findall(r"(\w+)=([\d.]+)", output)}
        self._compare_size(server, scenario, {"bytes_in": said["bytes"] * said["reqs"],
                                              "ok": said["reqs"], "connections": connections})
        share = said["cli"] / 100
        return {"cpu_us": said["cpu_us"], "rps": said["rps"], "p50_us": said["p50"],
                "p99_us": said["p99"], "rss_bytes": int(said["rss_mb"] * (1 << 20)),
                "server_share": said["util"] / 100, "client_us": share * 1e6 / said["rps"],
                "client_share": share, "client_was_bottleneck": share > 0.95,
                "foreign": said["foreign"] / 100}

    def _question(self, server, scenario):
        """Options for the request that pillion-bench would send."""
        method = "server/discover" if scenario == load.PING else scenario[0]
        params, headers = {}, []
        if method == "tools/call":
            arguments = json.loads(pathlib.Path(scenario[-1][1:]).read_text(encoding="utf-8"))
            params = {"name": "echo", "arguments": arguments}
        if server.revision == asking.MODERN:
            params["_meta"] = asking.META
            headers = ["-H", f"Mcp-Method: {method}"]
            headers += ["-H", "Mcp-Name: echo"] if method == "tools/call" else []
        else:
            headers = ["-s", open_session(server.address)]
        body = json.dumps({"jsonrpc": "2.0", "id": 0, "method": method, "params": params},
                          separators=(",", ":")).replace('"id":0', '"id":@ID@', 1)
        question = self._folder / f"question-{time.monotonic_ns()}.json"
        question.write_text(body, encoding="utf-8")
        return ["-b", question, "-P", server.revision, *headers]
