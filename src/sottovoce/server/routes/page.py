"""The participant's page: the device in a browser, with its files. Opening it spends and reveals nothing.

The response is the same for everybody and every invitation: the page itself finds out which campaign it is for, and
chooses its language.
"""

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from html import escape
from importlib.resources import files

from fastapi import APIRouter, Request
from fastapi.responses import Response

from sottovoce.protocol.instruments import INSTRUMENTS
from sottovoce.protocol.problems import Problem
from sottovoce.server.bundles import bundled, loaded_first
from sottovoce.server.etags import tagged
from sottovoce.server.headers import permissions_policy
from sottovoce.texts import LANGUAGES, texts_in

router = APIRouter(prefix="/j", include_in_schema=False)
_INVITATION = re.compile(r"[A-Za-z0-9_-]{0,128}")  # empty: the participant's own list of campaigns
_KINDS = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "webmanifest": "application/manifest+json",
    "json": "application/json",
}
_SERVER_TEXTS = ("results.", "date.", "percent", "number.", "noscript", "broken")
_GZIP = re.compile(r"(?:^|,)\s*gzip\s*(?:$|,|;\s*q\s*=\s*(?!0(?:\.0*)?\s*(?:$|,)))", re.IGNORECASE)
# For scripts too: a worker obeys the policy that its own script came with.
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "img-src 'self' blob:; object-src 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": permissions_policy([one for known in INSTRUMENTS.values() for one in known.permissions]),
    "Referrer-Policy": "no-referrer",
    "Vary": "Accept-Encoding",
}


@dataclass(frozen=True)
class _File:
    content: bytes
    kind: str

    @cached_property
    def digest(self) -> bytes:
        return sha256(self.content).digest()

    @cached_property
    def compressed(self) -> bytes:
        return gzip.compress(self.content, mtime=0)

    def answer(self, request: Request, *, stored: bool) -> Response:
        """The file, compressed for clients that accept it; with an ETag unless it must not be stored."""
        smaller = _GZIP.search(request.headers.get("accept-encoding", "")) is not None
        content = self.compressed if smaller else self.content
        tag = self.digest.hex() + "-gzip" * smaller  # two encodings have two ETags
        answer = tagged(request, content, tag, self.kind) if stored else Response(content, media_type=self.kind)
        answer.headers.update(_HEADERS)
        if smaller and answer.body:
            answer.headers["Content-Encoding"] = "gzip"
        return answer


@cache
def _page_files() -> dict[str, _File]:
    folder = files("sottovoce") / "device" / "page"
    contents = {entry.name: entry.read_text(encoding="utf-8") for entry in folder.iterdir()}
    modules, in_bundles = bundled({name: contents.pop(name) for name in sorted(contents) if name.endswith(".js")})
    contents |= modules
    contents["index.html"] = _filled(contents["index.html"], loaded_first(modules))
    contents |= {f"texts/{language}.json": _page_texts(language) for language in LANGUAGES}
    # The service worker does not keep modules that are also in bundles: no script of the page loads them separately.
    return {**_as_files(in_bundles), **_with_service_worker(_as_files(contents))}


def _as_files(contents: dict[str, str]) -> dict[str, _File]:
    return {name: _File(contents[name].encode(), _KINDS[name.rpartition(".")[2]]) for name in sorted(contents)}


def _filled(page: str, modules: Iterable[str]) -> str:
    """The page with its choice of languages, and with all modules that it starts with, so that they load at once."""
    languages = [(tag, texts_in(tag)) for tag in LANGUAGES]
    parts = {
        "languages": "".join(
            f'<option value="{tag}" lang="{tag}">{texts.say("language.name")}' for tag, texts in languages
        ),
        "noscript": "".join(f'<p lang="{tag}">{escape(texts.say("noscript"))}' for tag, texts in languages),
        "broken": "".join(f'<p lang="{tag}">{escape(texts.say("broken"))}</p>' for tag, texts in languages),
        "modules": "\n".join(f'<link rel="modulepreload" fetchpriority="low" href="{name}">' for name in modules),
    }
    for name, part in parts.items():
        page = page.replace(f"<!-- {name} -->", part)
    return page


def _page_texts(language: str) -> str:
    """The texts of a language, without those that only the server uses."""
    texts = {key: text for key, text in texts_in(language).texts.items() if not key.startswith(_SERVER_TEXTS)}
    return json.dumps(texts, ensure_ascii=False, separators=(",", ":"))


def _with_service_worker(page_files: dict[str, _File]) -> dict[str, _File]:
    """The service worker lists the files of the page, so that it changes whenever any file does."""
    worker = page_files.pop("service-worker.js")
    listed = json.dumps(
        {name: b64encode(file.digest).decode() for name, file in page_files.items()}, separators=(",", ":")
    )
    version = sha256(listed.encode() + worker.content).hexdigest()[:16]
    head = f'const FILES={listed}\nconst VERSION="{version}"\n'
    return {**page_files, "service-worker.js": _File(head.encode() + worker.content, worker.kind)}


@router.api_route("/{name:path}", methods=["GET", "HEAD"])
async def page(name: str, request: Request) -> Response:
    """A file of the page; for any invitation, the page itself."""
    if _INVITATION.fullmatch(name):
        return _page_files()["index.html"].answer(request, stored=False)  # the address is a secret
    if file := _page_files().get(name):
        return file.answer(request, stored=True)
    raise Problem("not_found", "the address: there is no such page")
