"""Sending the queue: the same bytes in every attempt, at increasing intervals, for a limited time."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from sottovoce.device.client import Client
from sottovoce.device.joining import enrol
from sottovoce.device.store import Membership, ParticipantFile, Release
from sottovoce.protocol import Problem
from sottovoce.protocol.http import RetryPolicy, TryLater


@dataclass(frozen=True)
class SendOutcome:
    """The outcome of one queued report: delivered, refused permanently, or still queued."""

    report_id: str
    campaign: str
    state: str
    problem: Problem | None = None


def flush(
    file: ParticipantFile,
    connect: Callable[[str], Client],
    retries: RetryPolicy | None = None,
    campaign: str | None = None,
) -> list[SendOutcome]:
    """Send everything queued, including withdrawals, campaign by campaign; what cannot be sent now stays queued."""
    retries = retries or RetryPolicy()
    deadline = retries.deadline()
    outcomes = []
    for membership in file.memberships():
        if campaign not in (None, membership.campaign):
            continue
        if membership.withdrawn_at:
            with suppress(Problem):  # the participant saw any refusal when withdrawing
                _report_withdrawal(file, membership, connect, retries, deadline)
        elif queued := file.releases(membership.campaign, "queued"):
            outcomes += _deliver(file, membership, queued, connect, retries, deadline)
    return outcomes


def _deliver(
    file: ParticipantFile,
    membership: Membership,
    queued: list[Release],
    connect: Callable[[str], Client],
    retries: RetryPolicy,
    deadline: float,
) -> list[SendOutcome]:
    outcomes: list[SendOutcome] = []
    try:
        with connect(membership.server) as client:
            token = retries.run(lambda: enrol(file, membership, client), deadline).participant_token
            assert token is not None
            for release in queued:
                send = partial(client.report, membership.campaign, token, release.body)
                refusal = None
                try:
                    retries.run(send, deadline)
                except Problem as problem:
                    if isinstance(problem, TryLater) or problem.kind.status is None:
                        raise
                    refusal = problem
                state = "refused" if refusal else "delivered"
                file.settle(release.report_id, state, refusal)
                outcomes.append(SendOutcome(release.report_id, release.campaign, state, refusal))
    except Problem as hindrance:
        # No server, no enrolment, or a response that breaks the protocol: the reports are valid, so they wait.
        outcomes += [
            SendOutcome(release.report_id, release.campaign, "queued", hindrance) for release in queued[len(outcomes) :]
        ]
    return outcomes


def withdraw(
    file: ParticipantFile, campaign: str, connect: Callable[[str], Client], retries: RetryPolicy | None = None
) -> bool:
    """Stop taking part, at once; returns whether the server has confirmed. If not, the next flush tries again."""
    membership = file.membership(campaign)
    if membership is None:
        raise Problem("not_joined", f"campaign {campaign!r}: you have not joined it")
    file.withdraw(campaign)
    retries = retries or RetryPolicy()
    return _report_withdrawal(file, membership, connect, retries, retries.deadline())


def _report_withdrawal(
    file: ParticipantFile,
    membership: Membership,
    connect: Callable[[str], Client],
    retries: RetryPolicy,
    deadline: float,
) -> bool:
    """Send a withdrawal that the server has not confirmed yet."""
    token = membership.participant_token
    if token is not None and not membership.withdrawal_confirmed:
        try:
            with connect(membership.server) as client:
                retries.run(partial(client.withdraw, membership.campaign, token), deadline)
        except TryLater:
            return False
        except Problem as refusal:
            if refusal.code != "withdrawn":
                raise
    file.confirm_withdrawal(membership.campaign)
    return True
