"""Canonical JSON: one spelling for each document, so that a hash of its bytes means its content.

It is RFC 8785 without fractions: UTF-8, keys in order, no spaces, no needless escapes. Numbers are whole; decimals are
strings with one spelling each. A promise must not contain numbers that are inexact in some programming language.
"""

import json
import re
from collections.abc import Iterable
from decimal import Context, Decimal
from hashlib import sha256
from typing import Any

from sottovoce.protocol.problems import Problem

MOST_BYTES = 8 << 20
MOST_LEVELS = 8
MOST_KEYS = 10_000  # of one object: cuts and known truths are listed by task
LARGEST_INTEGER = 2**63 - 1  # what a database column and most languages hold
_MOST_DIGITS = 15  # this many survive conversion to a double, as in the figures of a guarantee
_LARGEST_POWER = 15
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_LONGEST_NUMBER = 40


def canonical_bytes(document: Any) -> bytes:
    """The one spelling of a document.

    >>> canonical_bytes({"b": [1, True, None], "a": "½"})
    b'{"a":"\\xc2\\xbd","b":[1,true,null]}'
    """
    _refuse_fractions(document)
    return _ENCODER.encode(document).encode()


_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _refuse_fractions(document: Any) -> None:
    if isinstance(document, dict):
        for key in document:
            # Programming languages sort other keys differently.
            if not (isinstance(key, str) and key.isascii()):
                raise TypeError(f"key {key!r} in canonical JSON: keys must be ASCII text; choose another name")
        document = document.values()
    for entry in document:
        if isinstance(entry, float):
            raise TypeError(f"{entry!r} in canonical JSON: fractions are not allowed; write a decimal as text")
        if isinstance(entry, dict | list | tuple):
            _refuse_fractions(entry)


def sha256_of(data: bytes) -> str:
    """The hash, in lower-case hexadecimal."""
    return sha256(data).hexdigest()


def parse_json(data: bytes, *, most_bytes: int = MOST_BYTES, fractions: bool = False) -> Any:
    """Read strict JSON without fractions: each key once, limited keys, levels and digits, no NaN.

    Spaces and the order of keys do not matter: what must be canonical is compared with its canonical bytes afterwards.
    Where operators may write numbers as they like, ``fractions`` are allowed and become exact decimals.
    """
    if len(data) > most_bytes:
        raise Problem("too_large", f"a body of {len(data):,} bytes: at most {most_bytes:,} are accepted")
    try:
        document = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_each_key_once,
            parse_int=_whole_number,
            parse_float=_fraction if fractions else _no_fraction,
            parse_constant=_no_constant,
        )
    except RecursionError:
        raise _too_deep() from None
    except UnicodeDecodeError as mistake:
        raise Problem("bad_json", f"byte {mistake.start}: the text must be UTF-8") from None
    except json.JSONDecodeError as mistake:
        raise Problem("bad_json", f"line {mistake.lineno}, column {mistake.colno}: {mistake.msg}") from None
    if b"\\u" in data:  # only an escape can name half a character
        _check_text(document)
    _check_levels(document, MOST_LEVELS)
    return document


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > MOST_KEYS:
        raise Problem("bad_json", f"an object of {len(pairs):,} keys: it must have at most {MOST_KEYS:,}")
    document = dict(pairs)
    if len(document) != len(pairs):
        twice = first_repeated(key for key, _ in pairs)
        raise Problem("bad_json", f"key {_short(twice)}: it appears twice in one object")
    return document


def first_repeated(names: Iterable[str]) -> str | None:
    """The first name that repeats an earlier one, found in one pass.

    >>> first_repeated(["a", "b", "b", "a"])
    'b'
    """
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _whole_number(text: str) -> int:
    # A leading "-" is one character; 2**63 has 19 digits. Longer text is never turned into a number.
    if len(text) > 20 or abs(int(text)) > LARGEST_INTEGER:
        raise Problem("number_too_large", f"number {_short(text)}: it is out of range")
    return int(text)


def _no_fraction(text: str) -> None:
    raise Problem(
        "float_in_report", f"number {_short(text)}: numbers must be integers, without a decimal point or exponent"
    )


def _fraction(text: str) -> Decimal:
    if len(text) > _LONGEST_NUMBER:
        raise Problem("bad_number", f"number {_short(text)}: it has too many digits")
    return Decimal(text)


def _no_constant(text: str) -> None:
    raise Problem("bad_json", f"{text}: JSON has no such number", fix="leave the value out if there is none")


def _too_deep() -> Problem:
    return Problem("too_deep", f"more than {MOST_LEVELS} levels: no document of the protocol is nested this deeply")


def _check_levels(document: Any, levels: int) -> None:
    if not isinstance(document, dict | list):
        return
    if levels == 0:
        raise _too_deep()
    for entry in document.values() if isinstance(document, dict) else document:
        if isinstance(entry, dict | list):
            _check_levels(entry, levels - 1)


def _check_text(document: Any) -> None:
    try:
        json.dumps(document, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        raise Problem("bad_json", "an escape \\uD800 to \\uDFFF: half a surrogate pair is not a character") from None
    except RecursionError:
        raise _too_deep() from None


def canonical_decimal(number: object) -> str:
    """The one spelling of a decimal: no exponent, no needless zero, at most 15 significant digits.

    >>> canonical_decimal("0.50"), canonical_decimal(1e-3), canonical_decimal(10), canonical_decimal("-0")
    ('0.5', '0.001', '10', '0')
    """
    if isinstance(number, bool) or not isinstance(number, str | int | float | Decimal):
        raise Problem("bad_number", f"{_short(number)}: it must be a number")
    if isinstance(number, int) and abs(number) > 10**_LARGEST_POWER:  # converting a very long one to text takes long
        raise Problem("bad_number", "a number is out of range: it must lie between -1e15 and 1e15")
    text = repr(number) if isinstance(number, float) else str(number).strip()
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        limit = f" of at most {_LONGEST_NUMBER} characters" if len(text) > _LONGEST_NUMBER else ""
        raise Problem("bad_number", f"{_short(text)}: it must be a decimal number{limit}")
    exact = Decimal(text)
    if exact == 0:
        return "0"
    exact = exact.normalize(Context(prec=_LONGEST_NUMBER))  # the usual precision would silently drop digits
    powers = exact.as_tuple()
    assert isinstance(powers.exponent, int)
    if len(powers.digits) > _MOST_DIGITS or exact.adjusted() >= _LARGEST_POWER or powers.exponent < -_LARGEST_POWER:
        raise Problem(
            "bad_number",
            f"{_short(text)}: it must lie between -1e15 and 1e15, with at most 15 significant digits and 15 decimals",
        )
    return f"{exact:f}"


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:40]}…"
