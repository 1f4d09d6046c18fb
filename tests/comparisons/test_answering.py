"""What a device answers: exact levels, cuts that it refuses, and the chances of the law."""

import math

import pytest

from byte_streams import seeded_stream
from sottovoce.errors import BadParameter
from sottovoce.privacy.comparing import check_cuts, compare, level_of
from sottovoce.privacy.laws import parse_answer_law
from sottovoce.privacy.sampler import ByteStream


def test_the_level_is_the_number_of_cuts_below_the_reading():
    assert [level_of(steps, (3, 5, 9)) for steps in (1, 2, 3, 4, 5, 100)] == [0, 1, 2, 2, 3, 3]
    assert level_of(-(10**30), (-1,)) == 0


@pytest.mark.parametrize(
    "cuts",
    [[], [1, 3], [2], [1.0], ["1"], [True], [None], [math.nan], [math.inf], [(1 << 53) + 1], [[1]]],
    ids=repr,
)
def test_bad_cuts_are_refused(cuts):
    with pytest.raises(BadParameter, match="fetch the cuts again"):
        check_cuts(cuts, 2)


@pytest.mark.parametrize("cuts", [[1, 1, 3], [3, 1, 5], [1, 2, 3], [5, 3, 1]], ids=repr)
def test_cuts_must_be_in_ascending_order(cuts):
    with pytest.raises(BadParameter, match="cut"):
        check_cuts(cuts, 4)


@pytest.mark.parametrize("levels", [2, 4])
def test_answers_have_the_chances_of_the_law(levels):
    """20,000 answers: five standard errors are below 0.018."""
    law = parse_answer_law("response:1")
    cuts = (101, 103, 105)[: levels - 1]
    given = compare(law, [(51, cuts)] * 20_000, seeded_stream("chances"))
    right = level_of(51, cuts)
    for level in range(levels):
        expected = (math.e if level == right else 1) / (math.e + levels - 1)
        assert given.count(level) / 20_000 == pytest.approx(expected, abs=0.018)


def test_the_same_bytes_give_the_same_answer():
    law = parse_answer_law("response:0.5")
    stream = bytes((7 * place * place + 3 * place) % 256 for place in range(5000))

    def answers():
        rest = iter([stream])
        return compare(law, [(steps, (11, 13, 19)) for steps in range(12)], ByteStream(lambda count: next(rest)))

    assert answers() == answers()
