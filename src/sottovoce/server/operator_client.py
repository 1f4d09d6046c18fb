"""The operator's side of the line: what `sottovoce campaign` and simulated campaigns ask of a running server.

Light on purpose: nothing of the server itself is imported, so an operator's own machine needs no server installed.
"""

import io
import json
import os
import ssl
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from sottovoce.errors import BadParameter, MissingExtra, UnreadableFile
from sottovoce.protocol.links import is_encrypted_or_local, server_address
from sottovoce.protocol.problems import CATALOGUE, Problem
from sottovoce.server.task_tables import read_tasks

_TIMEOUT = httpx.Timeout(30.0)
_MOST_INVITATIONS = 1000  # in one request


class OperatorClient:
    """One server, one operator. What the server refuses is raised as its problem."""

    def __init__(self, server: str, token: str | None, *, ca: Path | None = None, insecure_http: bool = False) -> None:
        self.server = server_address(server)
        if not token:
            raise BadParameter("operator's token: there is none; set SOTTOVOCE_OPERATOR_TOKEN, or give it with --token")
        if not (insecure_http or is_encrypted_or_local(self.server)):
            raise Problem("insecure_address", f"address {self.server}: whoever is on the way could read the token")
        try:
            trusted = ssl.create_default_context(cafile=ca) if ca else self.server.startswith("https:")
            headers = {"Authorization": f"Bearer {token}"}
            self._http = httpx.Client(base_url=self.server, timeout=_TIMEOUT, verify=trusted, headers=headers)
        except (OSError, ssl.SSLError) as mistake:
            raise UnreadableFile(f"{ca}: {mistake}; a certificate authority comes as a PEM file") from None
        except UnicodeEncodeError:
            raise BadParameter("operator's token: it must be plain letters, digits and signs; copy it again") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, mistake: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def create(self, draft: Mapping[str, Any], previous: str | None = None) -> dict[str, Any]:
        """A new draft; or the next version of a campaign, with what is given changed."""
        return self._ask("POST", f"/api/campaigns/{previous}/versions" if previous else "/api/campaigns", draft)

    def campaigns(self) -> list[dict[str, Any]]:
        """One's own campaigns, the newest first."""
        return self._listed("/api/campaigns", "campaigns")

    def campaign(self, campaign: str) -> dict[str, Any]:
        """All that the server says of a campaign."""
        return self._ask("GET", f"/api/campaigns/{campaign}")

    def open(self, campaign: str) -> dict[str, Any]:
        """Open a draft; from then on it cannot be changed."""
        return self._ask("POST", f"/api/campaigns/{campaign}/open")

    def close(self, campaign: str) -> dict[str, Any]:
        """Take no more reports."""
        return self._ask("POST", f"/api/campaigns/{campaign}/close")

    def delete(self, campaign: str) -> None:
        """Delete a draft."""
        self._send("DELETE", f"/api/campaigns/{campaign}")

    def pin_method(self, campaign: str, method: str | None) -> dict[str, Any]:
        """Choose the method of the results; None for the server's own choice."""
        return self._ask("PATCH", f"/api/campaigns/{campaign}", {"method": method})

    def invite(self, campaign: str, count: int) -> list[dict[str, Any]]:
        """New invitations: number (``id``), ``token`` and link (``url``). The server cannot show them again."""
        made: list[dict[str, Any]] = []
        while len(made) < count:
            some = {"count": min(_MOST_INVITATIONS, count - len(made))}
            made += self._ask("POST", f"/api/campaigns/{campaign}/invitations", some)["invitations"]
        return made

    def invitations(self, campaign: str) -> list[dict[str, Any]]:
        """Which invitations there are, and whether they are spent; not whom they became."""
        return self._listed(f"/api/campaigns/{campaign}/invitations", "invitations")

    def revoke_invitation(self, campaign: str, number: int) -> None:
        self._send("DELETE", f"/api/campaigns/{campaign}/invitations/{number}")

    def renew_invitation(self, campaign: str, number: int) -> dict[str, Any]:
        """A new invitation in place of an unspent one."""
        return self._ask("POST", f"/api/campaigns/{campaign}/invitations/{number}/rotate")

    def results(self, campaign: str, version: int | None = None) -> dict[str, Any]:
        """The newest results, or an earlier version."""
        place = "" if version is None else f"/versions/{version}"
        return self._ask("GET", f"/api/campaigns/{campaign}/results{place}")

    def export(self, campaign: str, what: str, out: Path) -> int:
        """Write ``claims`` or ``results`` into a file in the format of its suffix; the number of bytes."""
        from sottovoce.claims.writing import check_place, whole_file

        check_place(out, (".csv", ".parquet", ".jsonl"))
        with whole_file(out) as temporary:
            return temporary.write_bytes(self._send("GET", f"/api/campaigns/{campaign}/{what}{out.suffix.lower()}"))

    def operators(self) -> list[dict[str, Any]]:
        return self._listed("/api/operators", "operators")

    def add_operator(self, name: str, administrator: bool) -> dict[str, Any]:
        """Add an operator; the answer holds his token, this once."""
        return self._ask("POST", "/api/operators", {"name": name, "administrator": administrator})

    def revoke_operator(self, number: int) -> None:
        self._send("DELETE", f"/api/operators/{number}")

    def renew_operator(self, number: int) -> dict[str, Any]:
        """A new token in place of an operator's old one."""
        return self._ask("POST", f"/api/operators/{number}/rotate")

    def _listed(self, path: str, name: str) -> list[dict[str, Any]]:
        entries: list[dict[str, Any]] = self._ask("GET", path)[name]
        return entries

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        content = self._send(method, path, body)
        try:
            answer = json.loads(content)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise Problem("bad_answer", f"{self.server}: it does not answer like a campaign server")
        return answer

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> bytes:
        try:
            answer = self._http.request(method, path, json=body)
        except httpx.InvalidURL as mistake:
            raise Problem("not_found", f"{path[:60]!r}: {mistake}") from None
        except httpx.HTTPError as mistake:
            raise Problem("unreachable", f"{self.server}: {mistake or type(mistake).__name__}") from None
        if answer.is_success:
            return answer.content
        raise self._refusal(answer)

    def _refusal(self, answer: httpx.Response) -> Problem:
        try:
            told = answer.json()
            code, detail = str(told["code"]), str(told["detail"])
        except (ValueError, KeyError, TypeError):
            code, detail = "", ""
        if code not in CATALOGUE:
            return Problem("bad_answer", f"{self.server}: it answers with status {answer.status_code}")
        return Problem(code, detail)


def read_draft(path: Path) -> dict[str, Any]:
    """A campaign from a file: tasks as CSV (id, title, unit, low, high, grid, quota), or all of it as JSON.

    Numbers stay the text that they are, so that 0.1 is a tenth.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() == ".json":
            draft = json.loads(text, parse_float=str)
            if not isinstance(draft, dict):
                raise UnreadableFile(f"{path}: a campaign as JSON is one object; see the API's POST /api/campaigns")
            return draft
        return {"tasks": read_tasks(str(path), text)}
    except (ValueError, RecursionError) as mistake:
        raise UnreadableFile(f"{path}: {mistake}; tasks come as CSV, a whole campaign as JSON, in UTF-8") from None


def check_free(path: Path) -> None:
    """Links are shown once: a file with earlier ones is not overwritten, and there must be a place for the new ones."""
    from sottovoce.claims.writing import check_folder

    if path.exists():
        raise UnreadableFile(
            f"{path}: it is there already, perhaps with links that nobody can show again; name another"
        )
    check_folder(path)


def write_links(invitations: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Links as CSV (number, link), whole or not at all, for the owner's eyes only: a link lets its holder in."""
    from sottovoce.claims.writing import whole_file

    lines = ["number,link", *(f"{invitation['id']},{invitation['url']}" for invitation in invitations)]
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
