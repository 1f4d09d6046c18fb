"""All methods. The command line, servers, pages, figures and the reference offer what is registered here.

A method is one file, which is imported and listed here. Others register in the process, by calling `register`: a file
or a manifest only ever names a method, it never loads code.
"""

import re
from typing import Any

from sottovoce.discovery.averages import Mean, Median
from sottovoce.discovery.base import TruthDiscovery
from sottovoce.discovery.catd import CATD
from sottovoce.discovery.crh import CRH
from sottovoce.discovery.gtm import GTM
from sottovoce.discovery.lfcn import LFCN
from sottovoce.discovery.noise_aware import NoiseAware
from sottovoce.errors import BadParameter

METHODS: dict[str, type[TruthDiscovery]] = {}  # by name, in the order in which people see them

_NAME = re.compile(r"[a-z][a-z0-9-]{0,19}")  # as long as the server's table of campaigns has room for


def register(method: type[TruthDiscovery]) -> None:
    """Offer a method by its name, everywhere in this process."""
    for needed in ("name", "title", "words"):
        if not getattr(method, needed, None):
            raise BadParameter(
                f"{method.__name__} without {needed}: a method needs a name, a title and words for people; give it one"
            )
    if not _NAME.fullmatch(method.name):
        raise BadParameter(
            f"name {method.name!r} of {method.__name__}: at most 20 small letters, digits and hyphens make a name, and "
            "a letter begins it; choose another"
        )
    if METHODS.setdefault(method.name, method) is not method:
        raise BadParameter(
            f"name {method.name!r} of {method.__name__}: {METHODS[method.name].__name__} has it already; choose another"
        )


def method_named(name: str) -> type[TruthDiscovery]:
    """A registered method."""
    if name not in METHODS:
        raise BadParameter(f"method {name[:60]!r}: it must be one of {', '.join(METHODS)}; choose one of them")
    return METHODS[name]


def make_method(name: str, *, noise: Any = None, **options: Any) -> TruthDiscovery:
    """A method by name. It learns of the noise law if it has a use for it, and ignores it otherwise."""
    if takes(name, "noise"):
        options["noise"] = noise
    return method_named(name)(**options)


def takes(name: str, option: str) -> bool:
    """Whether a method has an option of this name."""
    return option in method_named(name).parameters()


def describe_method(name: str) -> str:
    """A method in one line for people; its name alone where it is no longer registered.

    >>> describe_method("median")
    'Plain median: all count equally; gross errors have little effect.'
    """
    if name not in METHODS:
        return name
    method = METHODS[name]
    line = f"{'plain ' * method.plain}{method.title}: {method.words}"
    return line[0].upper() + line[1:]


DEFAULT = NoiseAware.name  # what results are computed with where nobody has chosen

for _method in (
    NoiseAware,
    CRH,
    GTM,
    CATD,
    LFCN,
    Mean,
    Median,
):
    register(_method)
