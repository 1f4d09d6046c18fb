"""Every method on every engine gives what plain NumPy gives."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sottovoce as sv
from conformance import METHODS, assert_close, assert_same_fit, cells, claims_of
from conftest import random_matrix
from numpy_engine import NumpyEngine
from sottovoce.claims.packing import pack_claims
from sottovoce.engines import DiskEngine, Lookup, MemoryEngine, Step, memory


def on_disk(claims, folder, threads=2):
    return DiskEngine(pack_claims(claims, folder / "pack", claims_per_block=max(1, len(claims) // 7)), threads)


# How each engine is made from claims, in its own folder.
ENGINES = {
    "memory": lambda claims, folder: MemoryEngine(claims),
    "disk": on_disk,
    "disk, one thread": lambda claims, folder: on_disk(claims, folder, 1),
}


@pytest.fixture(params=ENGINES)
def engine(request, tmp_path_factory):
    """A function that makes an engine of this kind."""
    make = ENGINES[request.param]
    return lambda claims: make(claims, tmp_path_factory.mktemp("engine"))


@pytest.mark.alike
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("users", "objects", "fill"), [(60, 25, 1.0), (200, 90, 0.2), (12, 150, 0.5)])
def test_every_method_on_random_claims(engine, method, users, objects, fill):
    matrix = random_matrix(np.random.default_rng(users), users, objects, fill)
    # At the second iteration of CATD and LFC_N a user whom the truths follow has a residual that is all rounding.
    assert_same_fit(METHODS[method], engine, sv.Claims.from_matrix(matrix), 2 if method in ("catd", "lfcn") else 6)


@pytest.mark.alike
@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=cells)
def test_every_method_on_made_up_claims(engine, method, values):
    assert_same_fit(METHODS[method], engine, claims_of(values), 2)


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=cells, seed=st.integers(0, 1000), known=st.booleans())
def test_every_operation_on_made_up_claims(engine, values, seed, known):
    claims = claims_of(values)
    ours, plain = engine(claims), NumpyEngine(claims)
    rng = np.random.default_rng(seed)
    size = max(1.0, float(np.abs(claims.values).max()))
    for name in ("means", "medians", "spreads", "deviations", "comparable"):
        assert_close(getattr(ours, name)(), getattr(plain, name)(), size)
    truths, weights = plain.medians() + rng.normal(size=plain.n_objects), rng.exponential(size=plain.n_users) + 0.01
    by_object = rng.random(plain.n_objects) + 0.5
    assert_close(ours.object_sums(weights), plain.object_sums(weights), 1.0)
    assert_close(ours.user_sums(by_object), plain.user_sums(by_object), 1.0)
    assert_close(ours.weighted_means(weights), plain.weighted_means(weights), size)
    assert_close(ours.weighted_squares(truths, weights), plain.weighted_squares(truths, weights), size**2)
    for end, other in zip(ours.ranges(), plain.ranges(), strict=True):
        assert end.tolist() == other.tolist()
    for end, other in zip(ours.precision(truths, weights), plain.precision(truths, weights), strict=True):
        assert_close(end, other, size**2)
    for most in (3, 10**6):
        for end, other in zip(ours.sample(truths, most), plain.sample(truths, most), strict=True):
            assert_close(end, other, size)
    given_truths = np.zeros(plain.n_objects, bool)
    given_truths[0] = known
    table = np.sort(rng.random((5, 30)))[:, ::-1].copy()
    places = rng.random(plain.n_users) * 4, weights
    units = plain.medians(), by_object, by_object
    for step, users in (
        (Step(*units, prior_weight=0.5, prior_mean=0.25), weights),
        (Step(*units, average="median"), weights),
        (Step(*units, known=given_truths, tail=0.2), weights),
        (Step(*units, known=given_truths, tail=0.2, rejects=False), weights),
        (Step(*units, known=given_truths, tail=0.0, lookup=Lookup(table * np.arange(30), table**2, 0.5)), places),
    ):
        assert_close(ours.score(step, truths), plain.score(step, truths), size**2)
        one, other = vars(ours.sweep(step, users, truths)), vars(plain.sweep(step, users, truths))
        for name in one:
            assert (one[name] is None) == (other[name] is None)
            if one[name] is not None:
                assert_close(one[name], other[name], size**2)


@pytest.mark.parametrize("method", ["crh", "pm", "gtm", "catd", "lfcn", "noise-aware"])
def test_the_memory_engine_for_very_many_users(method, monkeypatch, tmp_path_factory):
    monkeypatch.setattr(memory, "_SCATTER_USERS", 10)
    matrix = random_matrix(np.random.default_rng(4), 80, 30, 0.4)
    assert_same_fit(METHODS[method], MemoryEngine, sv.Claims.from_matrix(matrix), 2)


@pytest.mark.alike
@pytest.mark.parametrize("method", METHODS)
def test_the_disk_engine_has_the_same_bits_for_any_number_of_threads(method, tmp_path):
    claims = sv.worlds.synthetic(300, 200, fill=0.3, seed=6).claims
    packed = pack_claims(claims, tmp_path / "pack", claims_per_block=500)
    one, *others = (METHODS[method](max_iter=4, tol=0).fit(DiskEngine(packed, threads)) for threads in (1, 2, 5))
    for fit in others:
        assert fit.truths_.tobytes() == one.truths_.tobytes()
        assert fit.weights_.tobytes() == one.weights_.tobytes()


@pytest.mark.parametrize("method", METHODS)
def test_one_block_in_the_order_of_users_gives_the_bits_of_the_order_of_objects(method, tmp_path):
    claims = sv.worlds.synthetic(90, 60, fill=0.5, seed=7).claims
    in_memory = METHODS[method](max_iter=4, tol=0).fit(MemoryEngine(claims))
    on_disk = METHODS[method](max_iter=4, tol=0).fit(DiskEngine(pack_claims(claims, tmp_path / "pack")))
    assert on_disk.truths_.tobytes() == in_memory.truths_.tobytes()
    assert on_disk.weights_.tobytes() == in_memory.weights_.tobytes()
