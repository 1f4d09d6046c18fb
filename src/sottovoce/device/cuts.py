"""What a device fetches before a release: whether the campaign is open, and the cuts to compare with.

All cuts are fetched together, checked and stored.
"""

from collections.abc import Callable
from contextlib import suppress

from sottovoce.device.client import NOTHING_MORE, Client
from sottovoce.device.store import ParticipantFile
from sottovoce.errors import BadParameter
from sottovoce.privacy.comparing import check_cuts
from sottovoce.protocol import Manifest, Problem
from sottovoce.protocol.canonical import parse_json
from sottovoce.protocol.http import RetryPolicy, TryLater

Cuts = tuple[int, ...]
Alternatives = dict[str, list[Cuts]]  # by task
_MOST_BYTES = 1 << 26
_MOST_ALTERNATIVES = 100


def compared_tasks(manifest: Manifest) -> dict[str, int]:
    """The tasks that are answered by comparison, each with its number of levels."""
    return {
        task.id: cells
        for task in manifest.tasks
        if task.kind == "number" and (cells := manifest.part_of(task).cells) is not None
    }


def require_open(file: ParticipantFile, campaign: str, connect: Callable[[str], Client]) -> None:
    """Refuse to release anything to a campaign that has closed. Without a network, the report waits."""
    membership = file.membership(campaign)
    if membership is None or membership.withdrawn_at:
        return
    with suppress(TryLater), connect(membership.server) as client:
        if client.is_closed(campaign):
            raise Problem(
                "campaign_not_open", f"campaign {campaign!r}: it is closed, so nothing was released", fix=NOTHING_MORE
            )


def fetch_cuts(
    file: ParticipantFile, campaign: str, connect: Callable[[str], Client], retries: RetryPolicy | None = None
) -> None:
    """Update the stored cuts; without a network they stay as they are.

    A list that a device must not answer is refused, and the earlier one stays.
    """
    membership = file.membership(campaign)
    if membership is None or membership.withdrawn_at or not compared_tasks(membership.manifest):
        return
    retries = retries or RetryPolicy(0.0)
    with suppress(TryLater), connect(membership.server) as client:
        content = retries.run(lambda: client.cuts(campaign), retries.deadline())
        alternatives_of(membership.manifest, content)
        file.keep_cuts(campaign, content)


def alternatives_of(manifest: Manifest, content: bytes) -> Alternatives:
    """The alternatives of each task in a published list, every one of them checked."""
    document = parse_json(content, most_bytes=_MOST_BYTES)
    listed = document.get("tasks") if isinstance(document, dict) else None
    if not isinstance(listed, dict):
        raise Problem("bad_answer", "the published cuts: they must list alternatives by task")
    compared = compared_tasks(manifest)
    alternatives: Alternatives = {}
    for task, offered in listed.items():
        if task not in compared:
            raise _bad_cuts(f"published cuts of task {task[:40]!r}: the campaign does not compare its readings")
        if not isinstance(offered, list) or not 1 <= len(offered) <= _MOST_ALTERNATIVES:
            raise _bad_cuts(f"published cuts of task {task!r}: there must be 1 to {_MOST_ALTERNATIVES} alternatives")
        try:
            alternatives[task] = [
                check_cuts(cuts if isinstance(cuts, list) else [], compared[task]) for cuts in offered
            ]
        except BadParameter as mistake:
            rule = str(mistake).rpartition("; ")[0]  # without the advice, which is not for a participant
            raise _bad_cuts(f"published cuts of task {task!r}: {rule}") from None
    return alternatives


def _bad_cuts(detail: str) -> Problem:
    return Problem("bad_cuts", detail, fix="nothing was released; tell whoever gave you the link")
