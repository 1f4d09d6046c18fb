"""The reference of the methods, generated from the registered ones, so that none is missing."""

from pathlib import Path
from typing import Any

from filling import fill_placeholder
from sphinx.application import Sphinx

import sottovoce
from sottovoce import discovery
from sottovoce.discovery import DEFAULT, METHODS, TruthDiscovery, describe_method

PLACEHOLDER = "<!-- the methods are inserted here when the site is built -->"


def reference() -> str:
    """Every method with its name, its description in one line and its docstring, in Markdown."""
    return "\n".join(_section(name, method) for name, method in METHODS.items())


def _section(name: str, method: type[TruthDiscovery]) -> str:
    default = ", the default" if name == DEFAULT else ""
    public = method.__name__ in sottovoce.__all__
    path = f"sottovoce.{method.__name__}" if public else f"{method.__module__}.{method.__qualname__}"
    line = f"`{name}`{default}, for claims that are {' or '.join(f'{kind}s' for kind in method.kinds)}."
    return f"{line} {describe_method(name)}\n\n```{{eval-rst}}\n.. autoclass:: {path}\n```\n"


def setup(app: Sphinx) -> dict[str, Any]:
    return fill_placeholder(app, PLACEHOLDER, reference, [*Path(discovery.__file__).parent.glob("*.py")])
