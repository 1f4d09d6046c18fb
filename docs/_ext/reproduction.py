"""The reproduction page, generated from the figures, tables and verdicts that ``make figures`` stores."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from filling import fill_placeholder
from sphinx.application import Sphinx

PLACEHOLDER = "<!-- the figures are inserted here when the site is built -->"
FOLDER = Path(__file__).parents[1] / "images/reproduce"
_WORDS = {True: "It holds.", False: "It does not hold."}


def figures() -> list[dict[str, Any]]:
    """The claim, verdict and parameters of each figure, in the order of the page."""
    found: list[dict[str, Any]] = json.loads((FOLDER / "figures.json").read_text())["figures"]
    return found


def _lines() -> Iterator[str]:
    for heading, claimed in (("What the paper claims", True), ("Further questions", False)):
        yield f"## {heading}\n"
        for figure in figures():
            if figure["of_the_paper"] is claimed:
                yield from _section(figure)


def _section(figure: dict[str, Any]) -> Iterator[str]:
    name, asked = figure["name"], "The paper claims" if figure["of_the_paper"] else "The question"
    yield f"### {figure['title']}\n"
    yield f"![{figure['title']}](images/reproduce/{name}.svg)\n"
    yield f"**{asked}:** {_plain(figure['claim'])}\n"
    yield f"**Here:** {_WORDS.get(figure['holds'], '')} {_plain(figure['sentence'])}\n"
    if figure["choices"]:
        yield "| parameter | the paper says | chosen here |\n|---|---|---|"
        yield from ("| " + " | ".join(map(_plain, choice)) + " |" for choice in figure["choices"])
        yield ""
    yield f"`sottovoce reproduce {name}` draws this figure; {{download}}`its numbers <images/reproduce/{name}.csv>`.\n"


def _plain(text: str) -> str:
    return text.replace("*", "\\*").replace("_", "\\_").replace("$", "\\$").replace("<", "\\<")


def setup(app: Sphinx) -> dict[str, Any]:
    return fill_placeholder(app, PLACEHOLDER, lambda: "\n".join(_lines()), [FOLDER / "figures.json"])
