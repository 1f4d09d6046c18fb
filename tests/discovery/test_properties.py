"""What must hold for any claims, on claims that Hypothesis generates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv

METHODS = [
    sv.NoiseAware(), sv.CRH(), sv.CRH(total="sum"), sv.CRH(loss="absolute"), sv.GTM(), sv.CATD(), sv.LFCN(),
    sv.Mean(), sv.Median(),
]  # fmt: skip
EVERY_METHOD = pytest.mark.parametrize("method", METHODS, ids=repr)


@st.composite
def crowds(draw):
    """Users × objects with gaps; values on a grid, so that ties and agreement happen."""
    users, objects = draw(st.integers(1, 7)), draw(st.integers(1, 6))
    cell = st.one_of(st.none(), st.integers(-40, 40).map(lambda steps: steps / 4))
    matrix = np.array([[draw(cell) for _ in range(objects)] for _ in range(users)], float)
    matrix[draw(st.integers(0, users - 1)), draw(st.integers(0, objects - 1))] = draw(st.integers(-9, 9))
    return matrix


def few_iterations(method):
    """So few that rounding errors do not grow: iterations that approach a single user multiply small differences."""
    method.max_iter, method.tol = 4, 0
    return method


def close(actual, expected, matrix):
    # Weights of users who nearly always agree are large and ill-conditioned: a part in 10^6 of the values' size.
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-6 * (1 + np.nanmax(np.abs(matrix))))


@EVERY_METHOD
@settings(max_examples=60, deadline=None)
@given(matrix=crowds())
def test_truths_are_finite_and_within_the_claims(method, matrix):
    fit = few_iterations(method).fit(sv.Claims.from_matrix(matrix))
    claimed = matrix[:, fit.objects_]
    slack = 1e-9 * (1 + np.nanmax(np.abs(matrix)))
    assert (fit.truths_ >= np.nanmin(claimed, axis=0) - slack).all()
    assert (fit.truths_ <= np.nanmax(claimed, axis=0) + slack).all()
    assert (fit.weights_ > 0).all()
    assert np.isfinite(fit.weights_).all()
    low, high = fit.intervals()
    assert (low <= fit.truths_).all()
    assert (high >= fit.truths_).all()
    assert (fit.effective_users_ >= 1 - 1e-9).all()
    assert (fit.effective_users_ <= fit.claims_ + 1e-9).all()


@EVERY_METHOD
@settings(max_examples=30, deadline=None)
@given(matrix=crowds(), seed=st.integers(0, 99))
def test_order_of_rows_does_not_matter(method, matrix, seed):
    users, objects = np.nonzero(~np.isnan(matrix))
    values = matrix[users, objects]
    shuffled = np.random.default_rng(seed).permutation(len(values))
    first = few_iterations(method).fit(sv.Claims.from_arrays(users, objects, values)).truths_
    second = method.fit(sv.Claims.from_arrays(users[shuffled], objects[shuffled], values[shuffled])).truths_
    assert first.tolist() == second.tolist()  # to the bit: labels are sorted


@pytest.mark.alike
@EVERY_METHOD
@settings(max_examples=30, deadline=None)
@given(matrix=crowds(), seed=st.integers(0, 99))
def test_names_do_not_matter(method, matrix, seed):
    rng = np.random.default_rng(seed)
    user_order, object_order = rng.permutation(matrix.shape[0]), rng.permutation(matrix.shape[1])
    first = few_iterations(method).fit(sv.Claims.from_matrix(matrix))
    truth_of = dict(zip(first.objects_.tolist(), first.truths_.tolist(), strict=True))
    renamed = method.fit(sv.Claims.from_matrix(matrix[user_order][:, object_order]))
    close(renamed.truths_, [truth_of[object_order[place]] for place in renamed.objects_], matrix)


@pytest.mark.parametrize("method", [method for method in METHODS if not isinstance(method, sv.LFCN)], ids=repr)
@settings(max_examples=30, deadline=None)
@given(matrix=crowds(), scale=st.sampled_from([1e-6, 0.3, -2.0, 1e6]), shift=st.sampled_from([0.0, 1.0, -700.0]))
def test_shifting_and_scaling_the_claims_shifts_and_scales_the_truths(method, matrix, scale, shift):
    if isinstance(method, sv.CRH) and method.loss == "absolute":
        scale = abs(scale)  # a weighted median takes the lower of two middle claims
    first = few_iterations(method).fit(sv.Claims.from_matrix(matrix)).truths_
    second = method.fit(sv.Claims.from_matrix((matrix + shift) * scale)).truths_
    close(second / scale - shift, first, np.abs(matrix) + abs(shift))


@settings(max_examples=30, deadline=None)
@given(matrix=crowds(), scale=st.sampled_from([0.5, -2.0]), shift=st.sampled_from([0.0, 1.0, -70.0]))
def test_lfcn_shifts_and_scales_as_far_as_its_fixed_least_variance_allows(matrix, scale, shift):
    method = few_iterations(sv.LFCN())
    first = method.fit(sv.Claims.from_matrix(matrix)).truths_
    second = method.fit(sv.Claims.from_matrix((matrix + shift) * scale)).truths_
    np.testing.assert_allclose(second / scale - shift, first, atol=1e-3)


# More claims per user mean more confidence in them: there weights change, as they should.
LEARN_FROM_NUMBERS = (sv.CATD, sv.GTM, sv.NoiseAware)


@pytest.mark.alike
@pytest.mark.parametrize("method", [one for one in METHODS if not isinstance(one, LEARN_FROM_NUMBERS)], ids=repr)
@settings(max_examples=30, deadline=None)
@given(matrix=crowds())
def test_asking_everything_twice_gives_the_same_answers_twice(method, matrix):
    first, twice = asked_once_and_twice(method, matrix)
    for half in (twice[: len(first)], twice[len(first) :]):
        close(half, first, matrix)


@pytest.mark.slow
@pytest.mark.parametrize("method", [one for one in METHODS if isinstance(one, LEARN_FROM_NUMBERS)], ids=repr)
@settings(max_examples=30, deadline=None)
@given(matrix=crowds())
def test_asking_everything_twice_gives_two_equal_answers(method, matrix):
    """Whatever the weights, they are the same for both copies of an object."""
    first, twice = asked_once_and_twice(method, matrix)
    close(twice[len(first) :], twice[: len(first)], matrix)


@pytest.mark.parametrize(
    ("method", "changes"), [(method, isinstance(method, LEARN_FROM_NUMBERS)) for method in METHODS]
)
def test_asking_everything_twice_makes_only_some_methods_surer_of_their_users(method, changes, sparse):
    """Weights against the typical one change by a tenth for somebody, or by rounding only."""
    once, twice = (
        few_iterations(method).fit(sv.Claims.from_matrix(matrix)).weights_
        for matrix in (sparse, np.hstack([sparse, sparse]))
    )
    apart = np.abs((twice / np.median(twice)) / (once / np.median(once)) - 1).max()
    assert apart > 0.1 if changes else apart < 1e-6


def asked_once_and_twice(method, matrix):
    """Truths of a crowd's claims, and of the same claims with a second copy of every object."""
    once = few_iterations(method).fit(sv.Claims.from_matrix(matrix)).truths_
    return once, method.fit(sv.Claims.from_matrix(np.hstack([matrix, matrix]))).truths_


@EVERY_METHOD
def test_claims_next_to_zero_have_truths_next_to_zero(method, dense):
    """Their squares underflow."""
    truths = method.fit(sv.Claims.from_matrix(dense * 1e-250)).truths_
    assert (np.abs(truths) <= np.abs(dense).max(axis=0) * 1e-250).all()
