"""No figure is below the exact one, whatever a manifest says, and none is needlessly far above it."""

import math
import warnings
from fractions import Fraction

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from promise_cases import (
    ABOUT_EQUAL,
    CHOSEN,
    LITTLE_NOISE,
    MIXED,
    Case,
    ChosenCase,
    admitted,
    beside_coins,
    beside_many_kinds,
    beside_normal_noise,
    extreme,
    mixed,
    usual,
)
from promise_reference import epsilon_beside_coins, exact_composed_delta, exact_delta
from sottovoce.errors import BadParameter, UnwiseChoice
from sottovoce.privacy.exact import rounded_up
from sottovoce.privacy.guarantee import quiet_guarantee
from sottovoce.privacy.laws import parse_law
from sottovoce.protocol import promise_of

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def guarantee(case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnwiseChoice)
        unit = "participant" if case.moved > 1 else "reading"
        return parse_law(case.noise).guarantee(float(case.distance), case.moved, unit, float(case.grid))


def test_the_reference_against_sums_by_hand():
    # One step of noise 0 or ±1, nearly: P(0) = p, P(±1) = q, moved by one step.
    p, q = 1 / (1 + 2 * math.exp(-8)), math.exp(-8) / (1 + 2 * math.exp(-8))
    delta = exact_delta("gaussian:0.25", "1", 1, "1", 1.0)
    assert float(delta) == pytest.approx(p - math.e * q + q, rel=1e-9)
    both = p * p + 2 * p * q + 3 * q * q - math.e * q * q  # a sum of at most 0, against one of at most -2
    assert float(exact_delta("gaussian:0.25", "1", 2, "1", 1.0)) == pytest.approx(both, rel=1e-9)
    # Laplace noise in fine steps is nearly continuous: 1 - e^{(ε - d/b)/2}.
    assert float(exact_delta("fresh:0.5", "2", 1, "0.001", 1.0)) == pytest.approx(1 - math.exp(-0.5), rel=1e-4)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(usual(kinds=("gaussian", "fresh")))
@example(Case("gaussian:1e-07", "5000", "0.000001", 2, 1e-5))  # once ε = 0: whole numbers of 64 bits wrapped around
@example(Case("gaussian:0.5", "1", "1", 40, 1e-5))
@example(Case("gaussian:1.0", "3", "1", 7, 1e-200))
@example(Case("gaussian:30.0", "1", "1", 10_000, 1e-5))
@example(Case("gaussian:1.0", "9", "0.000000000000001", 1, 1e-5))  # 2^53 steps
@example(Case("fresh:0.005", "1", "0.1", 40, 1e-5))
def test_constant_and_fresh_noise_by_sums_of_forty_digits(case):
    assert not case.judge(promise_of(case.manifest(), case.delta, enough=0).epsilon)


def test_the_reference_of_several_parts_against_sums_by_hand():
    # Two coins: right with p = e/(1+e) and r = e²/(1+e²); losses of 3 and 1 are above ½.
    p, r = (math.exp(one) / (1 + math.exp(one)) for one in (1, 2))
    both = p * r * (1 - math.exp(0.5 - 3)) + (1 - p) * r * (1 - math.exp(0.5 - 1))
    parts = [("response:1", 2, 1), ("response:2", 2, 1)]
    assert float(exact_composed_delta(parts, 0.5)) == pytest.approx(both, rel=1e-12)
    # Two parts of normal noise that is nearly continuous are one with twice the variance of losses.
    one, three = (exact_delta("gaussian:100", "100", moved, "1", 1.0) for moved in (1, 3))
    coin = p * exact_delta("gaussian:100", "100", 3, "1", 0.0) + (1 - p) * exact_delta(
        "gaussian:100", "100", 3, "1", 2.0
    )
    assert float(exact_composed_delta([("gaussian:100", "100", "1", 3), ("response:1", 2, 1)], 1.0)) == pytest.approx(
        float(coin), rel=1e-12
    )
    assert one < three < coin


@pytest.mark.alike
@pytest.mark.parametrize("case", [*MIXED, *CHOSEN], ids=str)
def test_several_parts_together_by_the_exact_law_of_their_losses(case):
    assert not case.judge(promise_of(case.manifest(), case.delta, enough=0).epsilon)


@pytest.mark.slow
def test_the_largest_loss_of_a_pure_law_is_not_missed_by_a_rounding_error():
    """Lines that ended just below it counted what lies between as an infinite loss, so that no ε held at a tiny δ."""
    largest = [promise_of(beside_normal_noise(f"response:{tenths / 10}"), 1e-100).epsilon for tenths in range(5, 31)]
    assert largest == sorted(largest)
    assert largest[-1] < 2 * largest[0]


@pytest.mark.parametrize("noise", ["shared:0.003", "floored:0.5:1.0"])
def test_numbers_under_one_draw_promise_the_same_beside_many_kinds_of_answers_that_reveal_nothing(noise):
    together, alone = (promise_of(one, 1e-5, enough=0).epsilon for one in beside_many_kinds(noise))
    assert alone < together < 1.01 * alone


@pytest.mark.slow
@pytest.mark.parametrize("case", LITTLE_NOISE, ids=str)
def test_the_promise_for_many_readings_with_little_drawn_noise_is_as_tight_beside_answers(case):
    """With values of δ at every fiftieth of ε only, promises were 2 % too large."""
    assert not case.judge(promise_of(case.manifest(), case.delta, enough=0).epsilon)


@pytest.mark.parametrize(
    ("noise", "steps", "moved"),
    [
        ("shared:1.0", 1, 100),  # sums of noises are no normals, or are
        ("shared:100.0", 1, 1),  # the rarest variances are wide, compared with the others
        ("floored:0.3:2.0", 2, 7),
        ("floored:6.0:0.5", 9, 30),
        ("gaussian:0.8", 1, 1),
    ],
)
@pytest.mark.parametrize("negligible", [1e-9, 1e-200])
def test_deltas_at_many_epsilons_at_once_are_those_of_each(noise, steps, moved, negligible):
    """None is below those for one ε, except by what these add to be safe. Variances up to 0.3 % apart share a sum."""
    promise = quiet_guarantee(parse_law(noise), steps, moved, "participant", 1.0)
    last = promise.epsilon(0.01 if noise.startswith("shared") else 100 * negligible)
    epsilons = [last * place / 40 for place in range(41)]
    for epsilon, at_once in zip(epsilons, promise.deltas(epsilons, negligible), strict=True):
        assert 0.997 * promise.delta(epsilon) < at_once < 1.02 * promise.delta(epsilon / 1.003), epsilon


@pytest.mark.slow
@pytest.mark.parametrize("described", ABOUT_EQUAL, ids=str)
def test_readings_that_share_a_draw_may_reveal_as_much_as_the_others(described):
    """All ways to choose them have to be looked at: none is much worse than the others, and the worst is in between."""
    case, exact = beside_coins(*described), epsilon_beside_coins(*described, 0.1)
    assert 0.99 * exact < promise_of(case.manifest(), case.delta, enough=0).epsilon < 1.005 * exact


def test_a_promise_with_an_epsilon_of_millions_is_found_at_all_of_delta():
    """At half of δ the smallest variance counts, with an ε above ten million; at all of it only the next one does."""
    case = ChosenCase((("shared:1000.0", "1", "1", 30), ("response:1.0", 2, 30)), 1.5e-3, 30)
    alone = promise_of(Case("shared:1000.0", "1", "1", 30, case.delta).manifest(), case.delta).epsilon
    assert alone <= promise_of(case.manifest(), case.delta).epsilon < 1.005 * alone


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(mixed())
def test_any_parts_together_by_the_exact_law_of_their_losses(case):
    assert not case.judge(promise_of(case.manifest(), case.delta, enough=0).epsilon)


@pytest.mark.slow
@settings(max_examples=3, deadline=None)
@given(usual(kinds=("shared", "floored")))
@example(Case("shared:0.02", "3", "1", 1, 0.1))
@example(Case("floored:30.0:1.0", "3", "1", 1, 1e-5))
@example(Case("floored:16.0:1.0", "1", "1", 6, 4e-202))  # where δ changes much from one variance to the next
def test_drawn_variances_by_sums_over_all_of_them(case):
    assert not case.judge(promise_of(case.manifest(), case.delta, enough=0).epsilon)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        Case("floored:1.0:5.0", "1", "1", 10_000, 1e-5),
        Case("shared:1.0", "1", "1", 10_000, 0.5),
        Case("floored:0.05:10.0", "1", "1", 1000, 0.9),
        Case("shared:3.0", "2", "1", 30, 0.3),
    ],
    ids=str,
)
def test_the_epsilon_of_many_readings_with_little_drawn_noise_is_at_most_a_percent_too_large(case):
    """Sums of their noises are not normal, and their privacy losses are in the hundreds and thousands."""
    epsilon = promise_of(case.manifest(), case.delta, enough=0).epsilon
    assert case.exact(epsilon) is not None
    assert not case.judge(epsilon)


def test_levels_of_privacy_loss_far_apart_stay_apart_at_any_delta():
    """Five readings of which nearly all are sent as they are: ε is one of few losses, to the digits of its noise."""
    case = Case("floored:0.005:2000", "1", "1", 5, 1e-280)
    smallest = 0.005 + 1 / (2000 * 1024)
    assert promise_of(case.manifest(), case.delta, enough=0).epsilon == pytest.approx(15 / (2 * smallest), rel=1e-3)


def test_a_delta_that_sums_of_doubles_cannot_hold_counts_as_0():
    assert promise_of(Case("gaussian:1.0", "1", "1", 1, 1e-289).manifest(), 1e-289).epsilon < math.inf
    assert promise_of(Case("gaussian:1.0", "1", "1", 1, 1e-291).manifest(), 1e-291).epsilon == math.inf
    assert promise_of(Case("fresh:0.5", "1", "1", 1, 1e-291).manifest(), 1e-291, enough=0).epsilon == 1.0


@pytest.mark.parametrize(("floor", "moved"), [(0.008, 4), (0.9, 3), (0.3, 40)])
def test_a_variance_that_is_nearly_all_floor_promises_what_constant_noise_does(floor, moved):
    """Sums of several readings take long: close variances share one, and none is left to a looser bound."""
    laws = f"floored:{floor}:1e7", f"gaussian:{math.sqrt(floor)}"
    drawn, constant = (promise_of(Case(law, "1", "1", moved, 1e-5).manifest(), 1e-5).epsilon for law in laws)
    assert drawn == pytest.approx(constant, rel=1e-3)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(extreme(), st.floats(0, 50))
@example(Case("gaussian:5e-324", "999999999999999", "0.000000000000001", 10_000, 1e-300), 0.0)
@example(Case("fresh:1.7e308", "999999999999999", "0.000000000000001", 10_000, 1e-300), 0.0)
@example(Case("shared:1e-30", "0.000000000000001", "1", 10_000, 0.5), 1e-300)
def test_anything_that_can_be_written_down_has_a_figure_or_none(case, epsilon):
    manifest = admitted(case)
    assume(manifest is not None)
    promise = promise_of(manifest, case.delta, enough=0)
    assert promise.epsilon >= 0  # not NaN
    promised = guarantee(case)
    assert 0 <= promised.delta(epsilon) <= 1
    if promise.epsilon < math.inf:
        assert promise.delta == 0 or promised.delta(promise.epsilon) <= case.delta
        if not case.noise.startswith(("shared", "floored")):
            assert case.judge(promise.epsilon) != "too small"


@pytest.mark.parametrize("noise", ["fresh:0.5", "gaussian:3.0", "shared:0.01", "floored:1.0:0.01"])
def test_the_epsilon_that_is_returned_holds(noise):
    """An ε that came out of a search keeps its δ, to the last digit."""
    promised = guarantee(Case(noise, "1", "0.1", 7, 0))
    for delta in (0.3, 1e-3, 1e-5, 1e-100):
        assert promised.delta(promised.epsilon(delta)) <= delta


@pytest.mark.parametrize("delta", [math.nan, -1e-9, 1.0, math.inf])
def test_a_delta_that_is_not_a_probability_is_refused(delta):
    with pytest.raises(BadParameter):
        promise_of(Case("fresh:0.5", "1", "0.1", 1, 0.1).manifest(), delta)


def test_a_pure_epsilon_beyond_all_bounds_is_not_a_promise():
    case = Case("fresh:1e300", "999999999999999", "0.000000000000001", 2, 1e-5)
    assert promise_of(case.manifest(), 0).epsilon > 1e30
    assert promise_of(case.manifest(), 1e-5, enough=3.0).epsilon == math.inf
    assert rounded_up(Fraction(10**400)) == math.inf
    assert rounded_up(Fraction(1, 3)) > Fraction(1, 3) > math.nextafter(rounded_up(Fraction(1, 3)), 0)


@pytest.mark.alike
@pytest.mark.parametrize(
    "noise", ["shared:1e300", "shared:1e-300", "floored:1e-300:1e300", "gaussian:1e-300", "fresh:1e300"]
)
@pytest.mark.parametrize("distance", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("unit", ["reading", "participant"])
def test_continuous_figures_of_anything_are_chances(noise, distance, unit):
    promised = parse_law(noise).guarantee(distance, 3, unit)
    for epsilon in (0.0, 1e-300, 1.0, 1e300):
        assert 0 <= promised.delta(epsilon) <= promised.delta_any_n(epsilon) * (1 + 1e-9) <= 1 + 1e-9


def test_no_figure_vanishes_where_the_loss_has_no_bound():
    """Two readings under one variance: however large ε is, a variance near 0 reveals them."""
    promised = parse_law("shared:0.5").guarantee(1.0, 2)
    assert 0 < promised.delta(30.0) <= promised.delta(8.0) < 1e-12
