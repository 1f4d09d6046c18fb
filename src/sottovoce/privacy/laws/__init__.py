"""Laws: how devices perturb a reading or an answer before they send it. One file per law, listed by name in `LAWS`.

Only code in this process can register a law: nothing that comes from elsewhere, such as a manifest, can add one.
"""

from sottovoce.errors import BadParameter
from sottovoce.privacy.laws.answers import AnswerLaw, Channel
from sottovoce.privacy.laws.base import Kind, Law, Unit
from sottovoce.privacy.laws.floored import FlooredVariance
from sottovoce.privacy.laws.fresh import FreshVariance
from sottovoce.privacy.laws.gaussian import Gaussian
from sottovoce.privacy.laws.noise import NoiseLaw, ReadingNoise
from sottovoce.privacy.laws.response import Response
from sottovoce.privacy.laws.shared import SharedVariance
from sottovoce.privacy.laws.twolayer import TwoLayer

__all__ = [
    "LAWS",
    "AnswerLaw",
    "Channel",
    "FlooredVariance",
    "FreshVariance",
    "Gaussian",
    "Kind",
    "Law",
    "NoiseLaw",
    "ReadingNoise",
    "Response",
    "SharedVariance",
    "TwoLayer",
    "Unit",
    "answer_laws",
    "forms",
    "noise_laws",
    "parse_answer_law",
    "parse_law",
    "parse_noise_law",
    "register",
]

LAWS: dict[str, type[Law]] = {
    law.name: law for law in (SharedVariance, FreshVariance, FlooredVariance, Gaussian, Response, TwoLayer)
}


def register(law: type[Law]) -> None:
    """Add a law of your own, for this process: it can then be used by its name, like the others."""
    if LAWS.setdefault(law.name, law) is not law:
        raise BadParameter(f"noise law {law.name!r}: there is already one with this name; choose another name")


def noise_laws() -> dict[str, type[NoiseLaw]]:
    """The laws that add noise to numbers, by name."""
    return {name: law for name, law in LAWS.items() if issubclass(law, NoiseLaw)}


def answer_laws() -> dict[str, type[AnswerLaw]]:
    """The laws for answers (choices and comparisons), by name."""
    return {name: law for name, law in LAWS.items() if issubclass(law, AnswerLaw)}


def forms(laws: dict[str, type[Law]] | dict[str, type[NoiseLaw]] | dict[str, type[AnswerLaw]] | None = None) -> str:
    """How these laws are written, in words; by default all of them.

    >>> forms(noise_laws())
    'shared:RATE, fresh:RATE, floored:FLOOR:RATE or gaussian:SIGMA'
    >>> forms(answer_laws())
    'response:EPSILON[:SIZE] or twolayer:uniform|beta:A:B'
    """
    *first, last = (law.form() for law in (LAWS if laws is None else laws).values())
    return f"{', '.join(first)} or {last}" if first else last


def parse_law(text: str) -> Law:
    """Read a law from its text form.

    >>> parse_law("shared:0.5")
    SharedVariance(rate=0.5)
    >>> parse_law("response:1:3")
    Response(epsilon=1.0, size=3)
    """
    name, *parts = text.strip().split(":")
    law = LAWS[name].read(parts) if name in LAWS else None
    if law is None:
        raise BadParameter(f"noise law {text!r}: it must be one of {forms()}; for example shared:0.5")
    return law


def parse_noise_law(text: str) -> NoiseLaw:
    """Read a law that adds noise to numbers."""
    law = parse_law(text)
    if not isinstance(law, NoiseLaw):
        raise BadParameter(
            f"noise law {text!r}: it is for answers, but here noise is added to numbers; use {forms(noise_laws())}"
        )
    return law


def parse_answer_law(text: str) -> AnswerLaw:
    """Read a law for answers: choices and comparisons."""
    law = parse_law(text)
    if not isinstance(law, AnswerLaw):
        raise BadParameter(
            f"noise law {text!r}: it adds noise to numbers, but here answers are perturbed; use {forms(answer_laws())}"
        )
    return law
