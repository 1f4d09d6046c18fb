"""Compares engines with plain NumPy: the methods, the claims to try them on, and what must be the same."""

import numpy as np
from hypothesis import strategies as st

import sottovoce as sv
from numpy_engine import NumpyEngine

METHODS = {
    "crh": sv.CRH,
    "crh by sums": lambda **options: sv.CRH(total="sum", **options),
    "crh absolute": lambda **options: sv.CRH(loss="absolute", **options),
    "pm": lambda **options: sv.CRH(loss="absolute", normalise="max", **options),
    "gtm": sv.GTM,
    "gtm with a prior": lambda **options: sv.GTM(prior_mean=0.5, prior_variance=4, **options),
    "catd": sv.CATD,
    "lfcn": sv.LFCN,
    "mean": sv.Mean,
    "median": sv.Median,
    "noise-aware": sv.NoiseAware,
    "noise-aware, shared": lambda **options: sv.NoiseAware("shared:0.5", **options),
    "noise-aware, floored": lambda **options: sv.NoiseAware("floored:0.5:0.7", **options),
    "noise-aware, gaussian": lambda **options: sv.NoiseAware("gaussian:0.7", **options),
    "noise-aware, fresh": lambda **options: sv.NoiseAware("fresh:0.5", **options),
}


def assert_close(actual, expected, scale):
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9 * scale)


def assert_same_fit(method, engine, claims, iterations):
    actual = method(max_iter=iterations, tol=0).fit(engine(claims))
    expected = method(max_iter=iterations, tol=0).fit(NumpyEngine(claims))
    scale = max(1.0, float(np.abs(claims.values - np.repeat(expected.truths_, claims.claims_per_object)).max()))
    assert_close(actual.truths_, expected.truths_, scale)
    assert_close(actual.weights_, expected.weights_, expected.weights_.max())
    assert_close(actual.effective_users_, expected.effective_users_, 1.0)
    for end, other in zip(actual.intervals(), expected.intervals(), strict=True):
        finite = np.isfinite(other)
        assert finite.tolist() == np.isfinite(end).tolist()
        assert_close(end[finite], other[finite], scale)
    assert actual.objects_.tolist() == expected.objects_.tolist()
    assert actual.users_.tolist() == expected.users_.tolist()
    assert actual.claims_.tolist() == expected.claims_.tolist()


cells = st.dictionaries(
    st.tuples(st.integers(0, 6), st.integers(0, 9)), st.integers(-4000, 4000).map(lambda steps: steps / 8), min_size=1
)


def claims_of(values):
    users, objects = zip(*values, strict=True)
    return sv.Claims.from_arrays(users, objects, list(values.values()))
