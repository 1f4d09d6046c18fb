"""What holds an engine to plain NumPy: the methods, claims to try them on, and what must be the same."""

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


def assert_close(found, wanted, scale):
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * scale)


def assert_same_fit(method, engine, claims, iterations):
    found = method(max_iter=iterations, tol=0).fit(engine(claims))
    wanted = method(max_iter=iterations, tol=0).fit(NumpyEngine(claims))
    scale = max(1.0, float(np.abs(claims.values - np.repeat(wanted.truths_, claims.claims_per_object)).max()))
    assert_close(found.truths_, wanted.truths_, scale)
    assert_close(found.weights_, wanted.weights_, wanted.weights_.max())
    assert_close(found.effective_users_, wanted.effective_users_, 1.0)
    for end, other in zip(found.intervals(), wanted.intervals(), strict=True):
        finite = np.isfinite(other)
        assert finite.tolist() == np.isfinite(end).tolist()
        assert_close(end[finite], other[finite], scale)
    assert found.objects_.tolist() == wanted.objects_.tolist()
    assert found.users_.tolist() == wanted.users_.tolist()
    assert found.claims_.tolist() == wanted.claims_.tolist()


cells = st.dictionaries(
    st.tuples(st.integers(0, 6), st.integers(0, 9)), st.integers(-4000, 4000).map(lambda steps: steps / 8), min_size=1
)


def claims_of(found):
    users, objects = zip(*found, strict=True)
    return sv.Claims.from_arrays(users, objects, list(found.values()))
