"""The peers: whatever of them is installed. nginx, haproxy and bare Node answer canned bytes; the
official TypeScript SDK and fastmcp are MCP servers with the same tools as ours."""

import json
import os
import shutil
import subprocess

import machine
import servers
from asking import SESSION

PACKAGES = {"nginx": "nginx-light", "haproxy": "haproxy", "node": "nodejs"}
MODULES = ("@modelcontextprotocol/sdk", "fastmcp", "zod", "supergateway", "mcp-proxy")

NGINX = """\
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    client_body_temp_path {folder};
    server {{
        listen 127.0.0.1:{port} {secure} backlog=4096;
        default_type application/json;
        location / {{ return 200 '{body}'; }}
    }}
}}
"""
# Another one in its place passes requests on over a unix socket, to a service that answers there.
PROXY_PLACE = """\
            proxy_pass http://service;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host service.internal;
"""
PROXY_UPSTREAM = """\
    upstream service {{
        server unix:{socket};
        keepalive 64;
        keepalive_requests 1000000000;
    }}
"""
HAPROXY = """\
global
    maxconn 4096
    nbthread 1
defaults
    mode http
    timeout client 60s
    timeout server 60s
    timeout connect 5s
frontend canned
    bind 127.0.0.1:{port}
    http-request return status 200 content-type application/json file {folder}/haproxy.body
"""
NODE = """\
const http = require('http');
const body = {body};
http.createServer((request, response) => {{
    request.resume();
    request.on('end', () => {{
        response.writeHead(200, {{'Content-Type': 'application/json',
                                  'Content-Length': Buffer.byteLength(body)}});
        response.end(body);
    }});
}}).listen({port}, '127.0.0.1', 4096);
"""
# A transport for each session, as the examples of the SDK have it.
TYPESCRIPT = """\
import http from 'node:http';
import {{ randomUUID }} from 'node:crypto';
import {{ McpServer }} from '@modelcontextprotocol/sdk/server/mcp.js';
import {{ StreamableHTTPServerTransport }}
    from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {{ z }} from 'zod';
function make() {{
    const server = new McpServer({{ name: 'typescript', version: '1.0.0' }});
    const shape = {{ description: 'Gives back the text', inputSchema: {{ text: z.string() }} }};
    const echo = async ({{ text }}) => ({{ content: [{{ type: 'text', text }}] }});
    server.registerTool('echo', shape, echo);
    for (let i = 1; i < 50; i++) server.registerTool('bench_tool_' + i, shape, echo);
    return server;
}}
const sessions = new Map();
http.createServer(async (request, response) => {{
    const known = sessions.get(request.headers['mcp-session-id']);
    if (known) return known.handleRequest(request, response);
    const transport = new StreamableHTTPServerTransport({{
        sessionIdGenerator: randomUUID, enableJsonResponse: true,
        onsessioninitialized: id => sessions.set(id, transport) }});
    transport.onclose = () => sessions.delete(transport.sessionId);
    await make().connect(transport);
    await transport.handleRequest(request, response);
}}).listen({port}, '127.0.0.1', 4096);
"""
FASTMCP = """\
import {{ FastMCP }} from 'fastmcp';
import {{ z }} from 'zod';
const server = new FastMCP({{ name: 'fastmcp', version: '1.0.0' }});
const tool = name => ({{ name, description: 'Gives back the text',
    parameters: z.object({{ text: z.string() }}), execute: async ({{ text }}) => text }});
server.addTool(tool('echo'));
for (let i = 1; i < 50; i++) server.addTool(tool('bench_tool_' + i));
await server.start({{ transportType: 'httpStream', httpStream: {{
    port: {port}, host: '127.0.0.1', endpoint: '/mcp', enableJsonResponse: true }} }});
"""


# Bridges to a program over its standard input and output, and how they are told of it.
BRIDGES = {
    "supergateway": ("--stdio", "{command}", "--outputTransport", "streamableHttp", "--stateful",
                     "--port", "{port}", "--logLevel", "none"),
    "mcp-proxy": ("--host", "127.0.0.1", "--port", "{port}", "--server", "stream", "--"),
}


def modules_folder(build):
    return build / "bench" / "compare-peers"


def install(build):
    """Asks the system's packages and npm for what is missing. Nothing is left running."""
    missing = [package for program, package in PACKAGES.items() if not shutil.which(program)]
    if missing:
        # Nothing that is installed here may start: it would share the cores.
        environment = {**os.environ, "RUNLEVEL": "1", "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "install", "-y", "-q", *missing], check=True, env=environment)
    folder = modules_folder(build)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private":true,"type":"module"}\n', encoding="ascii")
    subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", *MODULES],
                   cwd=folder, check=True)


def module_version(build, name):
    found = modules_folder(build) / "node_modules" / name / "package.json"
    return json.loads(found.read_text(encoding="utf-8"))["version"] if found.exists() else None


class Peers:
    """Which peers there are, and how each is started."""

    def __init__(self, build, folder, wanted):
        self.build, self.folder = build, folder
        has_node = shutil.which("node") is not None
        present = {
            "nginx": shutil.which("nginx") is not None,
            "haproxy": shutil.which("haproxy") is not None,
            "node": has_node,
            "typescript-sdk": has_node and bool(module_version(build, MODULES[0])),
            "fastmcp": has_node and bool(module_version(build, MODULES[1])),
            **{name: has_node and bool(module_version(build, name)) for name in BRIDGES},
        }
        if unknown := set(wanted or ()) - set(present):
            raise SystemExit(f"no such peer: {', '.join(sorted(unknown))} (there are "
                             f"{', '.join(present)})")
        chosen = [name for name in present if wanted is None or name in wanted]
        self.names = [name for name in chosen if present[name]]
        self.left_out = [name for name in chosen if not present[name]]

    def _write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def start_canned(self, body):
        """Those that answer `body` to everything."""
        start = {"nginx": self._nginx, "haproxy": self._haproxy, "node": self._node}
        return (start[name](body) for name in self.names if name in start)

    def start_secure(self, body, certificate):
        """nginx behind https, if it is there."""
        if "nginx" in self.names:
            yield self._nginx(body, certificate)

    def start_mcp(self):
        """Those that speak MCP, in sessions."""
        start = {"typescript-sdk": TYPESCRIPT, "fastmcp": FASTMCP}
        return (self._module(name, start[name]) for name in self.names if name in start)

    def start_service(self, socket, body):
        """nginx that answers `body` at a unix socket, on the client's core."""
        text = NGINX.format(folder=self.folder, port=0, body=body, secure="").replace(
            "listen 127.0.0.1:0 ", f"listen unix:{socket} ").replace("nginx.pid", "service.pid")
        config = self._write("service.conf", text)
        yield servers.Server("service", ["nginx", "-p", self.folder, "-e", "stderr", "-c", config],
                             self.folder, str(socket), canned=True, cores=machine.CLIENT_CORES)

    def start_proxy(self, name, socket):
        """nginx before that service."""
        port = servers.free_port()
        text = NGINX.format(folder=self.folder, port=port, body="", secure="")
        text = text.replace("return 200 '';", PROXY_PLACE).replace(
            "    server {", PROXY_UPSTREAM.format(socket=socket) + "    server {", 1)
        config = self._write("proxy.conf", text)
        yield self._server(name, ["nginx", "-p", self.folder, "-e", "stderr", "-c", config], port,
                           canned=True)

    def start_bridges(self, command, revision):
        """Those of npm, before a program that speaks over its standard input and output."""
        for name in self.names:
            if name not in BRIDGES:
                continue
            port = servers.free_port()
            program = modules_folder(self.build) / "node_modules/.bin" / name
            arguments = [one.format(port=port, command=" ".join(map(str, command)))
                         for one in BRIDGES[name]]
            tail = list(map(str, command)) if arguments[-1] == "--" else []
            yield self._server(f"{name} {module_version(self.build, name)}",
                               ["node", program.resolve(), *arguments, *tail], port,
                               revision=revision, warms_up=True)

    def _server(self, name, command, port, **options):
        return servers.Server(name, command, self.folder, ("127.0.0.1", port), **options)

    def _nginx(self, body, certificate=None):
        port = servers.free_port()
        secure, options = "", {}
        if certificate:
            cert, key = certificate
            secure = "ssl"
            options = {"authority": cert}
        quoted = body.replace("\\", "\\\\").replace("'", "\\'")
        text = NGINX.format(folder=self.folder, port=port, body=quoted, secure=secure)
        if certificate:
            text = text.replace("default_type", f"ssl_certificate {cert};\n        "
                                f"ssl_certificate_key {key};\n        default_type", 1)
        config = self._write("nginx.conf", text)
        return self._server("nginx return 200",
                            ["nginx", "-p", self.folder, "-e", "stderr", "-c", config], port,
                            canned=True, **options)

    def _haproxy(self, body):
        port = servers.free_port()
        self._write("haproxy.body", body)
        config = self._write("haproxy.cfg", HAPROXY.format(folder=self.folder, port=port))
        return self._server("haproxy return 200", ["haproxy", "-db", "-f", config], port,
                            canned=True)

    def _node(self, body):
        port = servers.free_port()
        script = self._write("canned.cjs", NODE.format(port=port, body=json.dumps(body)))
        return self._server("Node bare http", ["node", script], port, canned=True, warms_up=True)

    def _module(self, name, text):
        port = servers.free_port()
        # Modules are found from where the script is.
        script = modules_folder(self.build) / f"{name}.mjs"
        script.write_text(text.format(port=port), encoding="utf-8")
        package = MODULES[0] if name == "typescript-sdk" else MODULES[1]
        return self._server(f"{name} {module_version(self.build, package)}", ["node", script],
                            port, revision=SESSION, warms_up=True)
