"""Compares engines with plain NumPy where claims are choices: the claims to try, and what must be the same."""

import numpy as np
from hypothesis import strategies as st

import sottovoce as sv
from conformance import assert_close
from numpy_engine import NumpyEngine
from sottovoce.discovery import METHODS, methods_for
from sottovoce.engines import Poll, Polled

# Dawid and Skene's tables of confusions need options that all objects share.
CASES = [(name, own) for name in methods_for("choice") for own in (False, True) if (name, own) != ("dawid-skene", True)]
cells = st.dictionaries(st.tuples(st.integers(0, 6), st.integers(0, 8)), st.sampled_from("abcde"), min_size=1)


def claims_of(answers, own):
    users, objects = zip(*answers, strict=True)
    values = [f"{thing}-{answer}" if own else answer for (_, thing), answer in answers.items()]
    return sv.Claims.from_arrays(users, objects, values)


def crowd(options, own=False, users=70, objects=45, fill=0.5):
    rng = np.random.default_rng(options)
    who, what = np.nonzero(rng.random((users, objects)) < fill)
    answers = rng.binomial(options - 1, rng.random(objects)[what])
    values = [f"{thing}:{answer}" for thing, answer in zip(what, answers, strict=True)] if own else answers
    return sv.Claims.from_arrays(who, what, values, kind="choice")


def sets(size):
    """Claims of 10 users about 6 objects that name several of 5 options each."""
    rng = np.random.default_rng(size)
    named = [sorted(rng.choice(5, size, replace=False).tolist()) for _ in range(60)]
    users, objects = np.divmod(np.arange(60), 6)
    return sv.Claims.from_arrays(users, objects, named, kind="choice", choices=[0, 1, 2, 3, 4])


def assert_same_choices(name, engine, claims, iterations):
    """Check that a method gives the same on an engine of these claims as on plain NumPy; returns its fit."""
    ours, plain = (METHODS[name](max_iter=iterations, tol=0).fit(one) for one in (engine, NumpyEngine(claims)))
    # What NoiseAware estimates about the crowd is found by a search, which ends slightly elsewhere after other
    # roundings; a weight of TruthFinder is the logarithm of a doubt that is close to 0.
    scale = 1e3 if name in ("noise-aware", "truthfinder") else 1.0
    assert_close(ours.chances_.entries, plain.chances_.entries, scale)
    assert_close(ours.weights_, plain.weights_, scale * plain.weights_.max())
    assert_close(ours.effective_users_, plain.effective_users_, scale)
    assert ours.truths_.tolist() == plain.truths_.tolist()
    return ours


def check_operations(ours, plain, seed):
    rng = np.random.default_rng(seed)
    n_cells, n_users, n_objects = plain.answers.n_cells, plain.n_users, plain.n_objects
    weights, chances = rng.normal(size=n_users), rng.random(n_cells)
    assert_close(ours.tally(weights), plain.tally(weights), 1.0)
    assert_close(ours.agree(chances), plain.agree(chances), 1.0)
    assert_close(ours.effective_users(weights), plain.effective_users(weights), 1.0)
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
        groups = np.zeros(n_objects, int) if poll.groups is None else poll.groups
        of_cells, columns = np.repeat(groups, np.diff(plain.answers.offsets)), range(poll.weights.size // n_users)
        before = Polled(chances, np.stack([plain.agree(chances * (of_cells == group)) for group in columns], axis=1))
        one = other = before
        for _ in range(2):  # the second time, few chances move
            one, other = ours.poll(poll, one), plain.poll(poll, other)
            assert_close(one.chances, other.chances, 1.0)
            assert_close(one.agreed, other.agreed, 1.0)
            assert_close(one.move, other.move, 1.0)
    if plain.answers.shared and plain.answers.size == 1:
        options, before = len(plain.answers.labels), Polled(chances, plain.agree_by_truth(chances))
        assert_close(ours.agree_by_truth(chances), before.agreed, 1.0)
        rows, corrected = np.log(rng.random((2, n_users, options * options)))
        for more in ({}, {"known": known % options - 1, "mix": 0.3, "corrected": corrected}):
            prior = np.log(rng.random(options))
            one = other = before
            for _ in range(2):
                one, other = ours.confuse(rows, prior, one, **more), plain.confuse(rows, prior, other, **more)
                assert_close(one.chances, other.chances, 1.0)
                assert_close(one.agreed, other.agreed, 1.0)
                assert_close(one.move, other.move, 1.0)
