"""Randomised response: probabilities, promise and composition, compared with mpmath, counting and sums by hand."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import sottovoce as sv
from byte_streams import seeded_stream
from sottovoce.errors import BadParameter
from sottovoce.privacy.laws import parse_answer_law, parse_law, parse_noise_law
from sottovoce.privacy.sampler import reported_cells


def exact_law(epsilon, cells, size, cell=0):
    """Chance of each reported set, by its definition, to 50 digits."""
    with mpmath.workdps(50):
        weights = {
            chosen: mpmath.exp(mpmath.mpf(repr(epsilon))) if cell in chosen else mpmath.mpf(1)
            for chosen in itertools.combinations(range(cells), size)
        }
        total = mpmath.fsum(weights.values())
        return {chosen: weight / total for chosen, weight in weights.items()}


@pytest.mark.parametrize(
    ("cells", "epsilon", "kept", "contrast"),
    [(2, 1, 0.731059, 0.462117), (4, 1, 0.475367, 0.300489), (10, 2, 0.450853, 0.389837)],
)
def test_chances_of_one_answer(cells, epsilon, kept, contrast):
    channel = sv.Response(epsilon).channel(cells)
    assert channel.hit == pytest.approx(kept, abs=5e-7)
    assert channel.hit - channel.miss == pytest.approx(contrast, abs=5e-7)
    assert channel.chance(0.75) == pytest.approx(1 / cells + contrast * (0.75 - 1 / cells), abs=1e-6)


@pytest.mark.parametrize(("epsilon", "cells", "size"), [(1, 2, 1), (0.3, 7, 3), (4, 6, 5), (2.5, 10, 2)])
def test_the_channel_is_that_of_the_definition(epsilon, cells, size):
    law, exact = sv.Response(epsilon, size), exact_law(epsilon, cells, size)
    channel = law.channel(cells)
    assert channel.hit == pytest.approx(float(sum(c for chosen, c in exact.items() if 0 in chosen)), rel=1e-14)
    assert channel.miss == pytest.approx(float(sum(c for chosen, c in exact.items() if 1 in chosen)), rel=1e-14)
    assert law.chance_of_truth(cells) == pytest.approx(channel.hit, rel=1e-14)


def test_the_channel_at_the_ends_of_epsilon():
    assert sv.Response(1e300).channel(65_535) == sv.Response(1e300).channel(65_535).__class__(65_535, 1, 1.0, 0.0)
    even = sv.Response(1e-300).channel(65_535)
    assert even.hit == pytest.approx(1 / 65_535)
    assert even.miss == pytest.approx(1 / 65_535)
    rare = sv.Response(700.0).channel(2)
    assert rare.miss == pytest.approx(math.exp(-700), rel=1e-12)  # no cancellation


@pytest.mark.parametrize("text", ["response:1.0", "response:0.2", "response:3.0", "response:1.0:2", "response:0.5:4"])
def test_devices_and_simulations_draw_the_law(text):
    """Chi-square with a probability of 1 in 10,000 to fail by accident; seeds are fixed."""
    law, cells, draws = parse_answer_law(text), 5, 6000
    exact = {
        tuple(sorted((cell + 3) % cells for cell in chosen)): float(chance)
        for chosen, chance in exact_law(law.epsilon, cells, law.size).items()
    }
    devices = reported_cells(law, [(3, cells)] * draws, seeded_stream(text))
    simulated = law.simulate(np.full(draws, 3), np.arange(draws), cells, np.random.default_rng(4))
    for outcome in (devices, [tuple(row) for row in simulated.tolist()]):
        seen = [outcome.count(chosen) for chosen in exact]
        assert sum(seen) == draws
        assert stats.chisquare(seen, [draws * chance for chance in exact.values()]).pvalue > 1e-4


def test_answers_are_drawn_for_the_cells_of_each():
    drawn = reported_cells(sv.Response(0.01), [(0, 2), (6, 7), (99, 100)] * 200, seeded_stream("cells"))
    assert {max(cells) for cells in drawn[0::3]} == {0, 1}
    assert max(cells[0] for cells in drawn[1::3]) == 6
    assert 90 < max(cells[0] for cells in drawn[2::3]) < 100


def brute_force(law, cells, answers, epsilon):
    """δ over all combinations of reported sets of several answers that all change from the first to the second cell."""
    one, other = exact_law(law.epsilon, cells, law.size, 0), exact_law(law.epsilon, cells, law.size, 1)
    with mpmath.workdps(50):
        factor = mpmath.exp(mpmath.mpf(epsilon))
        total = mpmath.mpf(0)
        for outcome in itertools.product(one, repeat=answers):
            likely = mpmath.fprod(one[chosen] for chosen in outcome)
            total += max(0, likely - factor * mpmath.fprod(other[chosen] for chosen in outcome))
        return total


@pytest.mark.parametrize(
    ("text", "cells", "answers"), [("response:1", 2, 5), ("response:0.7", 4, 4), ("response:1.2:2", 5, 3)]
)
def test_composition_is_that_of_all_outcomes(text, cells, answers):
    law = parse_answer_law(text)
    promise = law.guarantee(cells, answers, "participant")
    assert promise.pure_epsilon == pytest.approx(answers * law.epsilon, rel=1e-15)
    for epsilon in (0.0, 0.5, 1.0, 1.7, 2.9):
        exact = brute_force(law, cells, answers, epsilon)
        assert float(exact) <= promise.delta(epsilon) <= float(exact) * (1 + 1e-12)


def binary_delta(epsilon, answers, at):
    """Σ C(m,i) [p^i q^(m-i) - e^ε' p^(m-i) q^i]₊, term by term."""
    with mpmath.workdps(400):
        p = 1 / (1 + mpmath.exp(-mpmath.mpf(repr(epsilon))))
        q, factor = 1 - p, mpmath.exp(mpmath.mpf(at))
        terms = (
            mpmath.binomial(answers, i) * max(0, p**i * q ** (answers - i) - factor * p ** (answers - i) * q**i)
            for i in range(answers + 1)
        )
        return mpmath.fsum(terms)


@pytest.mark.parametrize(
    ("epsilon", "answers", "at"),
    [(0.2, 30, 4), (0.05, 30, 1), (0.01, 1000, 0.3), (1e-9, 200, 1e-8), (5.0, 40, 199.9), (1e-300, 3, 0)],
)
def test_binary_composition_is_the_sum_and_never_below_it(epsilon, answers, at):
    given_delta = sv.Response(epsilon).guarantee(2, answers, "participant").delta(at)
    exact = binary_delta(epsilon, answers, at)
    assert exact <= given_delta <= exact * (1 + mpmath.mpf("1e-15"))


@pytest.mark.parametrize(("cells", "delta"), [(2, 8.874968e-05), (4, 5.218192e-08)])
def test_thirty_answers_of_a_fifth(cells, delta):
    assert sv.Response(0.2).guarantee(cells, 30, "participant").delta(4) == pytest.approx(delta, rel=5e-8)


@pytest.mark.parametrize(("answers", "at", "largest"), [(30, 1, 0.050807), (10, 2, 0.200396)])
def test_the_largest_epsilon_per_answer(answers, at, largest):
    assert sv.Response(largest).guarantee(2, answers, "participant").delta(at) <= 1e-5
    assert sv.Response(largest + 1e-6).guarantee(2, answers, "participant").delta(at) > 1e-5


@settings(deadline=None, max_examples=60)
@given(
    log=st.floats(-300, 300), cells=st.sampled_from([2, 3, 10, 100, 65_535]), answers=st.sampled_from([1, 2, 7, 300]),
    size=st.integers(1, 99), share=st.floats(0, 1.2), delta=st.sampled_from([0.0, 1e-300, 1e-5, 0.3, 0.99]),
)  # fmt: skip
def test_figures_are_bounds_at_all_ends_of_their_ranges(log, cells, answers, size, share, delta):
    law = sv.Response(10.0**log, min(size, cells - 1))
    promise = law.guarantee(cells, answers, "participant")
    pure = promise.pure_epsilon
    assert Fraction(pure) >= law.exact("epsilon") * answers if pure < math.inf else answers * law.epsilon > 1e300
    assert promise.delta(min(pure, 1e307)) == 0 or pure == math.inf
    at = promise.delta(min(share * pure, 1e307))
    assert 0 <= at <= 1
    epsilon = promise.epsilon(delta)
    assert epsilon <= pure
    assert epsilon == math.inf or promise.delta(epsilon) <= delta
    # The short lower bound never contradicts a true figure, and one answer never promises less than many.
    least = law.least_epsilon(cells, answers, answers, delta)
    assert epsilon >= least * (1 - 1e-9) - 1e-9
    assert law.guarantee(cells, answers).epsilon(delta) <= epsilon


@pytest.mark.parametrize("cells", [3, 4, 50])
def test_two_choices_promise_least(cells):
    """So the figure for two choices holds for any mix of questions."""
    for epsilon in (0.0, 0.3, 1.0, 2.5):
        most = sv.Response(0.3).guarantee(2, 12, "participant").delta(epsilon)
        assert sv.Response(0.3).guarantee(cells, 12, "participant").delta(epsilon) <= most


def test_ten_thousand_answers_are_summed():
    promise = sv.Response(0.01).guarantee(2, 10_000, "participant")
    # A sum of 10,000 losses of ±0.01 is normal, up to the terms of Berry and Esseen: mean 0.5, variance 1.
    shift = 0.01 * 10_000 * math.tanh(0.005)
    normal = stats.norm.sf(1.0 - shift) - math.e * stats.norm.sf(1.0 + shift)
    assert promise.delta(1.0) == pytest.approx(normal, rel=2e-2)
    assert promise.delta(promise.epsilon(1e-5)) <= 1e-5 < promise.delta(promise.epsilon(1e-5) * (1 - 1e-9))


def test_text_forms_are_parsed_and_printed():
    assert str(parse_law("response:1")) == "response:1.0"
    assert str(parse_law("response:1:1")) == "response:1.0"
    assert parse_law("response:0.5:3") == sv.Response(0.5, 3)
    assert str(sv.Response(1)) == "response:1.0"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("response", r"response:EPSILON\[:SIZE\]"),
        ("response:1:2:3", "must be one of"),
        ("response:0", "finite number above 0"),
        ("response:-1", "finite number above 0"),
        ("response:nan", "finite number above 0"),
        ("response:inf", "finite number above 0"),
        ("response:1:2.5", "whole"),
        ("response:1:0", "finite number above 0"),
        ("response:one", "must be numbers"),
    ],
)
def test_bad_laws_are_refused_with_the_right_form(text, words):
    with pytest.raises(BadParameter, match=words):
        parse_law(text)


def test_a_law_for_one_kind_is_refused_where_the_other_is_required():
    with pytest.raises(BadParameter, match="it is for answers"):
        parse_noise_law("response:1")
    with pytest.raises(BadParameter, match="it adds noise to numbers"):
        parse_answer_law("fresh:0.5")
    assert parse_law("response:1").kinds == ("number", "choice")
    assert parse_law("fresh:1").kinds == ("number",)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"choices": 1}, "at least 2"),
        ({"choices": 65_536}, "at most 65,535"),
        ({"choices": 2.0}, "at least 2"),
        ({"choices": True}, "at least 2"),
        ({"choices": 3}, "smaller SIZE"),
        ({"choices": 5, "readings": 0}, "at least 1"),
        ({"choices": 5, "readings": 10_001}, "up to 10,000"),
        ({"choices": 5, "unit": "house"}, "'reading' or 'participant'"),
    ],
)
def test_guarantees_that_make_no_sense_are_refused(options, words):
    with pytest.raises(BadParameter, match=words):
        sv.Response(1.0, size=3).guarantee(**options)


def test_an_answer_outside_the_cells_is_refused_before_anything_is_drawn():
    stream = seeded_stream("refused")
    for cell in (-1, 4):
        with pytest.raises(BadParameter, match="one of the 4 cells"):
            reported_cells(sv.Response(1.0), [(0, 4), (cell, 4)], stream)
    assert stream.used == 0
