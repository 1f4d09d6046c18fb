"""Tokens: 256 random bits each. The server stores only their hashes."""

import hmac
import secrets
from base64 import urlsafe_b64encode
from hashlib import sha256


def new_token() -> str:
    """A fresh secret of 43 characters that can be part of an address."""
    return secrets.token_urlsafe(32)


def token_hash(token: str) -> str:
    """What is stored in place of a token. A token is random, so a plain hash cannot be reversed by guessing."""
    return sha256(token.encode()).hexdigest()


def same_hash(one: str, other: str) -> bool:
    """Whether two hashes are equal, in constant time, so that timing does not reveal where they differ."""
    return hmac.compare_digest(one, other)


def participant_token(invitation: str, enrolment_key: str) -> str:
    """The participant token for an enrolment that may be repeated.

    The same call must get the same response although only hashes are stored, so the token follows from two secrets that
    the client sends. Without both of them, nothing about it can be learnt.
    """
    return urlsafe_b64encode(hmac.digest(invitation.encode(), enrolment_key.encode(), "sha256")).rstrip(b"=").decode()
