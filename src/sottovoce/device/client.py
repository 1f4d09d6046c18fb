"""A device's requests to a campaign server, and the responses that it accepts."""

import re
from collections.abc import Mapping
from typing import Any

from sottovoce.protocol import Problem
from sottovoce.protocol.canonical import canonical_bytes, parse_json
from sottovoce.protocol.http import HttpClient, TryLater

_TOKEN = re.compile(r"[\x21-\x7e]{16,256}")
NOTHING_MORE = "nothing more can be sent to it"  # what to do about a closed campaign
_UNREADABLE = ("bad_json", "too_deep", "float_in_report", "number_too_large")


class Client(HttpClient):
    """A client for the server of one or more campaigns."""

    def invitation_of(self, code: str) -> str:
        """The token of the invitation that a short code stands for."""
        return _text(
            self._ask("POST", "/api/codes", {"code": code}), "invitation", re.compile(r"[A-Za-z0-9_-]{16,128}")
        )

    def look_up(self, invitation: str) -> str:
        """The campaign that an invitation is for; this does not spend it."""
        answer = self._ask("POST", "/api/invitations/look-up", {"invitation": invitation})
        campaign = _text(answer, "campaign_id", re.compile(r"[A-Za-z0-9_-]{1,64}"))
        if answer.get("state") == "closed":
            raise Problem("campaign_not_open", f"campaign {campaign!r}: it is closed", fix=NOTHING_MORE)
        return campaign

    def is_closed(self, campaign: str) -> bool:
        """Whether a campaign accepts nothing more, asked anonymously. Without a valid answer it counts as open."""
        try:
            answer = parse_json(self.send("GET", f"/api/campaigns/{campaign}/state"))
        except TryLater:
            raise
        except Problem:
            return False
        return isinstance(answer, dict) and answer.get("state") == "closed"

    def manifest(self, campaign: str) -> bytes:
        """The manifest's bytes, as the server sends them."""
        return self.send("GET", f"/api/campaigns/{campaign}/manifest")

    def full_tasks(self, campaign: str) -> frozenset[str]:
        """The tasks that have enough readings, the same for everybody; the request is anonymous."""
        try:
            answer = parse_json(self.send("GET", f"/api/campaigns/{campaign}/state"))
        except TryLater:
            raise
        except Problem:
            return frozenset()  # an older server, or an invalid answer: the server will judge the report itself
        listed = answer.get("full") if isinstance(answer, dict) else None
        return frozenset(task for task in listed if isinstance(task, str)) if isinstance(listed, list) else frozenset()

    def cuts(self, campaign: str) -> bytes:
        """The published cuts, the same for everybody; the request is anonymous."""
        return self.send("GET", f"/api/campaigns/{campaign}/cuts")

    def enrol(self, invitation: str, enrolment_key: str) -> tuple[str, str]:
        """Spend an invitation; the same key again gives the same campaign and participant token."""
        answer = self._ask("POST", "/api/enrolments", {"invitation": invitation, "enrolment_key": enrolment_key})
        return _text(answer, "campaign_id"), _text(answer, "participant_token", _TOKEN)

    def report(self, campaign: str, token: str, body: bytes) -> None:
        """Send a report; returns once the server has stored it."""
        self.send("POST", f"/api/campaigns/{campaign}/reports", body, token)

    def withdraw(self, campaign: str, token: str) -> None:
        """Ask the server to erase what it has stored about the participant."""
        self.send("DELETE", f"/api/campaigns/{campaign}/participation", token=token)

    def _ask(self, method: str, path: str, content: Mapping[str, str]) -> Any:
        try:
            return parse_json(self.send(method, path, canonical_bytes(content)))
        except TryLater:
            raise
        except Problem as mistake:
            if mistake.code in _UNREADABLE:
                raise Problem("bad_answer", f"{self.server}: its response does not follow the protocol") from None
            raise


def _text(answer: Any, field: str, pattern: re.Pattern[str] | None = None) -> str:
    text = answer.get(field) if isinstance(answer, dict) else None
    if not isinstance(text, str) or (pattern and not pattern.fullmatch(text)):
        raise Problem("bad_answer", f"the server's response: its field {field!r} is missing or not valid")
    return text
