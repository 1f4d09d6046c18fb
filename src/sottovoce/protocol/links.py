"""Invitation links: ``https://server/j/TOKEN#sha256=HASH``.

The token admits a participant. The fragment fixes what they join: it holds the hash of the manifest. Browsers do not
send the fragment, so the server cannot adapt what it offers to what the link expects.
"""

import re
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from sottovoce.protocol.problems import Problem

_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,128}")
_HASH = re.compile(r"[0-9a-f]{64}")
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True)
class InvitationLink:
    """Where to join, with which secret, and the hash of the manifest (None if the link has none)."""

    server: str
    token: str
    manifest_sha256: str | None

    def __str__(self) -> str:
        fragment = f"#sha256={self.manifest_sha256}" if self.manifest_sha256 else ""
        return f"{self.server}/j/{self.token}{fragment}"

    @classmethod
    def parse(cls, text: str) -> "InvitationLink":
        """Parse a link; a hash, if present, must be complete.

        >>> InvitationLink.parse("https://sense.example/j/0123456789abcdef").server
        'https://sense.example'
        """
        try:
            parts = urlsplit(text.strip())
            server = server_address(f"{parts.scheme}://{parts.netloc}{parts.path.partition('/j/')[0]}")
        except (ValueError, Problem):
            raise Problem("bad_link", "the link: it must look like https://server/j/TOKEN#sha256=HASH") from None
        token = parts.path.partition("/j/")[2]
        if not _TOKEN.fullmatch(token) or parts.query:
            raise Problem(
                "bad_link",
                "the link: between /j/ and # (or the end) it must have the token of an invitation, and nothing else",
            )
        if not parts.fragment:
            return cls(server, token, None)
        name, _, digest = parts.fragment.partition("=")
        if name != "sha256" or not _HASH.fullmatch(digest):
            raise Problem("bad_link", "the link: after # it must have sha256= and 64 hexadecimal digits in lower case")
        return cls(server, token, digest)


def server_address(text: str) -> str:
    """The address of a server in its one spelling: scheme, host, port if unusual, and a path if it has one.

    >>> server_address("HTTPS://Sense.Example:443/")
    'https://sense.example'
    """
    try:
        parts = urlsplit(text.strip())
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise Problem("bad_link", f"address {text[:60]!r}: it must look like https://server")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    usual = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}{'' if port in (None, usual) else f':{port}'}{parts.path.rstrip('/')}"


def is_encrypted_or_local(server: str) -> bool:
    """Whether nobody on the way can read what is sent there: https, or this machine."""
    parts = urlsplit(server)
    return parts.scheme == "https" or parts.hostname in _LOOPBACK


def why_out_of_reach(server: str) -> str | None:
    """Why the phones of participants cannot use this address, or not everywhere; None if nothing speaks against it.

    >>> why_out_of_reach("http://127.0.0.1:8470")
    'it is the address of this computer itself, which no phone can reach'
    >>> why_out_of_reach("https://sense.example") is None
    True
    """
    parts = urlsplit(server)
    host = parts.hostname or ""
    try:
        address = ip_address(host)
    except ValueError:
        address = None
    if (
        host in _LOOPBACK
        or host.endswith(".localhost")
        or (address and (address.is_loopback or address.is_unspecified))
    ):
        return "it is the address of this computer itself, which no phone can reach"
    if parts.scheme != "https":
        return "it is not encrypted (http), so the participant’s page refuses to ask for readings"
    if address and not address.is_global:
        return "it is a private address, which only phones in the same network can reach"
    if address is None and ("." not in host or host.endswith((".local", ".lan", ".internal", ".home.arpa"))):
        return "it is a name in a private network, which only phones in the same network can reach"
    return None
