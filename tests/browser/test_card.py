"""The privacy card is true: its plain words agree with the mathematics, and are the same in both clients."""

import math
from random import Random

import numpy as np
import pytest

from page_modules import sent
from page_promises import random_manifest
from sottovoce.privacy.laws import parse_law
from sottovoce.privacy.sentence import guessed
from sottovoce.protocol import Promise
from sottovoce.protocol.promise import guess_sentence
from sottovoce.texts import LANGUAGES


@pytest.fixture(scope="module")
def cases():
    """The cases, made once for all languages: that takes longer than the rest of the test."""
    draw = Random(21)
    promises = [Promise(10 ** draw.uniform(-3, 2), draw.choice([0.0, 10 ** draw.uniform(-9, -1)])) for _ in range(60)]
    promises.append(Promise(4.3, 0.0))  # wrong in just one of a hundred cases
    return [(random_manifest(draw), promise) for promise in promises]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_and_the_installed_client_state_the_same_guess(ask, cases, language):
    asked = [
        {"manifest": sent(one), "epsilon": str(promise.epsilon), "delta": promise.delta, "tag": language}
        for one, promise in cases
    ]
    assert ask("guess", asked) == [guess_sentence(one, promise, language) for one, promise in cases]


def share(words):
    times, _, base = words.replace(",", "").removeprefix("at most ").partition(" times out of ")
    return int(times) / int(base)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 8.0])
def test_nobody_guesses_better_than_the_card_says(epsilon):
    """The best guess of all: whichever of two possibilities makes what was seen more likely.

    Randomised response between two answers reaches the bound. Laplace noise stays below it: the best guess between two
    readings at a distance d is right with a chance of 1 − e^(−d/2b)/2.
    """
    said = share(guessed(epsilon, 0.0))
    exact = math.exp(epsilon) / (1 + math.exp(epsilon))
    assert exact <= said <= exact + 10.0 ** -math.floor(2 - math.log10(1 - exact) - 1)
    assert 1 - math.exp(-epsilon / 2) / 2 <= said
    draw = np.random.default_rng(5)
    truth = draw.integers(0, 2, 200_000)
    seen = truth * epsilon + draw.laplace(size=truth.size)
    right = np.mean((seen > epsilon / 2) == truth)
    assert right <= said + 4 * 0.5 / math.sqrt(truth.size)  # four standard errors


def test_a_chance_of_failure_counts_as_a_right_guess():
    """A mechanism that shows everything with chance δ, and otherwise answers at random: right with ½ + δ/2."""
    for delta in (1e-5, 0.01, 0.3):
        assert share(guessed(0.0, delta)) >= 0.5 + delta / 2
    assert guessed(800.0, 0.0) == "practically every time"


@pytest.mark.parametrize("noise", ["fresh:0.5", "gaussian:3.7", "shared:0.5", "floored:10.2:0.07"])
def test_nine_in_ten_values_lie_in_the_range_on_the_card(ask, noise):
    """They do under the law, over participants. There are 200,000 draws: four standard errors are 0.0027."""
    (reach,) = ask("reach", [noise])
    count = 200_000
    drawn = parse_law(noise).simulate(np.zeros(count), np.arange(count), np.random.default_rng(9))
    assert np.mean(np.abs(drawn) <= reach) == pytest.approx(0.9, abs=0.0027 + 0.003)  # drawn with 200 variances
