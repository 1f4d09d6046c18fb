"""The privacy promise in words: one sentence, the same on the command line, from the server and in the docs.

The page in the browser has the same words in ``texts.js``; a test compares them. Figures are rounded such that the
sentence stays true.
"""

import math

from sottovoce.privacy.laws import Unit

_ALMOST_NOTHING, _LITTLE = 3.0, 25.0  # the largest factors for which these words are used
_RARE = 0.01  # with an exception that is more likely than this, they are not used
_LARGEST_FACTOR, _LARGEST_ODDS = 10**6, 10**9
_HAIR = 1e-9  # a number this close to a round one, relatively, is meant to be that
_NOTHING = "This campaign promises nothing: its noise hides next to nothing of your readings."
_SEEN = "They do see that you take part, when, and which tasks you answered."


def privacy_sentence(
    epsilon: float, delta: float, distance: str | None, unit: Unit, readings: int, *, answers: bool = False
) -> str:
    """What a participant is promised; ``distance`` comes with its unit of measurement, if it has one.

    It is empty where each task states its own, and None where no number is sent with noise. With ``answers`` there are
    questions with choices, or comparisons.

    >>> print(privacy_sentence(1.0, 0.0, "1 m", "reading", 30).partition(". ")[0])
    Whoever sees everything that your device sends learns almost nothing about any one reading: had it been up to 1 m \
different, no conclusion would be more than 2.72 times as likely
    """
    if epsilon == math.inf:
        return _NOTHING
    factor = math.exp(min(epsilon, 700.0))
    if delta > _RARE or factor > _LITTLE:
        learns = "may learn a lot"
    else:
        learns = "learns almost nothing" if factor <= _ALMOST_NOTHING else "learns little"
    thing = "reading" if not answers else "answer" if distance is None else "reading or answer"
    if unit == "reading" or readings == 1:
        what = f"{'any one' if unit == 'reading' else 'your'} {thing}: had it been {_changed(distance, answers)}"
    else:
        things = thing.replace("reading", "readings").replace("answer", "answers")
        what = f"your {things}, even all {readings:,} together: had each been {_changed(distance, answers)}"
    if factor > _LARGEST_FACTOR:
        likely = "a conclusion could be more than a million times as likely"
    else:
        likely = f"no conclusion would be more than {_rounded_up(factor):,.10g} times as likely"
        likely += f", except with a chance of at most {_chance(delta)}" if delta else ""
    return f"Whoever sees everything that your device sends {learns} about {what}, {likely}. {_SEEN}"


def _changed(distance: str | None, answers: bool) -> str:
    if distance is None:
        return "any other"
    number = f"up to {distance} different" if distance else "different by up to the distance of its task"
    return f"{number}, or any other answer" if answers else number


def _rounded_up(factor: float) -> float:
    """To three digits."""
    power = 2 - math.floor(math.log10(factor))
    digits = math.ceil(factor * 10.0**power * (1 - _HAIR))
    return digits / 10**power if power >= 0 else float(digits * 10**-power)


def _chance(delta: float) -> str:
    if delta >= 0.1:
        return f"{math.ceil(100 * delta * (1 - _HAIR))} %"
    return f"1 in {min(math.floor((1 + _HAIR) / delta), _LARGEST_ODDS):,}"


def figures(epsilon: float | None, delta: float) -> str:
    """The promise in figures, for those who want them beside the sentence."""
    return f"ε = {'∞' if epsilon is None else f'{epsilon:.4g}'}, δ = {delta:.3g}"
