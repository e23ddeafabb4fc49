"""Tokens as an authorization server makes them, signed by the openssl of the machine."""

import base64
import functools
import hashlib
import json
import subprocess
import time


def b64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def run(*arguments, data=b""):
    return subprocess.run(["openssl", *map(str, arguments)], input=data, check=True,
                          capture_output=True).stdout


def raw_signature(der):
    """r and s of 32 bytes each, from the DER of an ECDSA signature."""
    numbers, at = [], 2
    for _ in range(2):
        size = der[at + 1]
        numbers.append(int.from_bytes(der[at + 2:at + 2 + size], "big"))
        at += 2 + size
    return b"".join(number.to_bytes(32, "big") for number in numbers)


class SigningKey:
    def __init__(self, folder, kid, kind="ES256"):
        self.kid, self.kind = kid, kind
        self.path = folder / f"{kid}-{kind}.pem"
        if kind == "ES256":
            run("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self.path)
        else:
            run("genrsa", "-out", self.path, 2048)

    def sign(self, text):
        signature = run("dgst", "-sha256", "-sign", self.path, data=text)
        return raw_signature(signature) if self.kind == "ES256" else signature

    @functools.cache  # each look would start a program
    def jwk(self):
        common = {"kid": self.kid, "use": "sig", "alg": self.kind}
        if self.kind == "ES256":
            point = run("ec", "-in", self.path, "-pubout", "-outform", "DER")[-64:]
            return {"kty": "EC", "crv": "P-256", "x": b64url(point[:32]), "y": b64url(point[32:]),
                    **common}
        modulus = run("rsa", "-in", self.path, "-modulus", "-noout").decode().split("=")[1]
        return {"kty": "RSA", "n": b64url(bytes.fromhex(modulus.strip())), "e": "AQAB", **common}


class Issuer:
    """Signs tokens; `jwks` is the file of its keys."""

    def __init__(self, folder, url="https://issuer.example",
                 audience="https://pillion.example/mcp"):
        self.folder, self.url, self.audience = folder, url, audience
        self.key = SigningKey(folder, "first")
        self.jwks = folder / "jwks.json"
        self.publish(self.key)

    def publish(self, *keys):
        fresh = self.folder / "jwks.new"
        fresh.write_text(json.dumps({"keys": [key.jwk() for key in keys]}), encoding="ascii")
        fresh.rename(self.jwks)

    def token(self, subject="alice", key=None, header=None, **claims):
        """A token that is good, but for what is said otherwise; a claim of None is left out."""
        key = key or self.key
        now = int(time.time())
        head = {"alg": key.kind, "typ": "JWT", "kid": key.kid, **(header or {})}
        body = {"iss": self.url, "aud": self.audience, "sub": subject, "iat": now, "exp": now + 600,
                **claims}
        parts = ({k: v for k, v in part.items() if v is not None} for part in (head, body))
        text = ".".join(b64url(json.dumps(part).encode()) for part in parts)
        return text + "." + b64url(key.sign(text.encode()))

    @property
    def flags(self):
        return ("--oidc-issuer", self.url, "--oidc-jwks", self.jwks, "--oidc-audience",
                self.audience)


def listed(name, token, *scopes):
    """A line of --auth-tokens."""
    return " ".join([name, hashlib.sha256(token.encode()).hexdigest(), *scopes]) + "\n"
