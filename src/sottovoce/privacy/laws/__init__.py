"""Noise laws: how devices perturb a reading before they send it. One file per law, listed by name in `LAWS`.

Only the running program registers laws: nothing that comes from elsewhere, such as a manifest, can add one.
"""

from dataclasses import fields

from sottovoce.errors import BadParameter
from sottovoce.privacy.laws.base import NoiseLaw, ReadingNoise, Unit
from sottovoce.privacy.laws.floored import FlooredVariance
from sottovoce.privacy.laws.fresh import FreshVariance
from sottovoce.privacy.laws.gaussian import Gaussian
from sottovoce.privacy.laws.shared import SharedVariance

__all__ = [
    "LAWS",
    "FlooredVariance",
    "FreshVariance",
    "Gaussian",
    "NoiseLaw",
    "ReadingNoise",
    "SharedVariance",
    "Unit",
    "forms",
    "parse_law",
    "register",
]

LAWS: dict[str, type[NoiseLaw]] = {law.name: law for law in (SharedVariance, FreshVariance, FlooredVariance, Gaussian)}


def register(law: type[NoiseLaw]) -> None:
    """Add a law of your own, for this process: it can then be used by its name, like the others."""
    if LAWS.setdefault(law.name, law) is not law:
        raise BadParameter(f"noise law {law.name!r}: there is already one of this name; choose another name")


def forms() -> str:
    """How the laws are written, in words.

    >>> forms()
    'shared:RATE, fresh:RATE, floored:FLOOR:RATE or gaussian:SIGMA'
    """
    *first, last = (law.form() for law in LAWS.values())
    return f"{', '.join(first)} or {last}"


def parse_law(text: str) -> NoiseLaw:
    """Read a noise law from its text form.

    >>> parse_law("shared:0.5")
    SharedVariance(rate=0.5)
    >>> parse_law("floored:10.2:0.07")
    FlooredVariance(floor=10.2, rate=0.07)
    """
    name, *numbers = text.strip().split(":")
    law = LAWS.get(name)
    if law is None or len(numbers) != len(fields(law)):
        raise BadParameter(f"noise law {text!r}: it must be one of {forms()}; for example shared:0.5")
    try:
        parameters = [float(number) for number in numbers]
    except ValueError:
        raise BadParameter(f"noise law {text!r}: its parameters must be numbers; write {law.form()}") from None
    return law(*parameters)
