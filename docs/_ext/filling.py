"""Parts of pages that are generated when the site is built."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx


def fill_placeholder(
    app: Sphinx, placeholder: str, content: Callable[[], str], sources: Iterable[Path]
) -> dict[str, Any]:
    """Replace this placeholder on any page with generated content; a change of a source rebuilds the page."""

    def fill(app: Sphinx, page: str, source: list[str]) -> None:
        if placeholder in source[0]:
            for path in sources:
                app.env.note_dependency(str(path))
            source[0] = source[0].replace(placeholder, content())

    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
