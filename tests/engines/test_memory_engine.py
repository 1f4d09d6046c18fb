"""The memory engine: both ways of passing over the claims, any number of threads."""

import numpy as np
import pytest

import sottovoce as sv
from patience import PATIENCE
from sottovoce.engines import MemoryEngine, Step, memory
from sottovoce.errors import BadParameter


def pm(**options):
    return sv.CRH(loss="absolute", normalise="max", **options)


METHODS = [sv.CRH, sv.GTM, sv.CATD, sv.LFCN, pm]


@pytest.fixture(scope="module")
def crowd():
    return sv.worlds.synthetic(700, 400, fill=0.7, seed=5).claims


@pytest.mark.parametrize("method", METHODS)
def test_bits_are_the_same_for_any_number_of_threads(method, crowd, monkeypatch):
    for users_in_cache in (10**6, 10):  # one fused pass; two sorted copies
        monkeypatch.setattr(memory, "_SCATTER_USERS", users_in_cache)
        fits = [method(max_iter=5, tol=0).fit(MemoryEngine(crowd, threads)) for threads in (1, 2, 3, 5)]
        for fit in fits[1:]:
            assert fit.truths_.tobytes() == fits[0].truths_.tobytes()
            assert fit.weights_.tobytes() == fits[0].weights_.tobytes()
            assert fit.effective_users_.tobytes() == fits[0].effective_users_.tobytes()


@pytest.mark.parametrize("method", METHODS)
def test_both_ways_give_the_same_truths(method, crowd, monkeypatch):
    fused = method(max_iter=5, tol=0).fit(crowd)
    monkeypatch.setattr(memory, "_SCATTER_USERS", 10)
    copied = method(max_iter=5, tol=0).fit(crowd)
    np.testing.assert_allclose(copied.truths_, fused.truths_, rtol=1e-9)
    np.testing.assert_allclose(copied.weights_, fused.weights_, rtol=1e-9)


def test_an_engine_serves_one_method_after_another(crowd, monkeypatch):
    monkeypatch.setattr(memory, "_SCATTER_USERS", 10)
    engine, fresh = MemoryEngine(crowd), {method: method(max_iter=5, tol=0).fit(crowd) for method in METHODS}
    for method in (*METHODS, *METHODS):
        fit = method(max_iter=5, tol=0).fit(engine)
        assert fit.truths_.tobytes() == fresh[method].truths_.tobytes()
        assert fit.weights_.tobytes() == fresh[method].weights_.tobytes()


def test_units_may_be_changed_in_place(crowd, monkeypatch):
    monkeypatch.setattr(memory, "_SCATTER_USERS", 10)
    engine, unit = MemoryEngine(crowd), np.ones(crowd.n_objects)
    step, truths = Step(engine.medians(), unit, engine.spreads()), engine.means()
    ones = engine.score(step, truths)
    unit *= 2
    np.testing.assert_allclose(engine.score(step, truths), 4 * ones, rtol=1e-12)


def test_engine_stays_within_thrice_the_claims_memory(crowd, monkeypatch):
    import tracemalloc  # NumPy reports its arrays to it

    size = sum(array.nbytes for array in (crowd.offsets, crowd.users, crowd.values))
    for users_in_cache in (10**6, 10):
        monkeypatch.setattr(memory, "_SCATTER_USERS", users_in_cache)
        for method in METHODS:
            method(max_iter=2, tol=0).fit(crowd)  # compile first
            tracemalloc.start()
            method(max_iter=2, tol=0).fit(crowd)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert size + peak < 3 * size


def test_fits_in_several_python_threads_do_not_disturb_each_other(crowd):
    from concurrent.futures import ThreadPoolExecutor

    single = sv.CRH(max_iter=8, tol=0).fit(crowd).truths_.tobytes()
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda _: sv.CRH(max_iter=8, tol=0).fit(crowd).truths_.tobytes(), range(8)))
    assert set(together) == {single}


def test_a_forked_child_can_fit(crowd):
    import multiprocessing

    expected = sv.CRH(max_iter=3, tol=0).fit(crowd).truths_.sum()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(_sum_of_truths, (crowd,)).get(timeout=PATIENCE) == expected


def _sum_of_truths(claims):
    return sv.CRH(max_iter=3, tol=0).fit(claims).truths_.sum()


def test_a_wrong_number_of_threads_is_reported(crowd, monkeypatch):
    for wrong in ("four", "-1", "1.5"):
        monkeypatch.setenv("SOTTOVOCE_THREADS", wrong)
        with pytest.raises(BadParameter, match=f"SOTTOVOCE_THREADS='{wrong}': it must be a whole number"):
            MemoryEngine(crowd)
    for all_cores in ("0", ""):
        monkeypatch.setenv("SOTTOVOCE_THREADS", all_cores)
        assert MemoryEngine(crowd).threads >= 1
