"""Truths beside the scatter of the claims: right models are kept, wrong ones are seen, and so are better means."""

import numpy as np
import pytest
from scipy.special import ndtri

import sottovoce as sv
from sottovoce.discovery import noise_aware
from sottovoce.discovery.scatter_check import Pulls
from sottovoce.engines import MemoryEngine
from sottovoce.worlds import crowd


def pulls(errors, weight=1.0, spread=0.0, tail=0.0, assumed=1.0):
    many = len(errors)
    return Pulls.of(errors, np.full(many, weight), np.full(many, spread), tail, np.zeros(many), assumed)


def factor(errors, **model):
    return pulls(errors, **model).factor


def test_variances_of_a_right_model_are_kept():
    """The mean of 20,000 squares has a standard error of 1 %."""
    errors = np.random.default_rng(1).standard_normal(20_000)
    assert factor(errors) == pytest.approx(1, abs=0.04)
    assert factor(3 * errors, weight=1 / 9) == pytest.approx(1, abs=0.04)


def test_errors_twice_as_large_as_the_weights_say_double_the_deviation_up_to_a_limit():
    errors = np.random.default_rng(2).standard_normal(20_000)
    assert factor(np.sqrt(2) * errors) == pytest.approx(2, abs=0.08)
    assert factor(2 * errors) == 3.0


def test_the_factor_is_the_variance_of_an_average_with_that_tail():
    """Student's t with 4 degrees of freedom: simulated truths, weighed by the same tail, have this variance."""
    rng, tail = np.random.default_rng(3), 0.25

    def weighed(errors):
        far = tail * errors**2
        return (1 + tail) / np.where(far <= 1, 1 + far, 2 * np.sqrt(far))

    errors = rng.standard_t(4, (4000, 50))
    truths = np.zeros(len(errors))
    for _ in range(30):
        kept = weighed(errors - truths[:, None])
        truths = (kept * errors).sum(axis=1) / kept.sum(axis=1)
    kept = weighed(errors)
    found = factor(errors.ravel(), tail=tail)
    # Over the inverse of the sum of weights, which `assumed=1` stands for; of 4,000 truths, to within 2 · 2.2 %.
    assert found == pytest.approx(truths.var() * kept.sum(axis=1).mean(), rel=0.07)


def test_smaller_variances_have_to_be_clear():
    errors = 0.9 * np.random.default_rng(4).standard_normal(20_000)
    assert factor(errors) == pytest.approx(0.81, abs=0.05)
    few = 0.9 * ndtri((np.arange(20) + 0.5) / 20)
    assert factor(few) == 1.0
    assert factor(0.1 * errors) == 0.7


@pytest.mark.parametrize("errors", [np.zeros(20), np.ones(3)])
def test_too_little_to_see_changes_nothing(errors):
    assert pulls(errors) == Pulls(1.0, 0.0)


def test_the_mean_counts_as_far_as_it_varies_less():
    """The best share of two averages of 20 claims each, simulated, beside the one from the pulls of all claims."""
    rng, tail = np.random.default_rng(6), 0.25
    size, expected = (5000, 20), []
    for errors in (rng.uniform(-2, 2, size), rng.standard_normal(size), rng.standard_t(3, size)):
        truths = np.zeros(len(errors))
        for _ in range(30):
            far = tail * (errors - truths[:, None]) ** 2
            kept = 1 / np.where(far <= 1, 1 + far, 2 * np.sqrt(far))
            truths = (kept * errors).sum(axis=1) / kept.sum(axis=1)
        apart = truths - errors.mean(axis=1)
        best = min(max(float((truths * apart).mean() / (apart**2).mean()), 0.0), 1.0)
        expected.append(best)
        assert pulls(errors.ravel(), tail=tail).mean_share == pytest.approx(best, abs=0.15)
    assert expected == pytest.approx([1, 1, 0], abs=0.1)  # nothing varies less than a mean of normal errors


@pytest.mark.parametrize("target", ["value", "mean"])
def test_where_tails_are_light_the_mean_is_taken(target):
    """Users who are all alike, with uniform errors: weights could only follow chance, at a cost of up to 8 %."""
    ours, plain = [], []
    for seed in range(8):
        rng = np.random.default_rng((seed, 52))
        truths = rng.uniform(0, 10, 10)
        matrix = truths + rng.uniform(-1, 1, (30, 10))
        matrix[rng.random(matrix.shape) < 0.3] = np.nan
        engine = MemoryEngine(sv.Claims.from_matrix(matrix), threads=1)
        ours.append(np.abs(sv.NoiseAware(target=target).fit(engine).truths_ - truths).mean())
        plain.append(np.abs(engine.means() - truths).mean())
    assert np.mean(ours) < 1.01 * np.mean(plain)


@pytest.mark.parametrize("target", ["value", "mean"])
def test_users_of_two_kinds_have_wider_intervals_than_their_weights_say(monkeypatch, target):
    """No gamma prior describes them, so the weights are too sure of themselves."""
    claims = MemoryEngine(crowd(20, 100, "two kinds", seed=np.random.default_rng(5)).claims, threads=1)
    seen = sv.NoiseAware(target=target).fit(claims).intervals()
    monkeypatch.setattr(noise_aware.Pulls, "of", lambda *_: Pulls())
    believed = sv.NoiseAware(target=target).fit(claims).intervals()
    assert np.median((seen[1] - seen[0]) / (believed[1] - believed[0])) > 1.02
