"""Every operation on choices, on every engine, gives what plain NumPy gives."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sottovoce as sv
from conformance import assert_close
from numpy_engine import NumpyEngine
from sottovoce.claims import pack_claims
from sottovoce.discovery import METHODS, methods_for
from sottovoce.engines import DiskEngine, MemoryEngine, Poll, memory

cells = st.dictionaries(st.tuples(st.integers(0, 6), st.integers(0, 8)), st.sampled_from("abcde"), min_size=1)


def claims_of(answers, own):
    users, objects = zip(*answers, strict=True)
    values = [f"{thing}-{answer}" if own else answer for (_, thing), answer in answers.items()]
    return sv.Claims.from_arrays(users, objects, values)


def on_disk(claims, folder, threads=2):
    return DiskEngine(pack_claims(claims, folder / "pack", claims_per_block=max(1, len(claims) // 7)), threads)


# Dawid and Skene's tables of confusions need options that all objects share.
CASES = [(name, own) for name in methods_for("choice") for own in (False, True) if (name, own) != ("dawid-skene", True)]


@pytest.fixture(params=["memory", "disk"])
def engine(request, tmp_path_factory):
    """A function that makes an engine of this kind."""
    if request.param == "memory":
        return MemoryEngine
    return lambda claims: on_disk(claims, tmp_path_factory.mktemp("engine"))


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(answers=cells, own=st.booleans(), seed=st.integers(0, 1000))
def test_every_operation_on_made_up_choices(engine, answers, own, seed):
    claims = claims_of(answers, own)
    check_operations(engine(claims), NumpyEngine(claims), seed)


def crowd(options, own=False, users=70, objects=45, fill=0.5):
    rng = np.random.default_rng(options)
    who, what = np.nonzero(rng.random((users, objects)) < fill)
    answers = rng.binomial(options - 1, rng.random(objects)[what])
    values = [f"{thing}:{answer}" for thing, answer in zip(what, answers, strict=True)] if own else answers
    return sv.Claims.from_arrays(who, what, values, kind="choice")


@pytest.mark.parametrize(("name", "own"), CASES)
def test_every_method_gives_what_numpy_gives(engine, name, own):
    claims = crowd(3, own)
    ours, plain = (METHODS[name](max_iter=5, tol=0).fit(one) for one in (engine(claims), NumpyEngine(claims)))
    # What NoiseAware learns of the crowd is found by a search, which ends slightly elsewhere after other roundings.
    scale = 1e3 if name == "noise-aware" else 1.0
    assert_close(ours.chances_.entries, plain.chances_.entries, scale)
    assert_close(ours.weights_, plain.weights_, scale * plain.weights_.max())
    assert_close(ours.effective_users_, plain.effective_users_, scale)
    assert ours.truths_.tolist() == plain.truths_.tolist()


@pytest.mark.parametrize(("name", "own"), CASES)
def test_the_bits_are_the_same_for_any_number_of_threads(name, own, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "_CLAIMS_PER_RUN", 100)
    monkeypatch.setattr(memory, "_CLAIMS_PER_THREAD", 1)
    claims = crowd(4, own)
    packed = pack_claims(claims, tmp_path / "pack", claims_per_block=200)
    for make in (lambda threads: MemoryEngine(claims, threads), lambda threads: DiskEngine(packed, threads)):
        one, *others = (METHODS[name](max_iter=4, tol=0).fit(make(threads)) for threads in (1, 2, 5))
        assert make(5).threads > 1
        for fit in others:
            assert fit.chances_.entries.tobytes() == one.chances_.entries.tobytes()
            assert fit.weights_.tobytes() == one.weights_.tobytes()


def check_operations(ours, plain, seed):
    rng = np.random.default_rng(seed)
    n_cells, n_users, n_objects = plain.answers.n_cells, plain.n_users, plain.n_objects
    weights, chances = rng.normal(size=n_users), rng.random(n_cells)
    assert_close(ours.tally(weights), plain.tally(weights), 1.0)
    assert_close(ours.agree(chances), plain.agree(chances), 1.0)
    known = rng.integers(-2, 1, n_objects)
    grouped = {"weights": rng.normal(size=(n_users, 3)), "groups": rng.integers(0, 3, n_objects)}
    polls = [
        Poll(weights),
        Poll(weights, known=known, mix=0.3),
        Poll(np.ones(n_users)),
        Poll(weights, softmax=True, prior=rng.normal(size=n_cells), unseen=rng.random(n_objects)),
        Poll(**grouped, softmax=True, slopes=rng.normal(size=(n_users, 3)), known=known, mix=0.3),
    ]
    for poll in polls:
        one, other = ours.poll(poll, chances), plain.poll(poll, chances)
        assert_close(one.chances, other.chances, 1.0)
        assert_close(one.agreed, other.agreed, 1.0)
        assert_close(one.move, other.move, 1.0)
    if plain.answers.shared and plain.answers.size == 1:
        options = len(plain.answers.labels)
        rows, corrected = np.log(rng.random((2, n_users, options * options)))
        for more in ({}, {"known": known % options - 1, "mix": 0.3, "corrected": corrected}):
            one, other = (
                engine.confuse(rows, np.log(rng.random(options) * 0 + 0.5), chances, **more) for engine in (ours, plain)
            )
            assert_close(one.chances, other.chances, 1.0)
            assert_close(one.agreed, other.agreed, 1.0)
            assert_close(one.move, other.move, 1.0)


@pytest.mark.parametrize("size", [2, 3])
def test_a_reported_set_votes_for_all_its_options(size):
    rng = np.random.default_rng(size)
    sets = [sorted(rng.choice(5, size, replace=False).tolist()) for _ in range(60)]
    users, objects = np.divmod(np.arange(60), 6)
    claims = sv.Claims.from_arrays(users, objects, sets, kind="choice", choices=[0, 1, 2, 3, 4])
    assert (len(claims), claims.size) == (60, size)
    assert claims.claims_per_object.tolist() == [10] * 6
    check_operations(MemoryEngine(claims), NumpyEngine(claims), size)
