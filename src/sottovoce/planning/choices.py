"""A promise for answers: how often the crowd's choice is wrong at each ε, with sets of the best size.

What an answer is worth is how clearly it separates the true choice from another one. With a the chance that a report
names the truth and not the other, and b the chance of the reverse, the difference of their votes has mean a - b and
variance a + b - (a - b)², so an answer adds (a - b)² / (a + b - (a - b)²) to the squared signal-to-noise ratio. This
chooses the size of sets and how many questions to answer; the errors themselves are simulated, in a crowd whose users
are right as often as those of the pilot, if there is one.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from sottovoce.claims import Claims
from sottovoce.discovery import NoiseAware
from sottovoce.errors import BadParameter
from sottovoce.planning.answering import best_answering, candidates
from sottovoce.planning.noise import rounded_down
from sottovoce.planning.plans import PromisePlan, Simulated, check_pilot, check_simulations
from sottovoce.privacy.answers import MOST_ANSWERS, AnswerGuarantee
from sottovoce.privacy.laws import AnswerLaw, Response, Unit, parse_law
from sottovoce.privacy.least_noise import check_asked
from sottovoce.worlds import choice_crowd

MOST_CHOICES = 100  # of a question
WORLDS = 40
_ANSWERS_PER_WORLD = 200_000
_OTHER_EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)  # times the requested one
_KEPT = 256
_MOST_TRIED = 100  # answers: for a larger number the ε of one answer is not searched for
_PRECISION = 1e-5  # of that search
_ROUNDS = 2  # the best size depends on the ε of one answer, which depends slightly on the size
_NEAR = 1.03  # the number of participants is exact up to this factor


@dataclass(frozen=True, kw_only=True)
class ChoicePlan(PromisePlan):
    """A law that keeps a promise for answers, and the share of questions that the crowd then gets wrong."""

    law: AnswerLaw
    guarantee: AnswerGuarantee
    choices: int
    without_sets: Simulated | None  # the error if an answer reports one choice
    answer_error: Simulated | None = None  # the error if a device answers only ``answer`` of its questions
    quality: "AnswerQuality"

    def summary(self) -> dict[str, Any]:
        plain = {**super().summary(), "size": self.law.cells_reported}
        del plain["quality"]
        return plain | {"right": self.quality.mean, "right_source": self.quality.source}

    def sentence(self) -> str:
        return self.guarantee.sentence(delta=self.delta)


@dataclass(frozen=True)
class AnswerQuality:
    """How often participants are right before any noise: the mean, and the beta distribution if it is not the usual."""

    mean: float
    law: tuple[float, float] | None = None

    @classmethod
    def of(cls, choices: int, pilot: Claims | None) -> "AnswerQuality":
        """The quality of the crowd in a pilot, or the usual one.

        If the pilot has another number of choices, users are assumed to be equally far between guessing and certainty.
        """
        if pilot is None:
            return cls((1 + 1 / choices) / 2)
        if pilot.kind != "choice" or _are_readings(pilot, choices):
            raise BadParameter(
                "pilot: its claims are numbers, but this is a plan for choices; give a pilot with answers, or plan for "
                "numbers"
            )
        check_pilot(pilot)
        place, log_concentration = NoiseAware(noise=pilot.noise).fit(pilot).state().learnt["prior"]
        mean = 1 / choices + (1 - 1 / choices) / (1 + math.exp(-place))
        concentration = math.exp(log_concentration)
        return cls(mean, (mean * concentration, (1 - mean) * concentration))

    @property
    def source(self) -> str:
        return "assumed" if self.law is None else "estimated from the pilot"


def _are_readings(pilot: Claims, choices: int) -> bool:
    """Whether values read as choices are really numbers: with the noise of numbers, or too many and with fractions."""
    if pilot.noise is not None and "choice" not in parse_law(pilot.noise).kinds:
        return True
    try:
        values = [float(label) for label in pilot.answers.label_list()] if pilot.answers is not None else []
    except ValueError:
        return False
    return len(values) > choices and not all(value.is_integer() for value in values)


def plan_choices(
    epsilon: float,
    choices: int,
    readings: int = 30,
    participants: int = 150,
    *,
    delta: float = 0.0,
    unit: Unit = "reading",
    pilot: Claims | None = None,
    error: float | None = None,
    simulations: int = WORLDS,
    seed: int = 0,
) -> ChoicePlan:
    """Randomised response that promises ε for any two answers, to ``readings`` questions with this many choices.

    Where the promise is for a participant, ``delta`` is the probability with which it may fail, which allows more
    accurate answers. ``error`` is a target share of wrong results: the plan then includes how many participants are
    needed for it. ``pilot`` holds answers to similar questions, which show how often participants are right.

    >>> planned = plan_choices(1.0, choices=10, simulations=0)
    >>> str(planned.law)
    'response:1.0:3'
    """
    _check(epsilon, delta, choices, readings, participants, simulations, seed)
    if error is not None and not (0 < error < 1 and simulations):
        raise BadParameter(
            f"error {error!r}: it must be a share of wrong results, above 0 and below 1, and needs simulations; "
            "write 0.05, and do not set simulations to 0"
        )
    quality = AnswerQuality.of(choices, pilot)
    answers = readings if unit == "participant" else 1
    law = _best_law(epsilon, delta, choices, answers, quality)

    def simulated(noise: AnswerLaw, answer: int | None = None, people: int = participants) -> Simulated | None:
        return _simulate(noise, choices, readings, people, answer, simulations, seed, quality) if simulations else None

    found = simulated(law)
    plain = found if law.size == 1 else simulated(_law_of_size(1, epsilon, delta, choices, answers))
    few: dict[str, Any] = {}
    if unit == "participant":
        best = best_answering(
            lambda count: worth(_best_law(epsilon, delta, choices, count, quality), choices, quality.mean),
            readings, [count for count in candidates(readings) if not delta or count <= _MOST_TRIED],
        ).answer  # fmt: skip
        noise = _best_law(epsilon, delta, choices, best, quality)
        fewer = found if best == readings else simulated(noise, best)
        gain = found.mean / fewer.mean if found and fewer and fewer.mean > 0 else None
        few = {"answer": best, "answer_noise": str(noise), "answer_error": fewer, "answer_gain": gain}
    return ChoicePlan(
        law=law,
        guarantee=law.guarantee(choices, readings, unit),
        choices=choices,
        epsilon=epsilon,
        delta=delta if unit == "participant" else 0.0,
        quality=quality,
        simulated_error=found,
        without_sets=plain,
        participants_needed=_needed(lambda people: simulated(law, people=people), error) if error else None,
        **few,
    )


def choice_trade_off(
    epsilon: float,
    choices: int,
    readings: int,
    participants: int,
    *,
    delta: float = 0.0,
    unit: Unit = "reading",
    quality: AnswerQuality | None = None,
    simulations: int = WORLDS,
    seed: int = 0,
    factors: Sequence[float] = _OTHER_EPSILONS,
) -> list[dict[str, Any]]:
    """The error to expect at smaller and larger ε: rows of epsilon, noise and simulated_error."""
    _check(epsilon, delta, choices, readings, participants, simulations, seed)
    quality = AnswerQuality.of(choices, None) if quality is None else quality
    rows = []
    for factor in factors:
        law = _best_law(epsilon * factor, delta, choices, readings if unit == "participant" else 1, quality)
        found = None
        if simulations:
            found = _simulate(law, choices, readings, participants, None, simulations, seed, quality)
        rows.append(
            {"epsilon": epsilon * factor, "noise": str(law), "simulated_error": asdict(found) if found else None}
        )
    return rows


def worth(law: AnswerLaw, choices: int, right: float | None = None) -> float:
    """What one answer adds to the squared signal-to-noise ratio between the truth and another choice.

    ``right`` is the chance that the user is right; by default that of the average user in the usual crowd.

    >>> round(worth(Response(1.0), choices=2, right=0.75), 4)
    0.0564
    """
    right = AnswerQuality.of(choices, None).mean if right is None else right
    channel, size = law.channel(choices), law.cells_reported
    # The chances that a report names one choice and not another given one, if the user holds the one, the other, or a
    # third choice.
    first = channel.hit * (choices - size) / (choices - 1)
    second = (1 - channel.hit) * size / (choices - 1)
    third = 0.0
    if choices > 2:
        named = channel.hit * (size - 1) * (choices - size) + (1 - channel.hit) * size * (choices - 1 - size)
        third = named / ((choices - 1) * (choices - 2))
    wrong = (1 - right) / (choices - 1)
    truth = right * first + wrong * second + wrong * (choices - 2) * third
    other = right * second + wrong * first + wrong * (choices - 2) * third
    signal = (truth - other) ** 2
    return signal / (truth + other - signal)


def _best_law(epsilon: float, delta: float, choices: int, answers: int, quality: AnswerQuality) -> Response:
    """Sets of the best size, with the promise (ε, δ) for this many answers."""

    def best(each: float) -> Response:
        laws = (Response(each, size) for size in range(1, choices // 2 + 1))
        return max(laws, key=lambda law: worth(law, choices, quality.mean))

    law = best(rounded_down(epsilon / answers))
    if delta == 0 or answers == 1:
        return law
    for _ in range(_ROUNDS):
        law = _law_of_size(best(law.epsilon).size, epsilon, delta, choices, answers)
    return law


@lru_cache(_KEPT)
def _law_of_size(size: int, epsilon: float, delta: float, choices: int, answers: int) -> Response:
    """Sets of this size with the largest ε (a short number) whose certified δ for all answers is small enough."""

    def keeps(each: float) -> bool:
        promise = Response(each, size).guarantee(choices, answers, "participant")
        return promise.delta(epsilon) <= delta

    low, high = rounded_down(epsilon / answers), epsilon
    while delta and answers > 1 and high > low * (1 + _PRECISION):
        middle = rounded_down(math.sqrt(low * high))
        if not low < middle < high:
            break
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return Response(low, size)


@lru_cache(_KEPT)
def _simulate(
    law: AnswerLaw, choices: int, readings: int, participants: int, answer: int | None, simulations: int, seed: int,
    quality: AnswerQuality,
) -> Simulated:  # fmt: skip
    """The share of questions that the crowd gets wrong; a question that nobody answered is guessed."""
    questions = max(1, min(readings, _ANSWERS_PER_WORLD // participants))
    if answer is not None:  # a smaller world with the same number of answers to each question
        fewer = max(1, answer * questions // readings)
        answer, questions = fewer, round(readings * fewer / answer)
    errors = []
    for number in range(simulations):
        rng = np.random.default_rng((seed, number))
        world = choice_crowd(participants, questions, choices, answer=answer, right=quality.law, seed=rng)
        world = world.with_simulated_noise(law, rng)
        fit = NoiseAware(noise=str(law)).fit(world.claims)
        right = float((np.asarray(fit.truths_) == world.truths).sum()) + (questions - len(world.truths)) / choices
        errors.append(1 - right / questions)
    mean = float(np.mean(errors))
    margin = 1.96 * float(np.std(errors, ddof=1)) / math.sqrt(simulations) if simulations > 1 else 0.0
    return Simulated(NoiseAware.name, mean, max(0.0, mean - margin), min(1.0, mean + margin))


def _needed(simulated: Any, error: float) -> int:
    """About how many people get at most this share wrong: doubled until they do, then by bisection."""
    low, high = 0, 1
    while simulated(high).mean > error:
        low, high = high, 2 * high
        if high > _ANSWERS_PER_WORLD:
            raise BadParameter(
                f"error {error:g}: more than {_ANSWERS_PER_WORLD:,} participants would be needed; raise it, or epsilon"
            )
    while high - low > 1 and high > low * _NEAR:
        middle = (low + high) // 2
        low, high = (middle, high) if simulated(middle).mean > error else (low, middle)
    return high


def _check(
    epsilon: float, delta: float, choices: int, readings: int, participants: int, simulations: int, seed: int
) -> None:
    check_asked(epsilon, delta)
    for name, number, least, most in (
        ("choices", choices, 2, MOST_CHOICES),
        ("readings", readings, 1, MOST_ANSWERS),
        ("participants", participants, 1, _ANSWERS_PER_WORLD),
    ):
        if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
            raise BadParameter(
                f"{name} {number!r}: it must be a whole number from {least} to {most:,}; give another one"
            )
    check_simulations(simulations, seed)
