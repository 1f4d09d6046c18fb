"""Which tasks still need readings: devices check this before anything counts against a participant's limits."""

from collections.abc import Callable
from contextlib import suppress

from sottovoce.device.client import Client
from sottovoce.device.store import ParticipantFile
from sottovoce.protocol import Manifest, Problem
from sottovoce.protocol.http import RetryPolicy, TryLater


def fetch_full(
    file: ParticipantFile, campaign: str, connect: Callable[[str], Client], retries: RetryPolicy | None = None
) -> frozenset[str]:
    """The tasks that need no more readings; without a network, none."""
    membership = file.membership(campaign)
    if membership is None or membership.withdrawn_at:
        return frozenset()
    retries = retries or RetryPolicy(0.0)
    with suppress(TryLater), connect(membership.server) as client:
        return retries.run(lambda: client.full_tasks(campaign), retries.deadline())
    return frozenset()


def refuse_if_full(manifest: Manifest, client: Client) -> None:
    """Refuse a campaign if all of its tasks have enough readings."""
    with suppress(TryLater):
        if client.full_tasks(manifest.campaign) >= manifest.task_of.keys():
            raise Problem(
                "quota_reached",
                f"campaign {manifest.campaign!r}: all of its tasks have enough readings",
                fix="it needs nothing from you",
            )
