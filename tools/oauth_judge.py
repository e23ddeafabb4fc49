"""A real authorization server (oidc-provider, from npm) and clients of the official SDK: how they
get in with nothing but our URL, and over TLS. Part of the suite `judges`, whose npm cache it
uses."""

import json
import os
import pathlib
import sys
import tempfile
import time
import urllib.request

from free_port import free_port
from harness import ROOT, SHARED, end_group, run, server, start

sys.path.append(str(ROOT / "tests/integration"))
from tls_authority import Authority  # noqa: E402
from tokens import Issuer  # noqa: E402

FIXTURE = ROOT / "build/release/fixture-server"
CLIENTS = ROOT / "tests/clients"
PACKAGES = ("oidc-provider@9.13.3", "@modelcontextprotocol/client@2.4.0", "undici@7.16.0")
CLIENT_S = 300  # time limit of one client; each takes a few seconds
START_S = 30
OTHER_RESOURCE = "https://elsewhere.example/mcp"


def install(home):
    """The folder with PACKAGES, or None and what npm said."""
    code, output = run(["bash", "-c", '. "$0/_lib.sh"; npm_dir oauth-1 "$@"', SHARED / "judges",
                        *PACKAGES], CLIENT_S, env={"JUDGES_HOME": str(home)})
    return (output.strip().split("\n")[-1], "") if code == 0 else (None, output)


class authorization_server:
    """Runs from entering to leaving; `url` is its issuer."""

    def __init__(self, node, folder, resources, environment):
        self.port, self.folder = free_port(), folder
        self.url = f"http://127.0.0.1:{self.port}"
        self.command = [node, CLIENTS / "authorization_server.mjs", self.port, *resources]
        self.environment = environment

    def __enter__(self):
        self.log = tempfile.TemporaryFile()
        self.process = start(self.command, self.log, env=self.environment)
        end = time.monotonic() + START_S
        while b"listening" not in self.read_log():
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError("no authorization server: " + self.read_log().decode()[-500:])
            time.sleep(0.05)
        return self

    def read_log(self):
        # Its own place, as the other end writes at the shared one.
        return os.pread(self.log.fileno(), 1 << 20, 0)

    def __exit__(self, *_):
        end_group(self.process)
        self.log.close()

    def keys(self, source):
        """The options for its keys, and what its clients are told of them: the file into which
        they put them, or nothing where the server fetches them itself."""
        if source == "url":
            return ["--oidc-jwks", f"{self.url}/jwks"], []
        if source == "discover":
            return ["--oidc-jwks", "discover"], []
        path = self.folder / "jwks.json"
        with urllib.request.urlopen(f"{self.url}/jwks", timeout=START_S) as response:
            path.write_bytes(response.read())
        return ["--oidc-jwks", path], [path]

    def introspection(self):
        """The options for asking it about opaque tokens; an answer counts for a second."""
        with urllib.request.urlopen(f"{self.url}/admin/secret", timeout=START_S) as response:
            ours = json.load(response)["resource_server"]
        secret, config = self.folder / "secret", self.folder / "fixture.yaml"
        secret.write_text(ours["secret"], encoding="ascii")
        secret.chmod(0o600)
        config.write_text("auth: {introspection_ttl: 1s}\n", encoding="ascii")
        return ["--introspection", f"{self.url}/token/introspection", "--introspection-client",
                ours["id"], "--introspection-secret", secret, "--config", config]


def discovering_client(count, node, environment, sdk, source, secure=None):
    """A client of the SDK that knows the URL alone; `source`: where the server has the keys from;
    `secure`: an Authority, for https."""
    title = f"SDK {sdk} finds its way in, keys by {source}" + (" over TLS" if secure else "")
    with tempfile.TemporaryDirectory() as folder:
        fixture = server(count, [FIXTURE])
        url = f"https://localhost:{fixture.port}/mcp" if secure else fixture.url
        trusted = {"NODE_EXTRA_CA_CERTS": str(secure.ca)} if secure else {}
        with authorization_server(node, pathlib.Path(folder), [url, OTHER_RESOURCE],
                                  environment) as issuer:
            options, told = issuer.keys(source)
            # A server that fetches keys can ask about tokens just as well.
            asks = source != "file"
            options += issuer.introspection() if asks else []
            fixture.command += ["--oidc-issuer", issuer.url, *options, "--oidc-audience", url,
                                "--oidc-scopes", "tools:call", *(secure.flags if secure else ())]
            with fixture:
                if not fixture.listening:
                    return
                _, output = run([node, CLIENTS / "sdk_oauth.mjs", sdk, url, issuer.url, *told],
                                CLIENT_S, env={**environment, **trusted, "OPAQUE": str(int(asks))})
    return title, output


def clients_over_tls(count, node, environment, authority, folder):
    """The SDK with a token, with a certificate, and with both; and without what is needed."""
    issuer = Issuer(folder)
    cert, key = authority.issue("sdk", "/CN=sdk")
    token = {"TOKEN": issuer.token("sdk")}
    identity = {"CLIENT_CERT": str(cert), "CLIENT_KEY": str(key)}
    trust = {"NODE_EXTRA_CA_CERTS": str(authority.ca)}
    guarded = [FIXTURE, *authority.flags, *issuer.flags]
    mutual = [FIXTURE, *authority.flags, "--tls-client-ca", authority.ca]
    both = [*guarded, "--tls-client-ca", authority.ca]
    for title, command, having, good in (
            ("a token", guarded, token, True), ("no token", guarded, {}, False),
            ("a certificate", mutual, identity, True), ("no certificate", mutual, {}, False),
            ("a certificate and a token", both, {**identity, **token}, True),
            ("a token but no certificate", both, token, False),
            ("a certificate and a bad token", both, {**identity, "TOKEN": "x"}, False)):
        with server(count, command) as fixture:
            for sdk in ("1", "2"):
                url = f"https://localhost:{fixture.port}/mcp"
                code, output = run([node, CLIENTS / "sdk_tls.mjs", sdk, url], CLIENT_S,
                                   env={**environment, **trust, **having})
                count.check(f"SDK {sdk} over TLS with {title}", (code == 0) == good, output)
    with server(count, guarded) as fixture:
        code, output = run([node, CLIENTS / "sdk_tls.mjs", "1",
                            f"https://localhost:{fixture.port}/mcp"], CLIENT_S,
                           env={**environment, **token, "NODE_EXTRA_CA_CERTS": ""})
        count.check("SDK 1 does not trust just anybody", code != 0, output)


def oauth(count, node, home, environment, count_checks):
    """`count_checks` is that of tools/judges.py; the SDK 1.x has been installed in `home`."""
    packages, said = install(home)
    if packages is None:
        return count.skip("a real authorization server", "npm cannot install it: " + said[-200:])
    environment = {**environment, "OAUTH_DIR": packages, "SDK_DIR": str(home / "npm/sdk1")}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        authority = Authority(folder)
        for way in (("1", "url"), ("2", "discover"), ("1", "file", authority),
                    ("2", "file", authority)):
            told = discovering_client(count, node, environment, *way)
            if told:
                count_checks(count, *told, 11 if way[1] != "file" else 9)
        clients_over_tls(count, node, environment, authority, folder)
