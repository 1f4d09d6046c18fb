"""Pagination of long tables: sorted, searched and cut on the server, so that ten thousand rows stay fast."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

from fastapi import Request

from sottovoce.discovery.schema import Place, columns_in
from sottovoce.server.console.speaking import chosen_language
from sottovoce.server.results import kind_of

T = TypeVar("T")
ROWS = 50


@dataclass(frozen=True)
class Listing(Generic[T]):
    """One page of a table, with the links that lead to the others."""

    rows: Sequence[T]
    total: int  # rows that match the search
    page: int  # from 1 on
    pages: int
    first: int  # number of the first row, from 1 on
    sort: str | None  # None: in the table's own order
    descending: bool
    search: str
    address: str  # of this table, without its query
    language: str = ""  # chosen by the reader; empty if none was

    def link(self, page: int = 1, **changes: str) -> str:
        """The same table at another page or in another order."""
        known = {"search": self.search, "sort": self.sort or "", "order": "down" if self.descending else ""}
        known["lang"] = self.language
        query = {name: text for name, text in (known | changes).items() if text}
        if page > 1:
            query["page"] = str(page)
        return f"{self.address}?{urlencode(query)}" if query else self.address

    def sorted_by(self, name: str) -> str:
        """The next order after a click on a column's header: ascending, descending, then the table's own order."""
        if self.sort != name:
            return self.link(sort=name, order="")
        return self.link(sort="", order="") if self.descending else self.link(sort=name, order="down")

    def direction(self, name: str) -> str:
        """The direction in which a column is sorted, for ``aria-sort``."""
        return ("descending" if self.descending else "ascending") if self.sort == name else "none"


def page_of(
    rows: Sequence[T],
    query: Mapping[str, str],
    address: str,
    *,
    keys: Mapping[str, Callable[[T], Any]] | None = None,
    text: Callable[[T], str] | None = None,
    length: int = ROWS,
) -> Listing[T]:
    """The page that a query asks for. Invalid parameters are ignored: anybody can type an address."""
    search = query.get("search", "").strip()[:100] if text else ""
    if search and text:
        rows = [row for row in rows if search.casefold() in text(row).casefold()]
    sort, descending = query.get("sort", ""), query.get("order") == "down"
    key = (keys or {}).get(sort)
    if key is not None:
        known = sorted((row for row in rows if key(row) is not None), key=key, reverse=descending)
        rows = [*known, *(row for row in rows if key(row) is None)]  # missing values come last in both directions
    pages = max(1, -(-len(rows) // length))
    page = _page_number(query, pages)
    first = (page - 1) * length
    return Listing(
        rows[first : first + length], len(rows), page, pages, first + 1,
        sort if key else None, descending and key is not None, search, address, chosen_language(query),
    )  # fmt: skip


def _page_number(query: Mapping[str, str], pages: int) -> int:
    asked = query.get("page", "")
    return min(max(int(asked), 1), pages) if asked.isdecimal() and len(asked) < 9 else 1


def results_page(results: Sequence[dict[str, Any]], query: Mapping[str, str], address: str) -> Listing[dict[str, Any]]:
    """One page of the tasks, sorted by name, by width of the interval or by any other figure."""
    keys: dict[str, Callable[[dict[str, Any]], Any]] = {
        "task": lambda row: (row["title"] or row["task"]).casefold(),
        "width": _width,
        **{column.name: partial(_figure, column.name) for column in columns_in(Place.PAGE)},
    }
    return page_of(results, query, address, keys=keys, text=lambda row: f"{row['task']} {row['title']}")


def _width(row: dict[str, Any]) -> float | None:
    """How uncertain a truth is: the width of its interval, or the chance that another answer is the truth."""
    if kind_of(row) == "choice":
        return None if row["chance"] is None else 1 - row["chance"]
    return None if row["low"] is None or row["high"] is None else row["high"] - row["low"]


def _figure(name: str, row: dict[str, Any]) -> Any:
    """What a row is sorted by; answers come after numbers."""
    entry = row.get(name)
    return None if entry is None else (isinstance(entry, str), entry)


@dataclass(frozen=True)
class Page:
    """One page of a table that the database cuts into pages."""

    page: int  # from 1 on
    pages: int
    total: int
    length: int
    address: str

    @classmethod
    def of(cls, request: Request, total: int, length: int = ROWS) -> "Page":
        pages = max(1, -(-total // length))
        return cls(_page_number(request.query_params, pages), pages, total, length, request.url.path)

    @property
    def first(self) -> int:
        """How many rows come before this page."""
        return (self.page - 1) * self.length

    def link(self, page: int) -> str:
        return f"{self.address}?page={page}" if page > 1 else self.address
