"""The privacy promise in words: one sentence, the same for the command line, the server, the page and the docs.

Its words are in the language files. The participants' page composes them in the same way, and a test compares the two.
Figures are rounded so that the sentence stays true.
"""

import math

from sottovoce.privacy.laws import Channel, Unit
from sottovoce.texts import Texts, texts_in

_ALMOST_NOTHING, _LITTLE = 3.0, 25.0  # the largest factors for which these words are used
_RARE = 0.01  # with an exception that is more likely than this, they are not used
_LARGEST_FACTOR, _LARGEST_ODDS = 10**6, 10**9
_FEWEST_CASES, _MOST_CASES = 10, 10**6  # "18 of 1,000" says more than "2 of 100"
_TOLERANCE = 1e-9  # a number within this relative distance of a round one is taken to be that one


def privacy_sentence(
    epsilon: float,
    delta: float,
    distance: str | None,
    unit: Unit,
    readings: int,
    language: str = "en",
    *,
    answers: bool = False,
    compared: bool = False,
) -> str:
    """What a participant is promised; ``distance`` is a decimal, followed by its unit of measurement if it has one.

    The distance is empty where each task states its own, and None where no number is sent with noise. With ``answers``
    there are questions with choices; with ``compared`` numbers are compared with cuts, and any value is protected.

    >>> print(privacy_sentence(1.0, 0.0, "1 m", "reading", 30).partition(". ")[0])
    Whoever sees everything that your device sends learns almost nothing about any one reading: had it differed by \
up to 1 m, no conclusion would be more than 2.72 times as likely
    """
    texts = texts_in(language)
    if epsilon == math.inf:
        return texts.say("promise.nothing")
    factor = math.exp(min(epsilon, 700.0))
    learns = "almostNothing" if factor <= _ALMOST_NOTHING else "little" if factor <= _LITTLE else "much"
    if delta > _RARE:
        learns = "much"
    if compared:
        thing = "both" if answers else "compared"
    else:
        thing = "answer" if distance is None else "either" if answers else "reading"
    how_many = "one" if unit == "reading" else "only" if readings == 1 else "all"
    likely = "million" if factor > _LARGEST_FACTOR else "except" if delta else "always"
    number, space, of_measurement = (distance or "").partition(" ")
    within = texts.decimal(number) + space + of_measurement if distance else texts.say("promise.ownDistance")
    sentence = texts.say(
        "promise.sentence",
        learns=texts.say(f"promise.learns.{learns}"),
        what=texts.say(f"promise.what.{thing}.{how_many}", distance=within, count=readings),
        likely=texts.say(
            f"promise.likely.{likely}",
            factor=texts.decimal(f"{_rounded_up(factor):.10g}"),
            chance=_chance(delta, texts) if delta else "",
        ),
    )
    return texts.say("promise.whole", sentence=sentence, seen=texts.say("promise.seen"))


def _rounded_up(factor: float) -> float:
    """A number rounded up to three digits."""
    power = 2 - math.floor(math.log10(factor))
    digits = math.ceil(factor * 10.0**power * (1 - _TOLERANCE))
    return digits / 10**power if power >= 0 else float(digits * 10**-power)


def _chance(delta: float, texts: Texts) -> str:
    if delta >= 0.1:
        return texts.say("promise.chance.percent", percent=math.ceil(100 * delta * (1 - _TOLERANCE)))
    return texts.say("promise.chance.odds", odds=min(math.floor((1 + _TOLERANCE) / delta), _LARGEST_ODDS))


def guessed(epsilon: float, delta: float, language: str = "en") -> str:
    """How often, at most, somebody guesses right which of two possibilities a fair coin chose.

    If no event is more than e^ε times as likely under one of them as under the other, except for a chance of δ, the
    best guess is right with a chance of at most (e^ε + δ) / (1 + e^ε). It is rounded up, out of enough cases for at
    least one wrong guess.

    >>> guessed(1.0, 0.0), guessed(8.0, 0.0)
    ('at most 74 times out of 100', 'at most 9,997 times out of 10,000')
    """
    texts = texts_in(language)
    wrong = (1 - delta) / (1 + math.exp(min(epsilon, 700.0)))
    base = 100
    while base <= _MOST_CASES:
        times = base - math.floor(base * wrong * (1 + _TOLERANCE) + _TOLERANCE)
        if times < base:
            return texts.say("guess.share", times=times, base=base)
        base *= 10
    return texts.say("guess.always")


def answer_words(channel: Channel, language: str = "en") -> str:
    """What happens to an answer, for a participant: how often another one is sent, and what that hides.

    >>> from sottovoce.privacy.laws import Response
    >>> answer_words(Response(1.0).channel(2))
    'In 27 of 100 cases your device sends the other answer on purpose, so nobody can be sure of yours.'
    """
    texts = texts_in(language)
    away = 1 - channel.hit if channel.size > 1 else (channel.cells - 1) * channel.miss
    odds = channel.hit * (channel.cells - channel.size) / (away * channel.size) if away else math.inf
    so = "hidden" if odds <= _LITTLE else "likely" if odds <= _LARGEST_FACTOR else "open"
    what = "set" if channel.size > 1 else "two" if channel.cells == 2 else "many"
    conclusion = texts.say(f"answer.so.{'set' if what == 'set' else 'one'}.{so}")
    return texts.say(f"answer.{what}", share=_share(away, texts), size=channel.size, cells=channel.cells, so=conclusion)


def _share(chance: float, texts: Texts) -> str:
    """A chance as a number of cases out of 100, or out of more where that number would have one digit."""
    base = 100
    while base * chance < _FEWEST_CASES and base < _MOST_CASES:
        base *= 10
    times = round(base * chance)
    return texts.say(f"answer.share.{'about' if times else 'below'}", times=max(times, 1), base=base)


def figures(epsilon: float | None, delta: float) -> str:
    """The promise in figures, to show beside the sentence."""
    return f"ε = {'∞' if epsilon is None else f'{epsilon:.4g}'}, δ = {delta:.3g}"
