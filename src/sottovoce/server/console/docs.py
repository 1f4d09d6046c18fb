"""The guides, shipped with the server so that help needs no internet access: Markdown, rendered on first use.

Pictures are left out, because readers have the console in front of them. So are pages with formulas, which only the
tools of the site can render.
"""

import posixpath
import re
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import pairwise
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from sottovoce.protocol.problems import Problem
from sottovoce.server.console.pages import PageRoute, render

router = APIRouter(prefix="/docs", route_class=PageRoute, include_in_schema=False)
PAGES = {
    "guides/operator": "For operators",
    "guides/participant": "For participants",
    "guides/analyst": "For analysts",
    "why/threat-model": "What is protected",
    "why/life-of-a-report": "The life of a report",
    "reference/settings": "Settings of the server",
}
_DEEPEST_NAMED = 3  # levels of headings with an anchor, as on the site


@router.get("")
async def first() -> Response:
    return RedirectResponse("/docs/guides/operator", 303)


@router.get("/{folder}/{name}")
async def page(folder: str, name: str, request: Request) -> Response:
    path = f"{folder}/{name}"
    if path not in PAGES:
        raise Problem("not_found", "the address: there is no such page in the guide")
    return render(request, "docs.html", path=path, pages=PAGES, content=rendered(path))


@lru_cache(len(PAGES))
def rendered(path: str) -> Markup:
    """A page as HTML."""
    reader = MarkdownIt("commonmark").enable("table")
    tokens = reader.parse((_folder() / f"{path}.md").read_text(encoding="utf-8"))
    for heading, words in pairwise(tokens):
        if heading.type == "heading_open" and int(heading.tag[1]) <= _DEEPEST_NAMED:
            heading.attrSet("id", anchor(words.content))
    for token in tokens:
        if token.children:
            token.children = _within(path, token.children)
    return Markup(reader.renderer.render(tokens, reader.options, {}))


def anchor(heading: str) -> str:
    """The anchor of a heading, the same as on the site.

    >>> anchor("Watch, and read the results")
    'watch-and-read-the-results'
    """
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _folder() -> Traversable:
    """The folder of the guides: inside an installed package, or ``docs`` in a copy of the repository."""
    packaged = files("sottovoce.server.console") / "guides"
    return packaged if packaged.is_dir() else Path(__file__).parents[4] / "docs"


def _within(path: str, tokens: list[Token]) -> list[Token]:
    """A text without its pictures, and without links to pages that are not here; their words stay."""
    kept, plain = [], 0
    for token in tokens:
        if token.type == "link_open":
            address = _address(path, str(token.attrGet("href")))
            if address is None:
                plain += 1
                continue
            token.attrSet("href", address)
        elif token.type == "link_close" and plain:
            plain -= 1
            continue
        if token.type != "image":
            kept.append(token)
    return kept


def _address(path: str, link: str) -> str | None:
    """Where a link leads on this server; None if the page is not here."""
    if link.startswith(("https://", "#")):
        return link
    target, _, part = link.partition("#")
    page = posixpath.normpath(posixpath.join(posixpath.dirname(path), target)).removesuffix(".md")
    return f"/docs/{page}" + (f"#{part}" if part else "") if page in PAGES else None
