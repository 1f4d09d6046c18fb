"""The files of the pages: stylesheet, scripts and what others wrote, served as they are with a tag."""

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
def _content(name: str) -> tuple[bytes, str] | None:
    """A file and its hash. Only what is in the two folders, by its plain name."""
    for folder in ("static", "vendor"):
        found = {entry.name: entry for entry in (files("sottovoce.server.console") / folder).iterdir()}.get(name)
        if found is not None and name.rpartition(".")[2] in _KINDS:
            content = found.read_bytes()
            return content, sha256(content).hexdigest()
    return None


@router.api_route("/{name}", methods=["GET", "HEAD"])
async def file(name: str, request: Request) -> Response:
    found = _content(name)
    if found is None:
        raise Problem("not_found", "the address: there is no such file")
    return tagged(request, *found, _KINDS[name.rpartition(".")[2]])
