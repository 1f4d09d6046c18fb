"""A manifest promises what its noise keeps."""

import math
from fractions import Fraction

import pytest

from hallways import manifest
from sottovoce.privacy.guarantee import Guarantee, quiet_guarantee
from sottovoce.privacy.laws import parse_law
from sottovoce.protocol.promise import promise_of, pure_epsilon, sentence

TASK = {"id": "a", "low": 0, "high": 10, "grid": 1}


@pytest.mark.parametrize("unit", ["reading", "participant"])
@pytest.mark.parametrize("distance", ["1", "0.95", "2.5"])
def test_pure_epsilon_is_the_largest_ratio_of_probabilities(unit, distance):
    """Summed up from the law of the integers themselves: P(k) ∝ exp(-|k|/scale)."""
    asked = manifest(unit=unit, distance=distance)
    scale = float(asked.laws["number"].on_grid(Fraction("0.1")).scale)
    steps = math.ceil(Fraction(distance) * 10)
    largest = max((abs(k - steps) - abs(k)) / scale for k in range(-50, 51))
    expected = largest * (3 if unit == "participant" else 1)
    assert pure_epsilon(asked) == pytest.approx(expected, rel=1e-12)
    assert promise_of(asked, delta=0).epsilon == pure_epsilon(asked)


def test_the_coarsest_grid_counts():
    fine, coarse = TASK | {"grid": "0.1"}, TASK | {"id": "b", "grid": 2}
    mixed = manifest(tasks=[fine, coarse])
    assert pure_epsilon(mixed) == pure_epsilon(manifest(tasks=[coarse])) > pure_epsilon(manifest(tasks=[fine]))


@pytest.mark.parametrize("noise", ["gaussian:3.73", "floored:10.23:0.072"])
def test_other_laws_get_the_exact_figures(noise):
    promise = promise_of(manifest(noise=noise), delta=1e-5)
    exact = Guarantee(parse_law(noise), 1.0, 3, "reading", 0.1)
    assert exact.delta(promise.epsilon) == pytest.approx(1e-5, rel=1e-6)
    assert pure_epsilon(manifest(noise=noise)) is None


def test_a_small_chance_may_make_epsilon_smaller_when_it_matters():
    asked = manifest(unit="participant")
    assert promise_of(asked).epsilon == promise_of(asked, enough=3.0).epsilon == 3.0
    assert promise_of(asked, delta=0.1, enough=1.0).epsilon < 2.9


def test_negligible_noise_promises_nothing():
    bare = manifest(noise="gaussian:0.00001")
    assert promise_of(bare).epsilon == math.inf
    assert "promises nothing" in sentence(bare, promise_of(bare))
    assert "differed by up to 1 m, no conclusion would be more than 2.72 times as likely" in sentence(
        manifest(), promise_of(manifest())
    )


def test_at_most_as_many_readings_as_tasks():
    assert promise_of(manifest(unit="participant", readings=500)).epsilon == 3.0


def test_many_grids_are_judged_by_the_weakest_alone(monkeypatch):
    """The others are ruled out by one comparison each, so that a campaign with many grids delays nobody."""
    tasks = [TASK | {"id": f"t{n}", "high": 1000, "grid": f"{0.013 + n / 97:.4f}"} for n in range(100)]
    asked = manifest(tasks=tasks, noise="gaussian:3.7", distance=1)
    largest = max(
        quiet_guarantee(asked.laws["number"], 1.0, 3, "reading", float(task["grid"])).epsilon(1e-5) for task in tasks
    )
    looked = []
    epsilon = Guarantee.epsilon
    monkeypatch.setattr(Guarantee, "epsilon", lambda self, delta: looked.append(self.grid) or epsilon(self, delta))
    assert promise_of(asked).epsilon == pytest.approx(largest, rel=1e-9)
    assert len(looked) < 10
