"""Plans for a campaign keep their promise on its grid: as devices judge it, with the noise that they really draw."""

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.errors import BadParameter, UnwiseChoice
from sottovoce.planning.noise import noise_for
from sottovoce.privacy.guarantee import quiet_guarantee
from sottovoce.privacy.laws import noise_laws
from sottovoce.privacy.least_noise import law_for
from sottovoce.protocol import Manifest, promise_of


def judged(law, delta, distance, readings, unit, grids):
    """What a device says about a campaign with this plan."""
    tasks = [
        {"id": f"t{n}", "low": 0, "high": f"{1000 * max(grids):.6g}", "grid": grids[n % len(grids)]}
        for n in range(readings)
    ]
    parts = {"campaign": "c", "title": "t", "asked_by": "a", "tasks": tasks, "readings": readings}
    manifest = Manifest.of({**parts, "noise": str(law), "distance": distance, "unit": unit})
    return promise_of(manifest, delta)


def check(name, epsilon, delta, distance, readings, unit, grids):
    kind = noise_laws()[name]
    law = noise_for(kind, epsilon, kind.granted(delta), distance, readings, unit, grids)
    promise = judged(law, delta, distance, readings, unit, grids)
    # An ε without exception is a ratio of whole numbers, and devices round it up to the next double.
    assert promise.epsilon <= math.nextafter(epsilon, math.inf)
    assert promise.delta <= kind.granted(delta)
    return promise


@pytest.mark.parametrize("epsilon", [2.5, 3.0, 4.0])
def test_the_law_of_the_paper_keeps_its_promise_on_a_grid(epsilon):
    promise = check("shared", epsilon, 1e-5, 10.0, 3, "reading", (0.5,))
    assert promise.epsilon > 0.999 * epsilon  # and wastes nothing


_ASKED = {
    "epsilon": st.floats(0.02, 8).map(lambda epsilon: float(f"{epsilon:.3g}")),
    "delta": st.sampled_from([1e-3, 1e-5, 1e-9]),
    "distance": st.sampled_from([0.35, 1.0, 7.0, 120.0, 1e-6, 1e9]),
    "readings": st.sampled_from([1, 2, 30]),
    "unit": st.sampled_from(["reading", "participant"]),
}
_STEPS = st.sampled_from([1 / 1000, 0.03, 0.1, 1 / 3, 0.7, 1.0, 2.5, 40.0])  # of the distance; all that is coarse


def on_grid(distance, share):
    return float(f"{distance * share:.6g}")


@pytest.mark.parametrize("name", ["fresh", "gaussian"])
@settings(max_examples=25, deadline=None)
@given(**_ASKED, share=_STEPS)
@example(epsilon=0.3, delta=1e-5, distance=3.0, readings=1, unit="reading", share=1 / 3)  # ε is 3/10, no double
def test_every_plan_keeps_its_promise(name, epsilon, delta, distance, readings, unit, share):
    check(name, epsilon, delta, distance, readings, unit, (on_grid(distance, share),))


@pytest.mark.parametrize("name", ["shared", "floored"])
@settings(max_examples=3, deadline=None)
@given(**_ASKED, share=_STEPS)
def test_every_plan_with_a_drawn_variance_keeps_its_promise(name, epsilon, delta, distance, readings, unit, share):
    check(name, epsilon, delta, distance, readings, unit, (on_grid(distance, share),))


@pytest.mark.parametrize("name", ["fresh", "gaussian"])
@settings(max_examples=10, deadline=None)
@given(**{**_ASKED, "unit": st.just("reading")}, shares=st.lists(_STEPS, min_size=2, max_size=5, unique=True))
def test_on_several_grids_the_weakest_counts(name, epsilon, delta, distance, readings, unit, shares):
    check(name, epsilon, delta, distance, 5, unit, tuple(on_grid(distance, share) for share in shares))


def test_a_distance_between_two_steps_counts_as_the_next():
    law = law_for(sv.FreshVariance, 1.0, 0.0, distance=1.0, grid=0.7)
    assert law.scale == pytest.approx(1.4)
    with pytest.warns(UnwiseChoice, match="finer grid"):
        assert law.guarantee(1.0, grid=0.7).pure_epsilon <= 1.0


def test_the_library_plans_on_the_grid_it_is_given():
    plans = sv.plan(3.0, 1e-5, 10.0, 3, grid=0.5, simulations=0)
    assert {option.law.name for option in plans} == set(noise_laws())
    for option in plans:
        assert option.guarantee.grid == 0.5
        assert option.guarantee.epsilon(option.delta) <= 3.0
        assert judged(option.law, 1e-5, 10.0, 3, "reading", (0.5,)).epsilon <= 3.0
    with pytest.warns(UnwiseChoice, match="grid 4"):
        several = sv.plan(3.0, 1e-5, 10.0, 3, grid=[0.5, 4.0], simulations=0)
    assert {option.law.name for option in several} == {"fresh", "gaussian"}
    assert several[0].guarantee.grid == 4.0  # three steps are 12, so it is the weakest
    assert all("one grid" in several.left_out[name] for name in ("shared", "floored"))


@pytest.mark.alike
@pytest.mark.parametrize("kind", list(noise_laws().values()))
@pytest.mark.parametrize("unit", ["reading", "participant"])
@pytest.mark.parametrize(
    ("epsilon", "delta", "distance", "grid"),
    [
        (1e-9, 1e-300, 1.0, None), (1e7, 0.999, 1.0, None), (1.0, 1e-5, 1e300, None), (1.0, 1e-5, 1e-300, None),
        (1.0, 1e-5, 1e300, 1e-300), (1.0, 1e-5, 1e-300, 1e300), (1e-4, 1e-15, 1e3, 1e-6), (1e7, 0.5, 1.0, 1e-15),
    ],
)  # fmt: skip
def test_a_search_ends_for_every_extreme_request(kind, unit, epsilon, delta, distance, grid):
    """The search ends with a law that keeps the promise, or with a refusal."""
    delta = kind.granted(delta)
    try:
        law = law_for(kind, epsilon, delta, distance=distance, readings=10_000, unit=unit, grid=grid)
    except BadParameter:
        return
    assert quiet_guarantee(law, distance, 10_000, unit, grid).delta(epsilon) <= delta


@pytest.mark.parametrize("grid", [0.0, -1.0, math.nan, math.inf])
def test_an_invalid_grid_is_refused(grid):
    with pytest.raises(BadParameter, match="grid"):
        sv.plan(grid=grid, simulations=0)
