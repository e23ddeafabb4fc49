"""A certificate authority for tests, made with the openssl of the machine."""

import pathlib
import ssl
import subprocess

from http_client import TlsAddress


def openssl(*arguments, cwd):
    subprocess.run(["openssl", *map(str, arguments)], cwd=cwd, check=True, capture_output=True)


class Authority:
    """`ca`, and for localhost `cert` and `key`, are paths of PEM files."""

    def __init__(self, folder, name="Test Authority"):
        self.folder = pathlib.Path(folder)
        self.ca, self._ca_key = self.folder / "ca.pem", self.folder / "ca.key"
        self._new_key(self._ca_key, "ec")
        openssl("req", "-x509", "-new", "-key", self._ca_key, "-days", 3650, "-subj",
                f"/CN={name}", "-out", self.ca, cwd=folder)
        self.cert, self.key = self.issue("server", "/CN=localhost",
                                         "DNS:localhost,IP:127.0.0.1")

    def _new_key(self, path, kind):
        if kind == "rsa":
            openssl("genrsa", "-out", path, 2048, cwd=self.folder)
        else:
            openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path,
                    cwd=self.folder)

    def issue(self, name, subject, alternatives=None, days=365, kind="ec"):
        """A certificate and its key, as paths. `days` < 0: it has run out."""
        key, request = self.folder / f"{name}.key", self.folder / f"{name}.csr"
        cert, extensions = self.folder / f"{name}.pem", self.folder / f"{name}.ext"
        self._new_key(key, kind)
        openssl("req", "-new", "-key", key, "-subj", subject, "-out", request, cwd=self.folder)
        extensions.write_text(f"subjectAltName={alternatives}\n" if alternatives else "",
                              encoding="ascii")
        openssl("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self._ca_key, "-days",
                days, "-extfile", extensions, "-out", cert, cwd=self.folder)
        return cert, key

    def trust(self, identity=None, version=None):
        """How a client trusts this authority alone; `identity` is what issue() returned."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(self.ca)
        context.set_alpn_protocols(["http/1.1"])
        if version:
            context.minimum_version = context.maximum_version = version
        if identity:
            context.load_cert_chain(*identity)
        return context

    def address(self, server, **more):
        """Where a client of this authority finds a server."""
        return TlsAddress(server.address, self.trust(**more))

    @property
    def flags(self):
        """Of a server: its certificate."""
        return ("--tls-cert", self.cert, "--tls-key", self.key)
