"""Parts of pages that are made when the site is built."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx


def filled(app: Sphinx, place: str, content: Callable[[], str], made_of: Iterable[Path]) -> dict[str, Any]:
    """Put content in this place of any page; a change of what it is made of builds the page anew."""

    def fill(app: Sphinx, page: str, source: list[str]) -> None:
        if place in source[0]:
            for path in made_of:
                app.env.note_dependency(str(path))
            source[0] = source[0].replace(place, content())

    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
