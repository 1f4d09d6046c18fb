"""Short codes: invitations that people type.

A code has 45 random bits, too few for a plain hash. So its token is derived from it by scrypt, with a salt of this
database: whoever steals the database needs about a twentieth of a second and 16 MB for each of 35 million million
guesses. Over the network, guesses are rate-limited, and codes expire.
"""

import hashlib
import re
import secrets
from base64 import urlsafe_b64encode
from threading import Semaphore

from sottovoce.protocol.problems import Problem

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"  # capitals and digits that cannot be confused: no I, O, 0 and 1
LENGTH = 9
SALT = "codes"  # name of the secret
_GROUP = 3
_AT_ONCE = Semaphore(2)  # computations: each keeps a processor busy for a moment


def new_code() -> str:
    """A code as people see it, such as K7M-4PQ-X2D."""
    drawn = "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))
    return "-".join(drawn[place : place + _GROUP] for place in range(0, LENGTH, _GROUP))


def plain_code(typed: str) -> str:
    """What somebody typed, without case, spaces and dashes.

    >>> plain_code(" k7m 4pq-x2d ")
    'K7M4PQX2D'
    """
    plain = re.sub(r"[\s.–—-]", "", typed).upper()
    if len(plain) != LENGTH or not set(plain) <= set(ALPHABET):
        raise Problem(
            "code_unknown",
            f"the code: it must be {LENGTH} letters and digits, without I, O, 0 and 1, such as K7M-4PQ-X2D",
        )
    return plain


def code_token(code: str, salt: bytes) -> str:
    """The token of the invitation that a code stands for."""
    with _AT_ONCE:
        derived = hashlib.scrypt(plain_code(code).encode(), salt=salt, n=1 << 14, r=8, p=1, dklen=32)
    return urlsafe_b64encode(derived).rstrip(b"=").decode()
