"""All methods. The command line, servers, pages, figures and the reference offer what is registered here.

Each method is one file, imported and listed here. Other code registers methods within the process by calling
`register`. A file or a manifest can only name a method, never load code.
"""

import re
from typing import Any

from sottovoce.claims.kinds import Kind
from sottovoce.discovery.accu import AccuSim
from sottovoce.discovery.averages import Mean, Median
from sottovoce.discovery.base import TruthDiscovery
from sottovoce.discovery.catd import CATD
from sottovoce.discovery.crh import CRH
from sottovoce.discovery.dawid_skene import DawidSkene
from sottovoce.discovery.gtm import GTM
from sottovoce.discovery.lfcn import LFCN
from sottovoce.discovery.ltm import LTM
from sottovoce.discovery.majority import Majority
from sottovoce.discovery.noise_aware import NoiseAware
from sottovoce.discovery.truthfinder import TruthFinder
from sottovoce.errors import BadParameter

METHODS: dict[str, type[TruthDiscovery]] = {}  # by name, in the order in which people see them

_NAME = re.compile(r"[a-z][a-z0-9-]{0,19}")  # the longest that fits into the server's table of campaigns


def register(method: type[TruthDiscovery]) -> None:
    """Offer a method by its name, everywhere in this process."""
    for needed in ("name", "title", "words"):
        if not getattr(method, needed, None):
            raise BadParameter(f"{method.__name__} without {needed}: a method needs a name, a title and words; add it")
    if not _NAME.fullmatch(method.name):
        raise BadParameter(
            f"name {method.name!r} of {method.__name__}: a name has at most 20 lower-case letters, digits and "
            "hyphens, and begins with a letter; choose another"
        )
    if METHODS.setdefault(method.name, method) is not method:
        raise BadParameter(
            f"name {method.name!r} of {method.__name__}: {METHODS[method.name].__name__} already has it; choose another"
        )


def method_named(name: str) -> type[TruthDiscovery]:
    """A registered method."""
    if name not in METHODS:
        raise BadParameter(f"method {name[:60]!r}: it must be one of {', '.join(METHODS)}; choose one of them")
    return METHODS[name]


def methods_for(kind: Kind, one_list: bool = True) -> dict[str, type[TruthDiscovery]]:
    """The methods that work with claims of a kind, by name.

    Without ``one_list``, choices have different options for different objects, or claims name several of them.
    """
    return {
        name: method
        for name, method in METHODS.items()
        if kind in method.kinds and (one_list or not method.needs_one_list)
    }


def make_method(name: str, *, noise: Any = None, **options: Any) -> TruthDiscovery:
    """A method by name. The noise law is passed on to methods that use it, and ignored otherwise."""
    if takes(name, "noise"):
        options["noise"] = noise
    return method_named(name)(**options)


def takes(name: str, option: str) -> bool:
    """Whether a method has an option of this name."""
    return option in method_named(name).parameters()


def describe_method(name: str) -> str:
    """A method in one line for people; only its name if it is no longer registered.

    >>> describe_method("median")
    'Plain median: all count equally; gross errors have little effect.'
    """
    if name not in METHODS:
        return name
    method = METHODS[name]
    line = f"{'plain ' * method.plain}{method.title}: {method.words}"
    return line[0].upper() + line[1:]


DEFAULT = NoiseAware.name  # used for results if nobody has chosen a method

for _method in (
    NoiseAware,
    CRH,
    GTM,
    CATD,
    LFCN,
    Mean,
    Median,
    Majority,
    TruthFinder,
    AccuSim,
    LTM,
    DawidSkene,
):
    register(_method)
