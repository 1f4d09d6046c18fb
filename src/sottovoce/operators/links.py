"""Invitations as files: links and QR codes, for their owner's eyes only."""

import io
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sottovoce.errors import MissingExtra, UnreadableFile


def check_free(path: Path) -> None:
    """Links are shown once: earlier ones are never overwritten, and the folder of the new ones must exist."""
    from sottovoce.claims.writing import check_folder

    if path.exists():
        raise UnreadableFile(
            f"{path}: it exists already, perhaps with links that cannot be shown again; choose another name"
        )
    check_folder(path)


def write_links(invitations: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Links as CSV (number, link, and code if there is one), written whole; only the owner can read them."""
    from sottovoce.claims.writing import whole_file

    rows = [[str(one["id"]), one["url"], *([one["code"]] if one.get("code") else [])] for one in invitations]
    columns = ["number", "link", "code"][: max(map(len, rows), default=2)]
    lines = [",".join(row) for row in [columns, *rows]]
    with whole_file(path) as temporary:
        _write_private(temporary, "\n".join([*lines, ""]).encode())


def write_qr_codes(invitations: Iterable[Mapping[str, Any]], folder: Path) -> None:
    """A QR code for each link, as SVG, in a new folder that only its owner can enter."""
    segno = qr_maker()
    folder.mkdir(mode=0o700)
    for invitation in invitations:
        picture = io.BytesIO()
        segno.make(invitation["url"], error="m", micro=False).save(picture, kind="svg", scale=4)
        _write_private(folder / f"invitation-{invitation['id']}.svg", picture.getvalue())


def qr_maker() -> Any:
    """The library that draws QR codes, if it is installed."""
    try:
        import segno
    except ImportError as missing:
        raise MissingExtra("QR codes need segno; install it with pip install 'sottovoce[server]'") from missing
    return segno


def _write_private(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        file.write(content)
