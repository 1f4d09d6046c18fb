"""One spelling per document, and a parser that accepts nothing ambiguous."""

import json
import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.protocol.canonical import canonical_bytes, canonical_decimal, parse_json, sha256_of
from sottovoce.protocol.problems import Problem

whole = st.integers(-(2**63) + 1, 2**63 - 1)
text = st.text(st.characters(exclude_categories=["Cs"]))
keys = st.text(st.characters(max_codepoint=127))
documents = st.recursive(
    st.none() | st.booleans() | whole | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=8,
).filter(lambda document: depth(document) <= 8)


def depth(document):
    inner = document.values() if isinstance(document, dict) else document if isinstance(document, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


def code_of(call, *arguments, **options):
    with pytest.raises(Problem) as caught:
        call(*arguments, **options)
    return caught.value.code


@given(st.dictionaries(keys, documents, max_size=4).filter(lambda document: depth(document) <= 8))
def test_what_is_written_is_read_back_and_any_order_gives_the_same_bytes(document):
    data = canonical_bytes(document)
    assert parse_json(data) == document
    backwards = dict(reversed(list(document.items())))
    assert canonical_bytes(backwards) == data
    assert canonical_bytes(parse_json(json.dumps(document, indent=3).encode())) == data


def test_bytes_are_those_of_rfc_8785():
    # from section 3.2.3 of that document, without its fractions
    document = {"string": '€$\u000f\nA\'B"\\\\"/', "literals": [None, True, False]}
    expected = '{"literals":[null,true,false],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    assert canonical_bytes(document) == expected.encode()
    assert sha256_of(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2


@pytest.mark.parametrize("document", [{"a": 0.5}, {"a": [1, {"b": math.nan}]}, {"ä": 1}, {1: 2}])
def test_fractions_and_foreign_keys_are_never_written(document):
    with pytest.raises(TypeError):
        canonical_bytes(document)


REFUSED = {
    "empty": (b"", "bad_json"),
    "cut off": (b'{"a":', "bad_json"),
    "two documents": (b"{}{}", "bad_json"),
    "key twice": (b'{"a":1,"a":1}', "bad_json"),
    "key twice, escaped": (b'{"a":1,"\\u0061":2}', "bad_json"),
    "NaN": (b'{"a":NaN}', "bad_json"),
    "infinity": (b'{"a":-Infinity}', "bad_json"),
    "not UTF-8": (b'{"a":"\xff"}', "bad_json"),
    "UTF-16": ('{"a":1}'.encode("utf-16"), "bad_json"),
    "half a character": (b'{"a":"\\ud800"}', "bad_json"),
    "half a character in a key": (b'{"\\udc00":1}', "bad_json"),
    "fraction": (b'{"a":1.0}', "float_in_report"),
    "exponent": (b'{"a":1e3}', "float_in_report"),
    "400 digits": (b'{"a":' + b"9" * 400 + b"}", "number_too_large"),
    "a million digits": (b'{"a":-' + b"9" * 1_000_000 + b"}", "number_too_large"),
    "2^63": (b'{"a":9223372036854775808}', "number_too_large"),
    "nine levels": (b"[" * 9 + b"]" * 9, "too_deep"),
    "a million levels": (b"[" * 1_000_000, "too_deep"),
    "a million levels with an escape": (b'["\\u0061",' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"]", "too_deep"),
    "too many bytes": (b" " * ((8 << 20) + 1), "too_large"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_ambiguous_json_is_refused(name):
    data, code = REFUSED[name]
    assert code_of(parse_json, data) == code


def test_a_number_that_json_does_not_have_is_refused_with_what_to_do():
    with pytest.raises(Problem, match=r"^NaN: JSON has no such number; leave the value out if there is none$"):
        parse_json(b'{"a":NaN}')


def test_values_at_the_limits_are_accepted():
    assert parse_json(b'{"a":[9223372036854775807,-9223372036854775807]}')["a"][1] == -(2**63) + 1
    assert parse_json(b"[" * 8 + b"]" * 8) is not None
    assert parse_json(b'"\\ud83d\\ude00 \\u00e4"') == "😀 ä"


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12, places=3))
def test_a_decimal_has_one_spelling(number):
    spelled = canonical_decimal(number)
    assert Decimal(spelled) == number
    assert spelled == canonical_decimal(f"{number:E}") == canonical_decimal(f" {spelled} ")
    assert "e" not in spelled.lower()
    assert not spelled.startswith(("+", ".", "-.", "-0") if "." not in spelled else ("+", ".", "-."))
    assert not ("." in spelled and spelled.endswith(("0", ".")))


@given(st.floats(1e-6, 1e9))
def test_a_float_is_read_as_the_decimal_that_it_prints(number):
    number = float(f"{number:.9g}")
    assert float(canonical_decimal(number)) == number


@pytest.mark.parametrize(
    "number",
    [math.nan, math.inf, "nan", "", "1,5", "0x10", "1_000", "١", "1e15", "1e-16", "0.1234567890123456", 10**400,
     "300000000000000.000000000000004", True, None, [1], "9" * 1000, "1e999999999"],
    ids=lambda number: str(type(number).__name__) + str(number)[:12] if not isinstance(number, int) else "integer",
)  # fmt: skip
def test_what_is_not_a_plain_decimal_is_refused(number):
    assert code_of(canonical_decimal, number) == "bad_number"


def test_a_decimal_that_is_too_long_is_refused_for_its_length():
    with pytest.raises(Problem, match="it must be a decimal number of at most 40 characters"):
        canonical_decimal("0." + "1" * 39)
    assert canonical_decimal("0.5" + "0" * 37) == "0.5"


@pytest.mark.parametrize("number", ["1e15", "-1e15", "1e-16", "0.1234567890123456"])
def test_the_bounds_of_a_decimal_are_stated_for_both_signs(number):
    with pytest.raises(Problem, match="between -1e15 and 1e15, with at most 15 significant digits and 15 decimals"):
        canonical_decimal(number)
    assert canonical_decimal("-999999999999999") == "-999999999999999"
    assert canonical_decimal("0.000000000000001") == "0.000000000000001"
