"""Docstrings are written for people at a prompt; here they are made safe for reStructuredText.

There ``truths_`` would be a link and ``|x - truth|`` a substitution. And NumPy's types, which Python spells out in
signatures, are shortened to the names that are used in the code.
"""

import re
from typing import Any

from sphinx.application import Sphinx

_SPECIAL = re.compile(r"(``.+?``|`.+?`)|\||(?<=\w)_(?!\w)")
_ARRAY = re.compile(r"~?numpy\.ndarray\[tuple\[~?(?:typing\.)?Any, \.\.\.\], ~?numpy\.dtype\[(.+?)\]\]")
_ARRAY_LIKE = re.compile(
    r"~?numpy\._typing\._[^=,]*?_NestedSequence\[(?:bool \| int \| float \| )?complex \| bytes \| str\]"
)


def _escape(line: str) -> str:
    return _SPECIAL.sub(lambda found: found[1] or "\\" + found[0], line)


def _prepare(app: Sphinx, what: str, name: str, thing: object, options: Any, lines: list[str]) -> None:
    lines[:] = [line if line.lstrip().startswith((">>>", "...")) else _escape(line) for line in lines]
    if what == "property" and lines:  # napoleon takes the text before a colon for the type
        lines[0] = lines[0].replace(": ", "; ")
    if "Parameters" in lines and "Examples" not in lines:
        lines[:] = "\n".join(lines).replace("\n\n>>>", "\n\nExamples\n--------\n>>>", 1).split("\n")


def _shorten(text: str | None) -> str | None:
    return text and _ARRAY_LIKE.sub("ArrayLike", _ARRAY.sub(r"NDArray[\1]", text))


def _sign(
    app: Sphinx, what: str, name: str, thing: object, options: Any, given: str | None, returned: str | None
) -> Any:
    return _shorten(given), _shorten(returned)


def setup(app: Sphinx) -> dict[str, Any]:
    # Before napoleon, which reads the result at the usual priority of 500.
    app.connect("autodoc-process-docstring", _prepare, priority=400)
    app.connect("autodoc-process-signature", _sign)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
