"""The two-layer law with its true figures, compared with quadrature and counting."""

import math
from collections import Counter
from itertools import product

import mpmath
import numpy as np
import pytest

import sottovoce as sv
from byte_streams import seeded_stream
from sottovoce.errors import BadParameter
from sottovoce.privacy.laws import parse_answer_law
from sottovoce.privacy.sampler import reported_cells

UNIFORM, BETA = sv.TwoLayer(), sv.TwoLayer(1.0, 3.0)


def chance(law, flipped, answers):
    """E[p^j (1-p)^(n-j)], by quadrature or as a ratio of beta functions."""
    if law.a is None:
        return 2 * mpmath.quad(lambda p: p**flipped * (1 - p) ** (answers - flipped), [0, 0.25, 0.5])
    return mpmath.beta(law.a + flipped, law.b + answers - flipped) / mpmath.beta(law.a, law.b)


@pytest.mark.parametrize(
    ("law", "unit", "epsilons"),
    [
        (UNIFORM, "reading", [1.098612, 1.252763, 1.408767, 2.307973, 3.401197]),
        (UNIFORM, "participant", [1.098612, 1.945910, 2.708050, 7.624131, 21.48756]),
        (BETA, "reading", [1.098612, 1.386294, 1.609438, 2.484907, 3.465736]),
    ],
)
def test_the_pure_epsilon_grows_with_the_answers(law, unit, epsilons):
    found = [law.guarantee(2, answers, unit).pure_epsilon for answers in (1, 2, 3, 10, 30)]
    assert found == pytest.approx(epsilons, rel=3e-7)


def test_delta_at_one():
    found = [UNIFORM.guarantee(2, answers).delta(1.0) for answers in (1, 2, 3, 10, 30)]
    assert found == pytest.approx([0.070430, 0.130286, 0.157280, 0.208883, 0.245691], abs=5e-7)
    found = [UNIFORM.guarantee(2, answers, "participant").delta(1.0) for answers in (1, 2, 3, 10, 30)]
    assert found == pytest.approx([0.070, 0.357, 0.384, 0.624, 0.781], abs=5e-4)
    # However many answers: as if the probability were known.
    assert UNIFORM.guarantee(2, 3000).delta(1.0) == pytest.approx(1 / (1 + math.e), abs=3e-4)
    assert BETA.guarantee(2, 3000).delta(1.0) == pytest.approx(0.340809, abs=3e-4)
    assert UNIFORM.guarantee(2, 3000).delta(1.0) < 1 / (1 + math.e)


@pytest.mark.parametrize("law", [UNIFORM, BETA, sv.TwoLayer(0.4, 2.0)], ids=str)
@pytest.mark.parametrize(("answers", "moved"), [(1, 1), (3, 1), (4, 4)])
def test_delta_is_that_of_all_outcomes(law, answers, moved):
    """Every list of reported answers; the first ``moved`` true answers are different for the neighbour."""
    chances = [chance(law, flipped, answers) for flipped in range(answers + 1)]
    for epsilon in (0.0, 0.4, 1.0, 2.0):
        exact = mpmath.mpf(0)
        for outcome in product((0, 1), repeat=answers):
            flipped_for_neighbour = sum(outcome[moved:]) + moved - sum(outcome[:moved])
            exact += max(0, chances[sum(outcome)] - mpmath.exp(epsilon) * chances[flipped_for_neighbour])
        promised = law.guarantee(2, answers, "reading" if moved == 1 else "participant").delta(epsilon)
        assert promised >= float(exact) * (1 - 1e-12)
        if moved == 1 or law == UNIFORM:  # else a neighbour with fewer different answers can be easier to tell apart
            assert promised == pytest.approx(float(exact), abs=1e-12)


def test_one_answer_is_plain_response():
    plain = sv.Response(math.log(3)).guarantee(2, 1)
    for law in (UNIFORM, BETA):
        for epsilon in (0.0, 0.5, 1.0):
            assert law.guarantee(2, 1).delta(epsilon) == pytest.approx(plain.delta(epsilon), rel=1e-12)
        assert law.channel(2) == sv.Response(math.log(3)).channel(2).__class__(2, 1, 0.75, 0.25)


@pytest.mark.parametrize("answers", [2, 10, 61, 2000])
@pytest.mark.parametrize("unit", ["reading", "participant"])
def test_figures_agree_with_each_other(answers, unit):
    for law in (UNIFORM, sv.TwoLayer(2.5, 0.5)):
        promise = law.guarantee(2, answers, unit)
        epsilon = promise.epsilon(1e-5)
        assert promise.delta(epsilon) <= 1e-5
        assert epsilon <= promise.epsilon(0.0) == promise.pure_epsilon
        assert epsilon >= law.least_epsilon(2, answers, 1 if unit == "reading" else answers, 1e-5)


ENDS = [1e-307, 1e-300, 1e-10, 1.0, 1e15, 1e300, 1.7e308]


@pytest.mark.parametrize("a", ENDS)
@pytest.mark.parametrize("b", ENDS)
def test_figures_are_bounds_at_all_ends_of_the_parameters(a, b):
    """The pure ε of two answers is ln of a ratio of neighbouring chances, here with a thousand digits."""
    law = sv.TwoLayer(a, b)
    with mpmath.workdps(1000):
        one, other = mpmath.mpf(repr(a)), mpmath.mpf(repr(b))
        exact = max(abs(mpmath.log(one / (other + 1))), abs(mpmath.log((one + 1) / other)))
        flip = one / (one + other)
        single = abs(mpmath.log(flip / (1 - flip)))
    promise = law.guarantee(2, 2)
    assert exact <= promise.pure_epsilon <= exact * (1 + mpmath.mpf(10) ** -12) + mpmath.mpf(10) ** -39
    assert law.guarantee(2, 1).pure_epsilon >= law.least_epsilon(2, 1, 1, 0.0) * (1 - 1e-12) - 1e-12
    assert law.least_epsilon(2, 1, 1, 0.0) == pytest.approx(float(single), rel=1e-12, abs=1e-12)
    assert 0 <= law.channel(2).hit <= 1
    assert 0 <= promise.delta(0.0) <= 1


@pytest.mark.parametrize("law", [UNIFORM, BETA], ids=str)
def test_devices_and_simulations_draw_the_law(law):
    """Lists of three answers: all eight counts lie within five standard deviations, except once in 200,000 tests."""
    draws = 4000
    stream = seeded_stream(str(law))
    devices = Counter(tuple(cell for (cell,) in reported_cells(law, [(0, 2)] * 3, stream)) for _ in range(draws))
    simulated = law.simulate(np.zeros(3 * draws, int), np.repeat(np.arange(draws), 3), 2, np.random.default_rng(5))
    for seen in (devices, Counter(map(tuple, simulated.reshape(draws, 3).tolist()))):
        for outcome in product((0, 1), repeat=3):
            expected = float(chance(law, sum(outcome), 3)) * draws
            assert abs(seen[outcome] - expected) < 5 * math.sqrt(expected)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("twolayer", "must be one of"),
        ("twolayer:normal", "must be one of"),
        ("twolayer:uniform:1", "must be one of"),
        ("twolayer:beta:1", "must be one of"),
        ("twolayer:beta:1:0", "finite number above 0"),
        ("twolayer:beta:1:x", "must be numbers"),
    ],
)
def test_bad_laws_are_refused(text, words):
    with pytest.raises(BadParameter, match=words):
        parse_answer_law(text)


def test_more_than_two_choices_are_refused():
    with pytest.raises(BadParameter, match="only with two choices; use another law"):
        UNIFORM.guarantee(3)
    with pytest.raises(BadParameter, match="only with two choices"):
        reported_cells(UNIFORM, [(0, 2), (0, 3)], seeded_stream("three"))
