"""The command line with one part of the server's fast path taken out: ``python -m bench.without PART serve ...``."""

import sys
from typing import Any

from sqlalchemy import Connection, Table

from sottovoce.cli import main
from sottovoce.server.fast import bulk, gathering, interpreter, shortcut, wire
from sottovoce.server.storage import invitations, reports, steps


def _row_by_row(connection: Connection, table: Table, names: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    if rows:
        connection.execute(table.insert(), [dict(zip(names, row, strict=True)) for row in rows])


def _without_bulk() -> None:
    for module in (bulk, invitations, reports, steps):
        module.insert_rows = _row_by_row  # type: ignore[attr-defined]


def _without_wire() -> None:
    wire._read_canonical = lambda content: None


def _without_shortcut() -> None:
    async def pass_on(self: shortcut.Shortcut, scope: Any, receive: Any, send: Any) -> None:
        await self._app(scope, receive, send)

    shortcut.Shortcut.__call__ = pass_on  # type: ignore[method-assign]


def _without_gathering() -> None:
    gathering._MOST_GATHERED = -1  # every part is passed on at once


def _without_switching() -> None:
    interpreter.switch_often = _without_nothing


def _without_collecting() -> None:
    interpreter.collect_rarely = _without_nothing


def _without_nothing() -> None:
    pass


PARTS = {
    "wire": _without_wire,
    "shortcut": _without_shortcut,
    "bulk": _without_bulk,
    "gathering": _without_gathering,
    "switch_often": _without_switching,
    "collect_rarely": _without_collecting,
    "nothing": _without_nothing,
}

if __name__ == "__main__":
    PARTS[sys.argv.pop(1)]()
    main()
