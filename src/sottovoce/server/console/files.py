"""The files of the pages: stylesheet, scripts and vendored files, served unchanged with an ETag."""

from functools import cache
from hashlib import sha256
from importlib.resources import files

from fastapi import APIRouter, Request
from fastapi.responses import Response

from sottovoce.protocol.problems import Problem
from sottovoce.server.etags import tagged

router = APIRouter(prefix="/console", include_in_schema=False)
_KINDS = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}


@cache
def _contents() -> dict[str, tuple[bytes, str, str]]:
    """Content, hash and kind of every file in the two folders, by its plain name."""
    contents = {}
    for folder in ("vendor", "static"):
        for entry in (files("sottovoce.server.console") / folder).iterdir():
            kind = _KINDS.get(entry.name.rpartition(".")[2])
            if kind is not None:
                content = entry.read_bytes()
                contents[entry.name] = (content, sha256(content).hexdigest(), kind)
    return contents


@router.api_route("/{name}", methods=["GET", "HEAD"])
async def file(name: str, request: Request) -> Response:
    content = _contents().get(name)
    if content is None:
        raise Problem("not_found", "the address: there is no such file")
    return tagged(request, *content)
