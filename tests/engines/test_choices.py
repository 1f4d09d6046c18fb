"""Every operation on choices, on every engine, gives what plain NumPy gives."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from choice_conformance import CASES, assert_same_choices, cells, check_operations, claims_of, crowd, sets
from conformance import assert_close
from numpy_engine import NumpyEngine
from sottovoce.claims import pack_claims
from sottovoce.discovery import METHODS
from sottovoce.engines import DiskEngine, MemoryEngine, Poll, Polled, memory
from sottovoce.engines.votes import _winner


def on_disk(claims, folder, threads=2):
    return DiskEngine(pack_claims(claims, folder / "pack", claims_per_block=max(1, len(claims) // 7)), threads)


@pytest.fixture(params=["memory", pytest.param("disk", marks=pytest.mark.slow)])
def engine(request, tmp_path_factory):
    """A function that makes an engine of this kind."""
    if request.param == "memory":
        return MemoryEngine
    return lambda claims: on_disk(claims, tmp_path_factory.mktemp("engine"))


@pytest.mark.slow
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(answers=cells, own=st.booleans(), seed=st.integers(0, 1000))
def test_every_operation_on_made_up_choices(engine, answers, own, seed):
    claims = claims_of(answers, own)
    check_operations(engine(claims), NumpyEngine(claims), seed)


def test_of_options_with_the_same_votes_the_first_wins_however_they_were_added_up():
    scores = np.array([0.3 + 0.2 + 0.1, 0.1 + 0.2 + 0.3])
    assert scores[0] < scores[1]  # by rounding alone
    _winner(scores, 2)
    assert scores.tolist() == [1, 0]


@pytest.mark.alike
@pytest.mark.parametrize(("name", "own"), CASES)
def test_every_method_gives_what_numpy_gives(engine, name, own):
    claims = crowd(3, own)
    assert_same_choices(name, engine(claims), claims, 5)


@pytest.mark.alike
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


@pytest.mark.parametrize("size", [2, 3])
def test_a_reported_set_votes_for_all_its_options(engine, size):
    claims = sets(size)
    assert (len(claims), claims.size) == (60, size)
    assert claims.claims_per_object.tolist() == [10] * 6
    check_operations(engine(claims), NumpyEngine(claims), size)


SHARES = [0, 0, *np.arange(20) / 1000, *np.linspace(0.03, 1, 12)]  # of a way: at first in small steps


def polls(claims, seed):
    """Polls that move step by step from some votes to quite different ones, so that truths change one by one."""
    rng = np.random.default_rng(seed)
    users, cells = claims.n_users, claims.answers.n_cells
    (one, other), slopes, prior = 200 * rng.random((2, users)) ** 4, rng.random((2, users)), rng.normal(size=cells)
    unseen, known = rng.random(claims.n_objects), np.where(rng.random(claims.n_objects) < 0.1, 0, -1)
    weights = [one + share * (other - one) for share in SHARES]
    yield [Poll(each) for each in weights]
    yield [Poll(each, softmax=True, unseen=unseen, known=known) for each in weights]
    yield [Poll(one, softmax=True, prior=1000 * share * prior, mix=0.1) for share in SHARES]
    yield [
        Poll(each, slopes[0] + share * slopes[1], softmax=True, prior=prior)
        for each, share in zip(weights, SHARES, strict=True)
    ]


@pytest.mark.parametrize("make", [lambda: crowd(3), lambda: crowd(3, own=True), lambda: sets(2)])
def test_what_rests_is_counted_again_before_it_could_change(engine, make):
    claims = make()
    ours, plain = engine(claims), NumpyEngine(claims)
    chances = np.full(plain.answers.n_cells, 0.5)
    for steps in polls(claims, 1):
        one = other = Polled(chances, plain.agree(chances)[:, None])
        rested, truths = 0, set()
        for poll in steps:
            one, other = ours.poll(poll, one), plain.poll(poll, other)
            assert_close(one.chances, other.chances, 1.0)
            assert_close(one.agreed, other.agreed, 1.0)
            rested += (one.rest.slack > 0).sum()
            truths.add(other.chances.round().tobytes())
        assert rested > claims.n_objects  # on average more than once
        assert len(truths) > 1


@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize("options", [3, 4, 5])  # rows of up to eight numbers are added up in registers
def test_with_habits_too_what_rests_is_counted_again_before_it_could_change(engine, options, corrected):
    claims, rng = crowd(options), np.random.default_rng(options)
    ours, plain = engine(claims), NumpyEngine(claims)
    rows, ahead = 10 * np.log(rng.random((2, claims.n_users, options**2)))
    prior, behind = rng.normal(size=(2, options))
    own = 0.1 * rng.random(rows.shape)
    chances = np.full(plain.answers.n_cells, 0.5)
    one = other = Polled(chances, plain.agree_by_truth(chances))
    rested, truths = 0, set()
    for share in SHARES:
        here, beforehand = rows + share * (ahead - rows), prior + share * (behind - prior)
        more = {"corrected": own * (1 + share)} if corrected else {}
        one, other = ours.confuse(here, beforehand, one, **more), plain.confuse(here, beforehand, other, **more)
        assert_close(one.chances, other.chances, 1.0)
        assert_close(one.agreed, other.agreed, 1.0)
        rested += (one.rest.slack > 0).sum()
        truths.add(other.chances.round().tobytes())
    assert rested > claims.n_objects
    assert len(truths) > 1
