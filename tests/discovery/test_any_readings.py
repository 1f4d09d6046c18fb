"""Whatever participants send, there are results, and one participant with absurd values does not decide them."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.discovery import METHODS, methods_for
from sottovoce.engines import MemoryEngine
from sottovoce.errors import ConvergenceWarning

LARGEST = 2**63 - 1  # in grid steps, of a report
steps = st.one_of(
    st.integers(-50, 50),
    st.integers(-LARGEST, LARGEST),
    st.sampled_from([LARGEST, -LARGEST, 2**53, -(2**53), 2**31, 0]),
)


@st.composite
def laws(draw, grid):
    """Any law that a manifest admits: noise from a small part of a step to 2^50 steps."""
    width = grid * draw(st.sampled_from([1e-6, 1e-3, 0.1, 1.0, 10.0, 1e4, 2.0**50]))
    floor = width * draw(st.sampled_from([1e-6, 1.0]))
    return draw(
        st.sampled_from(
            [
                sv.FreshVariance(0.5 / width**2),
                sv.SharedVariance(1 / width**2),
                sv.FlooredVariance(floor**2, 1 / width**2),
                sv.Gaussian(width),
            ]
        )
    )


@st.composite
def campaigns(draw):
    """A law, and claims about a few tasks."""
    grid = draw(st.sampled_from([1e-9, 1e-3, 0.1, 1.0, 1e9]))
    law = draw(laws(grid))
    tasks = draw(st.integers(1, 4))
    reports = draw(st.lists(st.lists(st.none() | steps, min_size=tasks, max_size=tasks), min_size=1, max_size=8))
    rows = [
        (user, task, value * grid)
        for user, report in enumerate(reports)
        for task, value in enumerate(report)
        if value is not None
    ]
    return law, sv.Claims.from_arrays(*map(np.array, zip(*(rows or [(0, 0, 0.0)]), strict=True)))


def fitted(method, claims):
    """A fit whose only warning is that it has not converged."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = method.fit(MemoryEngine(claims, threads=1))
        return fit, fit.intervals()


@pytest.mark.alike
@pytest.mark.parametrize("name", methods_for("number"))
@settings(max_examples=15, deadline=None)
@given(campaign=campaigns())
def test_any_readings_have_results(name, campaign):
    law, claims = campaign
    fit, (low, high) = fitted(METHODS[name](noise=law) if name == "noise-aware" else METHODS[name](), claims)
    slack = 1e-9 * np.abs(claims.values).max()
    for place in range(claims.n_objects):
        claimed = claims.values[claims.offsets[place] : claims.offsets[place + 1]]
        assert claimed.min() - slack <= fit.truths_[place] <= claimed.max() + slack
    assert not np.isnan(low).any()
    assert not np.isnan(high).any()
    assert np.all(low <= fit.truths_)
    assert np.all(fit.truths_ <= high)
    assert np.all(np.isfinite(fit.effective_users_))
    assert np.all(np.isfinite(fit.weights_))
    assert fit.weights_.max() > 0


def test_one_honest_and_one_absurd_participant():
    for far in (2.0**63, -(2.0**63)):
        fit, (low, high) = fitted(sv.NoiseAware("fresh:0.5"), sv.Claims.from_matrix([[75.0, 60.0], [far, far]]))
        assert np.all(np.isfinite(fit.truths_))
        assert np.all(low < high)


@pytest.mark.slow
@pytest.mark.parametrize("law", ["fresh:0.5", "fresh:0.0005", "shared:0.5", "floored:1:0.5", "gaussian:1.5"])
@settings(max_examples=15, deadline=None)
@given(
    honest=st.integers(5, 10),
    tasks=st.integers(1, 4),
    far=st.floats(1e3, 2.0**63),
    seed=st.integers(0, 10_000),
)
def test_one_absurd_participant_does_not_decide(law, honest, tasks, far, seed):
    """Truths move by no more than the width of the interval without them, which grows at most threefold."""
    random = np.random.default_rng(seed)
    deviations = np.sqrt(random.exponential(1, honest))[:, None]
    matrix = 70 + random.standard_normal((honest, tasks)) * deviations
    users = np.repeat(np.arange(honest, dtype=np.int32), tasks)
    matrix = sv.parse_law(law).simulate(matrix.ravel(), users, random).reshape(honest, tasks).round(2)
    absurd = far * random.choice([-1.0, 1.0], tasks)
    without, (low, high) = fitted(sv.NoiseAware(law), sv.Claims.from_matrix(matrix))
    fit, (least, most) = fitted(sv.NoiseAware(law), sv.Claims.from_matrix(np.vstack((matrix, absurd))))
    assert np.all(np.abs(fit.truths_ - without.truths_) < high - low)
    assert np.all(most - least < 3 * (high - low))
