"""Sending what is queued: the same bytes at every attempt, with growing pauses, for a bounded time."""

import random
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from sottovoce.device.client import Client, TryLater
from sottovoce.device.joining import enrol
from sottovoce.device.store import Membership, ParticipantFile, Release
from sottovoce.protocol import Problem

Result = TypeVar("Result")


@dataclass(frozen=True)
class Patience:
    """How long to keep trying: pauses double from the first to the longest, shortened by chance so that many devices
    do not come back at the same moment. Time is counted by a clock that cannot be set."""

    seconds: float = 30.0
    first: float = 0.2
    longest: float = 10.0
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random

    def end(self) -> float:
        """When the time is over that starts now."""
        return self.clock() + self.seconds

    def insist(self, attempt: Callable[[], Result], end: float) -> Result:
        """Try until it succeeds, is refused for good, or the time is over."""
        pause = self.first
        while True:
            try:
                return attempt()
            except TryLater as later:
                wait = max(pause * (0.5 + self.chance() / 2), later.retry_after or 0)
                if self.clock() + wait > end:
                    raise
            self.sleep(wait)
            pause = min(2 * pause, self.longest)


@dataclass(frozen=True)
class Sent:
    """What became of one queued report: delivered, refused for good, or still queued."""

    report_id: str
    campaign: str
    state: str
    problem: Problem | None = None


def flush(
    file: ParticipantFile,
    connect: Callable[[str], Client],
    patience: Patience | None = None,
    campaign: str | None = None,
) -> list[Sent]:
    """Send all that is queued, withdrawals too, campaign by campaign; what cannot be sent now stays queued."""
    patience = patience or Patience()
    end = patience.end()
    outcomes = []
    for membership in file.memberships():
        if campaign not in (None, membership.campaign):
            continue
        if membership.withdrawn_at:
            with suppress(Problem):  # he was told of a refusal when he withdrew
                _tell_withdrawal(file, membership, connect, patience, end)
        elif queued := file.releases(membership.campaign, "queued"):
            outcomes += _deliver(file, membership, queued, connect, patience, end)
    return outcomes


def _deliver(
    file: ParticipantFile,
    membership: Membership,
    queued: list[Release],
    connect: Callable[[str], Client],
    patience: Patience,
    end: float,
) -> list[Sent]:
    outcomes: list[Sent] = []
    try:
        with connect(membership.server) as client:
            token = patience.insist(lambda: enrol(file, membership, client), end).participant_token
            assert token is not None
            for release in queued:
                send = partial(client.report, membership.campaign, token, release.body)
                refusal = None
                try:
                    patience.insist(send, end)
                except Problem as problem:
                    if isinstance(problem, TryLater) or problem.kind.status is None:
                        raise
                    refusal = problem
                state = "refused" if refusal else "delivered"
                file.settle(release.report_id, state, refusal)
                outcomes.append(Sent(release.report_id, release.campaign, state, refusal))
    except Problem as hindrance:
        # No server, no enrolment, or an answer that is not the protocol's: the reports are all right, so they wait.
        outcomes += [
            Sent(release.report_id, release.campaign, "queued", hindrance) for release in queued[len(outcomes) :]
        ]
    return outcomes


def withdraw(
    file: ParticipantFile, campaign: str, connect: Callable[[str], Client], patience: Patience | None = None
) -> bool:
    """Stop taking part, at once; returns whether the server has confirmed. If not, it is told at the next flush."""
    membership = file.membership(campaign)
    if membership is None:
        raise Problem("not_joined", f"campaign {campaign!r}: you have not joined it")
    file.withdraw(campaign)
    patience = patience or Patience()
    return _tell_withdrawal(file, membership, connect, patience, patience.end())


def _tell_withdrawal(
    file: ParticipantFile, membership: Membership, connect: Callable[[str], Client], patience: Patience, end: float
) -> bool:
    """Tell the server of a withdrawal that it has not confirmed yet."""
    token = membership.participant_token
    if token is not None and not membership.withdrawal_told:
        try:
            with connect(membership.server) as client:
                patience.insist(partial(client.withdraw, membership.campaign, token), end)
        except TryLater:
            return False
        except Problem as refusal:
            if refusal.code != "withdrawn":
                raise
    file.withdrawal_told(membership.campaign)
    return True
