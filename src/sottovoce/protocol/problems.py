"""The catalogue of problems: one stable code for each, the same on the wire, in the client and on the command line.

A problem states the value and the rule (``detail``) and what to do (``fix``). Over HTTP it is an RFC 9457 document.
Problems without a status are never sent: they are the device's own refusals.
"""

from dataclasses import dataclass
from typing import Any

from sottovoce.errors import SottovoceError

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True)
class Kind:
    """One kind of problem."""

    code: str
    status: int | None
    title: str
    fix: str


def _catalogue(*kinds: Kind) -> dict[str, Kind]:
    return {kind.code: kind for kind in kinds}


CATALOGUE = _catalogue(
    # what was sent cannot be read
    Kind("bad_json", 400, "The body is not strict JSON", "send one JSON document in UTF-8, each key once"),
    Kind("too_deep", 400, "The JSON is nested too deeply", "send the document that the reference describes"),
    Kind("too_large", 413, "The body is too large", "send less at once"),
    Kind("unsupported_media_type", 415, "The body is not declared as JSON", "send Content-Type: application/json"),
    Kind("request_timeout", 408, "The request took too long to arrive", "send it again, all at once"),
    # what was sent is not valid
    Kind("bad_request", 422, "The request is not valid", "send what the API description asks for"),
    Kind("bad_number", 422, "A number cannot be used", "write a plain decimal of at most 15 digits, such as 0.25"),
    Kind("number_too_large", 422, "A number is too large", "whole numbers must lie strictly between -2^63 and 2^63"),
    Kind("bad_manifest", 422, "The campaign's description is not valid", "correct the named field"),
    Kind("bad_picture", 422, "The picture cannot be used",
         "save it as PNG or JPEG, or as plain SVG, and upload that"),
    Kind("bad_report", 422, "The report is not valid", "correct the named field"),
    Kind("float_in_report", 422, "A value is not a whole number of grid steps", "send values as integers: grid steps"),
    Kind("unknown_task", 422, "The campaign has no such task", "use the task ids of the manifest"),
    Kind("wrong_kind", 422, "The value is not of the kind that the task asks for",
         "send grid steps for a number, the number of a choice for a question, a level and its cuts for a comparison"),
    Kind("unknown_choice", 422, "The task has no such choice", "use one of the choices of the manifest"),
    Kind("bad_cuts", 422, "The cuts of a comparison are not valid",
         "send odd numbers of half grid steps in ascending order, one fewer than there are levels"),
    Kind("unknown_cuts", 422, "These cuts were never published",
         "fetch the campaign's cuts, and compare with one of the alternatives of the task"),
    Kind("repeated_task", 422, "A task appears twice", "name each task once"),
    Kind("too_many_readings", 422, "More readings than a participant may give", "leave some of them out"),
    # what was sent comes at the wrong time
    Kind("report_conflict", 409, "This report id was used for other content", "do not change a report once it is made"),
    Kind("task_already_reported", 409, "This task was reported before", "a task is answered only once; leave it out"),
    Kind("stale_manifest", 409, "The report was made for another manifest", "join again with a new link"),
    Kind("campaign_not_open", 409, "The campaign is not open",
         "its operator can open a draft; a closed campaign stays closed"),
    Kind("deadline_passed", 409, "The deadline of the campaign has passed", "nothing more can be sent to it"),
    Kind("quota_reached", 409, "The task has enough readings", "leave this task out"),
    Kind("frozen", 409, "An open or closed campaign cannot be changed", "make a new version"),
    Kind("wrong_state", 409, "The current state does not allow this", "check the current state, and do what it allows"),
    Kind("withdrawn", 410, "The participant has withdrawn", "no further reports are accepted from this participant"),
    Kind("erased", 410, "The readings have been erased", "use the results, which are kept"),
    # who may do what
    Kind("unauthorised", 401, "No valid token", "send Authorization: Bearer with a token that was not revoked"),
    Kind("forbidden", 403, "The token does not allow this", "use a token that has the right to do this"),
    Kind("stale_page", 403, "The page has expired", "reload the page and try again"),
    Kind("invitation_unknown", 404, "There is no such invitation", "check the link, or ask for a new one"),
    Kind("invitation_spent", 409, "The invitation has been used", "ask for a new one; each admits one participant"),
    Kind("invitation_revoked", 410, "The invitation has been revoked", "ask for a new one"),
    Kind("invitation_expired", 410, "The invitation has expired", "ask for a new one"),
    Kind("invitation_full", 409, "The link has admitted as many people as it can", "ask for another invitation"),
    Kind("code_unknown", 404, "There is no such code", "check the letters and digits, or ask for a new code"),
    # addresses, methods and the state of the server
    Kind("not_found", 404, "Not found", "check the address"),
    Kind("method_not_allowed", 405, "Method not allowed", "see the API description for the methods of this address"),
    Kind("rate_limited", 429, "Too many requests", "wait as long as Retry-After says, then try again"),
    Kind("internal", 500, "The server failed",
         "send the same request again later; if it keeps failing, tell the operator"),
    Kind("unavailable", 503, "The server cannot do this now", "send the same request again later"),
    Kind("storage_full", 507, "The server has no space to store this", "send the same request again later"),
    # the device's own refusals
    Kind("bad_link", None, "This is not an invitation link", "use the whole link, as you received it"),
    Kind("link_without_hash", None, "The link does not fix the campaign's terms",
         "ask for the whole link, with #sha256=…; or accept whatever the server offers with --trust-server"),
    Kind("insecure_address", None, "The connection is not encrypted",
         "use https, or take the risk with --insecure-http (in Python, insecure_http=True)"),
    Kind("manifest_mismatch", None, "The server offers something other than the link promises",
         "do not take part; tell whoever gave you the link"),
    Kind("manifest_changed", None, "The campaign changed after you consented",
         "nothing is sent to it; what you released under the old terms stays as it is"),
    Kind("weaker_than_limits", None, "The campaign protects less than you ask for",
         "do not take part, or change your own limits with sottovoce limits"),
    Kind("too_many_grids", None, "The campaign has more grids and distances than a device checks",
         "do not take part; ask its operator to give similar tasks the same grid and distance in a new campaign"),
    Kind("promise_in_doubt", None, "The promise cannot be true for this noise",
         "do not take part; tell whoever gave you the link"),
    Kind("budget_spent", None, "Your limit across all campaigns would be exceeded",
         "do not take part, or change your own limits with sottovoce limits"),
    Kind("no_consent", None, "You did not consent", "join again and agree, if you want to take part"),
    Kind("not_joined", None, "You have not joined this campaign", "join it with its invitation link first"),
    Kind("no_cuts", None, "There is nothing yet to compare readings with",
         "connect to the network and try again; once fetched, published values stay valid until the campaign closes"),
    Kind("bad_reading", None, "A reading cannot be used", "correct it, or leave the task out if there is none"),
    Kind("already_released", None, "A reading for this task has been released before",
         "leave it out; a second noisy copy would reveal more about the reading"),
    Kind("one_release_only", None, "This campaign takes all your readings at once",
         "nothing can be added: one secret draw decides the noise of all your readings, so they had to be released "
         "together"),
    Kind("unreachable", None, "The server cannot be reached", "try again later; nothing is lost"),
    Kind("bad_answer", None, "The server's response is not valid",
         "check the address; if it keeps happening, tell the operator"),
    Kind("file_trouble", None, "The participant's file cannot be written",
         "free some disk space, or close the program that is using the file, and try again"),
    Kind("damaged_file", None, "The participant's file is damaged",
         "restore the newest copy of it, and answer no task again that you answered after that copy was made; without "
         "a copy, move the file away and start again, knowing that what was released before is no longer counted"),
    Kind("unknown_file", None, "This is not a participant's file",
         "choose another file, or use a newer version of the program"),
)  # fmt: skip


class Problem(SottovoceError, ValueError):
    """A mistake or a refusal, with its code in the catalogue; ``detail`` states the value and the rule.

    ``fix`` replaces the catalogue's fix where another one fits better.

    >>> str(Problem("unknown_task", "task 'hall-99': the campaign has no such task"))
    "task 'hall-99': the campaign has no such task; use the task ids of the manifest"
    """

    def __init__(self, code: str, detail: str = "", *, fix: str = "", retry_after: int | None = None) -> None:
        self.kind = CATALOGUE[code]
        self.detail = detail or self.kind.title
        self.fix = fix or self.kind.fix
        self.own_fix = fix  # empty where the catalogue's fix is used
        self.retry_after = retry_after  # seconds, for the header of the same name
        super().__init__(f"{self.detail}; {self.fix}")

    @property
    def code(self) -> str:
        return self.kind.code

    @property
    def status(self) -> int:
        """The HTTP status, which only problems that travel over HTTP have."""
        if self.kind.status is None:
            raise ValueError(f"problem {self.code!r}: it is the device's own and has no status; do not send it")
        return self.kind.status

    @property
    def words(self) -> str:
        """What is wrong, and the problem's own fix if it has one; the catalogue's fixes are meant for programs."""
        return f"{self.detail}; {self.own_fix}" if self.own_fix else self.detail

    def to_json(self) -> dict[str, Any]:
        """The RFC 9457 document."""
        return {
            "type": f"urn:sottovoce:problem:{self.code}",
            "title": self.kind.title,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            "fix": self.fix,
        }
