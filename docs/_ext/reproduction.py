"""The reproduction page, made from what ``make figures`` left in images/reproduce: figures, tables and verdicts."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from filling import filled
from sphinx.application import Sphinx

PLACE = "<!-- the figures are put here when the site is built -->"
FOLDER = Path(__file__).parents[1] / "images/reproduce"
_WORDS = {True: "It holds.", False: "It does not hold."}


def figures() -> list[dict[str, Any]]:
    """What is known about each figure, in the order of the page."""
    found: list[dict[str, Any]] = json.loads((FOLDER / "figures.json").read_text())["figures"]
    return found


def _lines() -> Iterator[str]:
    for heading, claimed in (("What the paper claims", True), ("What the paper does not ask", False)):
        yield f"## {heading}\n"
        for figure in figures():
            if figure["of_the_paper"] is claimed:
                yield from _section(figure)


def _section(figure: dict[str, Any]) -> Iterator[str]:
    name, asked = figure["name"], "The paper" if figure["of_the_paper"] else "The question"
    yield f"### {figure['title']}\n"
    yield f"![{figure['title']}](images/reproduce/{name}.svg)\n"
    yield f"**{asked}:** {_plain(figure['claim'])}\n"
    yield f"**Here:** {_WORDS.get(figure['holds'], '')} {_plain(figure['sentence'])}\n"
    if figure["choices"]:
        yield "| parameter | the paper says | chosen here |\n|---|---|---|"
        yield from ("| " + " | ".join(map(_plain, choice)) + " |" for choice in figure["choices"])
        yield ""
    yield f"`sottovoce reproduce {name}` makes this figure; {{download}}`the numbers <images/reproduce/{name}.csv>`.\n"


def _plain(text: str) -> str:
    return text.replace("*", "\\*").replace("_", "\\_").replace("$", "\\$").replace("<", "\\<")


def setup(app: Sphinx) -> dict[str, Any]:
    return filled(app, PLACE, lambda: "\n".join(_lines()), [FOLDER / "figures.json"])
