"""What results warn about, and what they do not warn about."""

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.discovery.doubts import doubts
from sottovoce.engines import MemoryEngine
from sottovoce.worlds.attackers import with_colluders

LAWS = [sv.FreshVariance(0.5), sv.SharedVariance(0.5), sv.Gaussian(1.5), sv.FlooredVariance(1.0, 0.5)]


def codes(claims, law):
    engine = MemoryEngine(claims)
    fit = sv.NoiseAware(noise=law).fit(engine)
    found = doubts(
        len(fit.truths_),
        5,
        claims=fit.claims_,
        effective_users=fit.effective_users_,
        skew=(engine.means() - engine.medians(), engine.spreads()),
        converged=True,
    )
    return [doubt["code"] for doubt in found]


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_honest_crowds_are_not_suspected(law):
    """Mean less median, in standard errors of the mean, has a standard deviation below 1, so 4.5 of them come by chance
    with less than 1e-5 per task: in 10 worlds of 200 tasks almost never, and with these seeds never."""
    for seed in range(10):
        world = sv.worlds.synthetic(100, 200, seed=seed)
        assert "suspicious_crowd" not in codes(world.with_simulated_noise(law, seed).claims, law)


@pytest.mark.alike
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_a_fifth_that_agrees_on_a_far_lie_is_suspected(law):
    for seed in range(5):
        world = with_colluders(sv.worlds.synthetic(100, 30, seed=seed), 0.2, 3.0, law, seed=seed)
        assert "suspicious_crowd" in codes(world.claims, law)


def doubt_texts(claims, effective, *, tasks=None, skew=None, converged=True):
    claims, effective = np.array(claims), np.array(effective, float)
    skew = skew or (np.zeros(len(claims)), np.ones(len(claims)))
    given = {"claims": claims, "effective_users": effective, "skew": skew, "converged": converged}
    return {doubt["code"]: doubt["text"] for doubt in doubts(tasks or len(claims), 5, **given)}


def test_too_few_claims_are_warned_of():
    assert doubt_texts([5, 9], [5, 9]) == {}
    assert doubt_texts([4, 9], [4, 9])["few_claims"].startswith("1 of 2 tasks has fewer than 5 claims")
    assert doubt_texts([9], [9], tasks=3)["few_claims"].startswith("2 of 3 tasks have")  # nobody reported on the others
    assert doubt_texts([1, 2], [1, 2])["few_claims"].startswith("All tasks have")


def test_truths_decided_by_a_few_users_are_warned_of():
    assert "few_decide" not in doubt_texts([40], [4.1])
    text = doubt_texts([40, 40, 100], [3.9, 40, 2.5])["few_decide"]
    assert "2 tasks" in text
    assert "2.5 of 100" in text
    assert "fewer than 3 decide, intervals are wider" in text
    assert "wider" not in doubt_texts([40], [3.9])["few_decide"]
    assert "few_decide" not in doubt_texts([4], [1])  # where no truth is shown nobody decides


def test_one_lopsided_task_is_enough():
    def lopsided(by):
        return doubt_texts([100] * 50, [100] * 50, skew=(np.array([by] + [0.0] * 49), np.ones(50)))

    assert "suspicious_crowd" not in lopsided(0.4)
    assert lopsided(0.5)["suspicious_crowd"].startswith("In one task, mean and median differ")
    alone = doubt_texts([100], [100], skew=(np.array([0.5]), np.ones(1)))  # one task is not "all tasks"
    assert alone["suspicious_crowd"].startswith("In one task, mean")


def test_results_that_have_not_converged_say_so():
    assert "not_converged" in doubt_texts([9], [9], converged=False)


def test_tasks_without_claims_are_counted_as_such():
    given = {"claims": np.array([1, 4]), "effective_users": np.array([1.0, 4.0]), "skew": None, "converged": True}
    (found,) = doubts(3, 1, **given)
    assert found["text"] == "1 of 3 tasks has no claims, so no truth is shown there."
