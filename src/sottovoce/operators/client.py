"""The requests that `sottovoce campaign` and simulated campaigns send to a running server.

Nothing of the server itself is imported, so an operator's own machine needs no server installed.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sottovoce.errors import BadParameter
from sottovoce.protocol.http import HttpClient
from sottovoce.protocol.links import server_address
from sottovoce.protocol.problems import Problem
from sottovoce.protocol.table_formats import TITLES

_MOST_INVITATIONS = 1000  # in one request
_MOST_CODES = 100
_ANY = "application/octet-stream"  # the server recognises a picture by its content


class OperatorClient(HttpClient):
    """One server, used by one operator. A refusal by the server is raised as its problem."""

    timeout = 30.0
    # It is the operator's own server, and an export is as large as the campaign.
    longest_answer, largest_answer = float("inf"), sys.maxsize

    def __init__(self, server: str, token: str | None, *, ca: Path | None = None, insecure_http: bool = False) -> None:
        if not token:
            raise BadParameter("operator's token: it is missing; set SOTTOVOCE_OPERATOR_TOKEN, or give it with --token")
        if not token.isascii():
            raise BadParameter("operator's token: it must be plain letters, digits and punctuation; copy it again")
        super().__init__(server_address(server), ca=ca, insecure_http=insecure_http)
        self._token = token

    def create(self, draft: Mapping[str, Any], previous: str | None = None) -> dict[str, Any]:
        """A new draft; or the next version of a campaign, with the given changes."""
        return self._ask("POST", f"/api/campaigns/{previous}/versions" if previous else "/api/campaigns", draft)

    def change(self, campaign: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Change a draft."""
        return self._ask("PATCH", f"/api/campaigns/{campaign}", changes)

    def duplicate(self, campaign: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """A new draft like a campaign, with the given changes; no invitations and no readings are copied."""
        return self._ask("POST", f"/api/campaigns/{campaign}/duplicate", changes)

    def campaigns(self) -> list[dict[str, Any]]:
        """The operator's campaigns, newest first."""
        return self._listed("/api/campaigns", "campaigns")

    def campaign(self, campaign: str) -> dict[str, Any]:
        """Everything that the server reports about a campaign."""
        return self._ask("GET", f"/api/campaigns/{campaign}")

    def open(self, campaign: str) -> dict[str, Any]:
        """Open a draft; from then on its terms cannot be changed."""
        return self._ask("POST", f"/api/campaigns/{campaign}/open")

    def close(self, campaign: str) -> dict[str, Any]:
        """Close a campaign: it accepts no more reports."""
        return self._ask("POST", f"/api/campaigns/{campaign}/close")

    def delete(self, campaign: str) -> None:
        """Delete a draft."""
        self._send("DELETE", f"/api/campaigns/{campaign}")

    def pin_method(self, campaign: str, method: str | None) -> dict[str, Any]:
        """Choose the method of the results; None for the server's own choice."""
        return self._ask("PATCH", f"/api/campaigns/{campaign}", {"method": method})

    def set_target(self, campaign: str, target: str | None) -> dict[str, Any]:
        """Choose what counts as the truth of a number; None for the default, "value"."""
        return self._ask("PATCH", f"/api/campaigns/{campaign}", {"target": target})

    def set_known(self, campaign: str, known: Mapping[str, str]) -> dict[str, Any]:
        """Replace the truths that the operator knows, by task."""
        return self._ask("PATCH", f"/api/campaigns/{campaign}", {"known": known})

    def set_plan(self, campaign: str, picture: bytes) -> dict[str, Any]:
        """Give a draft a picture of the place."""
        return self._read(self.send("PUT", f"/api/campaigns/{campaign}/plan", picture, self._token, kind=_ANY))

    def clear_plan(self, campaign: str) -> dict[str, Any]:
        """Remove the picture from a draft, and all tasks from the plan."""
        return self._ask("DELETE", f"/api/campaigns/{campaign}/plan")

    def set_logo(self, campaign: str, picture: bytes) -> dict[str, Any]:
        """Give a draft a logo."""
        return self._read(self.send("PUT", f"/api/campaigns/{campaign}/logo", picture, self._token, kind=_ANY))

    def clear_logo(self, campaign: str) -> dict[str, Any]:
        """Remove the logo from a draft."""
        return self._ask("DELETE", f"/api/campaigns/{campaign}/logo")

    def set_places(self, campaign: str, places: Mapping[str, list[list[int]] | None]) -> dict[str, Any]:
        """Put tasks of a draft on its plan; None removes a task from it."""
        listed = [{"task": task, "place": place} for task, place in places.items()]
        return self._ask("PUT", f"/api/campaigns/{campaign}/places", {"places": listed})

    def texts(self, campaign: str) -> dict[str, Any]:
        """The texts of a campaign, their translations, and how many are missing in each language."""
        return self._ask("GET", f"/api/campaigns/{campaign}/texts")

    def translate(
        self, campaign: str, translations: Mapping[str, Mapping[str, str]], language: str | None = None
    ) -> dict[str, Any]:
        """Add translations to a draft, or say which language its texts are in."""
        listed = [{"text": text, "translations": others} for text, others in translations.items()]
        return self._ask("PATCH", f"/api/campaigns/{campaign}/texts", {"texts": listed, "language": language})

    def invite(self, campaign: str, count: int, **kind: Any) -> list[dict[str, Any]]:
        """New invitations: number (``id``), ``token`` and link (``url``). The server cannot show them again.

        ``kind`` is "link", "code" or, with ``people``, "open"; ``days`` says how long codes and open links are valid.
        """
        made: list[dict[str, Any]] = []
        most = _MOST_CODES if kind.get("kind") == "code" else _MOST_INVITATIONS
        while len(made) < count:
            some = {"count": min(most, count - len(made)), **kind}
            made += self._ask("POST", f"/api/campaigns/{campaign}/invitations", some)["invitations"]
        return made

    def set_webhook(self, campaign: str, url: str) -> dict[str, Any]:
        """Announce new results to this address; the response holds the signing ``secret``, shown only once."""
        return self._ask("PUT", f"/api/campaigns/{campaign}/webhook", {"url": url})

    def webhook(self, campaign: str) -> dict[str, Any]:
        """The webhook of a campaign, and the outcome of the last attempts."""
        return self._ask("GET", f"/api/campaigns/{campaign}/webhook")

    def remove_webhook(self, campaign: str) -> None:
        """Remove the webhook: nothing more is announced."""
        self.send("DELETE", f"/api/campaigns/{campaign}/webhook", token=self._token)

    def invitations(self, campaign: str) -> list[dict[str, Any]]:
        """The invitations of a campaign, and whether they are spent, but not who used them."""
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

    def versions(self, campaign: str) -> list[dict[str, Any]]:
        """The versions of the results that are kept, newest first: version, method, reports, as_of."""
        return self._listed(f"/api/campaigns/{campaign}/results/versions", "versions")

    def export(self, campaign: str, what: str, out: Path) -> int:
        """Write ``claims`` or ``results`` into a file in the format of its suffix; returns the number of bytes."""
        from sottovoce.claims.writing import check_place, whole_file

        check_place(out, tuple(f".{ending}" for ending in TITLES))
        with whole_file(out) as temporary:
            return temporary.write_bytes(self._send("GET", f"/api/campaigns/{campaign}/{what}{out.suffix.lower()}"))

    def operators(self) -> list[dict[str, Any]]:
        return self._listed("/api/operators", "operators")

    def add_operator(self, name: str, administrator: bool) -> dict[str, Any]:
        """Add an operator; the response holds their token, shown only once."""
        return self._ask("POST", "/api/operators", {"name": name, "administrator": administrator})

    def rename_operator(self, number: int, name: str) -> dict[str, Any]:
        return self._ask("PATCH", f"/api/operators/{number}", {"name": name})

    def revoke_operator(self, number: int) -> None:
        self._send("DELETE", f"/api/operators/{number}")

    def renew_operator(self, number: int) -> dict[str, Any]:
        """A new token in place of an operator's old one."""
        return self._ask("POST", f"/api/operators/{number}/rotate")

    def _listed(self, path: str, name: str) -> list[dict[str, Any]]:
        entries: list[dict[str, Any]] = self._ask("GET", path)[name]
        return entries

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return self._read(self._send(method, path, body))

    def _read(self, content: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(content)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise Problem("bad_answer", f"{self.server}: it does not respond like a campaign server")
        return answer

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> bytes:
        return self.send(method, path, None if body is None else json.dumps(body).encode(), self._token)
