"""What a manifest promises, in figures: for the device that judges it and the server that states it.

A pure ε is computed with exact arithmetic, without loading NumPy. For the other laws, a bound simple enough for plain
Python would be too loose: campaigns planned for a limit would seem to break it. For these laws, the sums of
`sottovoce.privacy.guarantee` are used, loaded when first needed. Either way the figure is an upper bound, or infinite.

At the level of a reading, the promise of a campaign is that of its weakest part. At the level of a participant, who may
answer any ``most_readings`` of the tasks, all parts that can be answered count together.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from sottovoce.errors import BadParameter
from sottovoce.privacy.exact import rounded_up
from sottovoce.privacy.parameters import check_delta
from sottovoce.privacy.sentence import guessed, privacy_sentence
from sottovoce.protocol.manifest import MOST_GRIDS, Manifest, NumberTask, Task
from sottovoce.protocol.parts import Part
from sottovoce.texts import Texts, texts_in

_MOST_UNITS = 4  # in one sentence
_SMALLEST_DELTA = 1e-280  # for several parts: a smaller one cannot be shared among them


@dataclass(frozen=True)
class Promise:
    """ε, and the probability δ that it fails. An infinite ε is no promise at all."""

    epsilon: float
    delta: float


def promise_of(manifest: Manifest, delta: float = 1e-5, enough: float = math.inf) -> Promise:
    """The smallest ε that holds for this manifest, except with a probability of at most ``delta``.

    A pure ε of at most ``enough`` is returned as it is, without checking whether δ would allow a smaller one.
    """
    check_delta(delta)
    pure = pure_epsilon(manifest)
    if pure is not None and (pure <= enough or delta == 0):
        return Promise(pure, 0.0)
    try:
        epsilon = _of_reading(manifest, delta) if manifest.moved_readings == 1 else _of_participant(manifest, delta)
    except BadParameter:  # no ε, or none below ten million
        return Promise(math.inf, delta)
    return Promise(epsilon, delta) if pure is None or epsilon < pure else Promise(pure, 0.0)


def pure_epsilon(manifest: Manifest) -> float | None:
    """The pure ε, rounded up to a double; None if one of the laws has none."""
    if not all(part.is_pure for part in manifest.parts):
        return None
    return _worst_sum(manifest.parts, manifest.moved_readings)


def _worst_sum(parts: Mapping[Part, int], moved: int) -> float:
    """The sum of the pure ε of the worst tasks that can be answered."""
    if len(parts) == 1:
        ((part, tasks),) = parts.items()
        return part.pure_epsilon(min(moved, tasks)) or 0.0
    left, whole = moved, Fraction(0)
    each = [(part.pure_epsilon(1) or 0.0, tasks) for part, tasks in parts.items()]
    for epsilon, tasks in sorted(each, reverse=True):
        if epsilon == math.inf:
            return math.inf
        whole += min(left, tasks) * Fraction(epsilon)
        left -= min(left, tasks)
    return rounded_up(whole)


def _of_reading(manifest: Manifest, delta: float) -> float:
    """The largest ε of any part. Most parts are ruled out by their δ at the ε of another."""
    largest = 0.0
    # The part that is probably weakest comes first: then one evaluation is enough for each of the others.
    for part, tasks in sorted(manifest.parts.items(), key=lambda one: -one[0].reach):
        guarantee = part.guarantee(min(tasks, manifest.most_readings), "reading")
        if delta == 0 or largest == 0 or guarantee.delta(largest) > delta:
            largest = max(largest, guarantee.epsilon(delta))
    return largest


def _of_participant(manifest: Manifest, delta: float) -> float:
    """The ε of all parts together, for the worst way to choose the tasks that are answered."""
    from sottovoce.privacy.losses import NoLosses
    from sottovoce.protocol.ways import Ways

    parts, most = manifest.parts, manifest.most_readings
    if len(parts) == 1:
        ((part, tasks),) = parts.items()
        return part.guarantee(min(most, tasks), "participant").epsilon(delta)
    if len(parts) <= MOST_GRIDS and delta >= _SMALLEST_DELTA:
        try:
            return Ways(parts, most, delta).largest_epsilon()
        except NoLosses:
            pass
    return _sum_of_each(parts, most, delta)


def _sum_of_each(parts: Mapping[Part, int], most: int, delta: float) -> float:
    """The sum of the ε of the parts without a pure ε, each with its share of δ, and of the worst other tasks."""
    others = {part: min(most, tasks) for part, tasks in parts.items() if not part.is_pure}
    each = (part.guarantee(count, "participant").epsilon(delta / len(others)) for part, count in others.items())
    return _added([*each, _worst_sum({part: tasks for part, tasks in parts.items() if part.is_pure}, most)])


def _added(epsilons: Iterable[float]) -> float:
    """Their sum, rounded up; infinite if one of them is, or if no double is as large."""
    figures = list(epsilons)
    return math.inf if math.inf in figures else rounded_up(sum(map(Fraction, figures), Fraction(0)))


def sentence(manifest: Manifest, promise: Promise, language: str = "en") -> str:
    """The promise in words for a participant."""
    return privacy_sentence(
        promise.epsilon, promise.delta, protected_distance(manifest, language), manifest.unit, manifest.most_readings,
        language, answers="choice" in manifest.laws, compared=any(map(manifest.is_compared, manifest.tasks)),
    )  # fmt: skip


def guess_sentence(manifest: Manifest, promise: Promise, language: str = "en") -> str:
    """What nobody can find out, in words that need no mathematics: how often a guess between two values is right."""
    texts = texts_in(language)
    noisy = [task for task in manifest.tasks if manifest.part_of(task).protected_distance is not None]
    compared = any(map(manifest.is_compared, manifest.tasks))
    others = "either" if len(noisy) < len(manifest.tasks) else "reading"
    thing = others if noisy else "compared" if compared else "answer"
    how_many = "one" if manifest.unit == "reading" else "only" if manifest.most_readings == 1 else "all"
    gaps: dict[str, str] = {}
    if noisy:
        within = protected_distance(manifest, language)
        number, space, unit = (within or "").partition(" ")
        one, other = _two_readings(manifest, noisy[0], texts, language)
        distance = texts.decimal(number) + space + unit if within else texts.say("promise.ownDistance")
        gaps = {"one": one, "other": other, "distance": distance}
    pair = texts.say(f"guess.{thing}.{how_many}", **gaps)
    return texts.say("guess.sentence", pair=pair, share=guessed(promise.epsilon, promise.delta, language))


def terms(manifest: Manifest, language: str = "en") -> list[str]:
    """Who sees the results, and when values are erased."""
    texts, days = texts_in(language), manifest.retention_days
    seen = texts.say("terms.public") if manifest.results_are_public else texts.say("terms.private")
    if days is None:
        return [seen, texts.say("terms.kept")]
    return [seen, texts.say("terms.erased", count=days) if days else texts.say("terms.erasedAtOnce")]


def _two_readings(manifest: Manifest, task: Task, texts: Texts, language: str) -> tuple[str, str]:
    """Two readings that are as far apart as the promise reaches, near the middle of the range."""
    assert isinstance(task, NumberTask)
    low, high, grid, distance = map(
        Fraction, (task.low, task.high, task.grid, manifest.part_of(task).protected_distance or "0")
    )
    middle = math.floor((low + high) / 2 / grid + Fraction(1, 2)) * grid
    first = max(low, min(middle, high - distance))
    unit = manifest.words(task.unit, language)
    ends = (_decimal_text(end) for end in (first, min(first + distance, high)))
    one, other = (texts.decimal(end) + (f"\u00a0{unit}" if unit else "") for end in ends)
    return one, other


def _decimal_text(number: Fraction) -> str:
    """A number with a finite decimal expansion, written with all its digits."""
    places = 0
    while (number * 10**places).denominator > 1:
        places += 1
    digits = str(abs(number.numerator) * 10**places // number.denominator).rjust(places + 1, "0")
    point = len(digits) - places
    return ("-" if number < 0 else "") + digits[:point] + (f".{digits[point:]}" if places else "")


def distance_words(manifest: Manifest) -> str:
    """Up to which distance values are protected, for a ledger: a distance, "any value", or both.

    A promise within a distance and one for any value are different, so they are never shown as one.
    """
    found = sorted({part.protected_distance or "" for part in manifest.parts}, key=lambda text: Fraction(text or "0"))
    return " and ".join(text or "any value" for text in found)


def protected_distance(manifest: Manifest, language: str = "") -> str | None:
    """The distance up to which a number is protected, with its unit or units.

    None where there is no noisy number, and empty where tasks have different distances. Answers and compared numbers
    are protected whatever their values.
    """
    pairs: dict[tuple[str, str], None] = {}  # in the order of the tasks
    for task in manifest.tasks:
        distance = manifest.part_of(task).protected_distance
        if distance is not None and isinstance(task, NumberTask):
            pairs[distance, manifest.words(task.unit, language)] = None
    if not pairs:
        return None
    distances, units = ([*dict.fromkeys(pair[place] for pair in pairs)] for place in (0, 1))
    if len(distances) > 1:
        return ""
    (distance,) = distances
    return f"{distance} {common_unit(units)}".strip()


def common_unit(units: Iterable[str]) -> str:
    """The unit of measurement of several tasks; a short list in brackets where they have different ones.

    >>> common_unit(["m", "m"]), common_unit(["m", "°C"]), common_unit(["m", ""])
    ('m', '(m, °C)', '')
    """
    named = [*dict.fromkeys(units)]
    if len(named) == 1:
        return named[0]
    return f"({', '.join(named)})" if all(named) and 1 < len(named) <= _MOST_UNITS else ""
