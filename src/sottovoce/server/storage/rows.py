"""Rows as they come out of the database, one class per table or query, each with the columns in their order.

`tables` explains what the columns are for.
"""

from typing import Any, Literal, NamedTuple, TypeVar

from sqlalchemy import Connection, Row
from sqlalchemy.sql import Executable

from sottovoce.discovery.target import Target

R = TypeVar("R", bound=tuple[Any, ...])


def all_rows(connection: Connection, kind: type[R], query: Executable) -> list[R]:
    """All rows that a query finds."""
    return [_typed(kind, row) for row in connection.execute(query)]


def one_row(connection: Connection, kind: type[R], query: Executable) -> R:
    """The one row that a query must find."""
    return _typed(kind, connection.execute(query).one())


def row_or_none(connection: Connection, kind: type[R], query: Executable) -> R | None:
    """The one row that a query may find."""
    row = connection.execute(query).one_or_none()
    return None if row is None else _typed(kind, row)


def _typed(kind: type[R], row: Row[Any]) -> R:
    return kind(*row)


class OperatorRow(NamedTuple):
    key: int
    name: str
    token_hash: str
    administrator: bool
    created_at: int
    revoked_at: int | None


class CampaignRow(NamedTuple):
    key: int
    id: str
    operator_key: int
    previous_key: int | None
    state: str
    manifest: bytes
    manifest_sha256: str | None
    guarantee: str | None
    method: str | None
    created_at: int
    opened_at: int | None
    closed_at: int | None
    deadline: int | None
    erased_at: int | None
    erasing_at: int | None
    reports: int
    changes: int
    changed_at: int
    computed: int
    computed_at: int | None
    cohort: int
    step: int
    published: int
    shown_reports: int
    shown_withdrawn: int
    trouble: str | None
    trouble_at: int | None
    public_results: bool
    retention_days: int | None
    target: Target | None
    known: str | None

    @property
    def fixed_sha256(self) -> str:
        """SHA-256 of the manifest, once the campaign has opened."""
        assert self.manifest_sha256 is not None, "a draft can still change"
        return self.manifest_sha256


class TaskRow(NamedTuple):
    campaign_key: int
    place: int
    id: str
    quota: int | None
    taken: int


class PictureRow(NamedTuple):
    campaign_key: int
    sha256: str
    type: str
    content: bytes


InvitationKind = Literal["link", "code", "open"]


class InvitationRow(NamedTuple):
    key: int
    campaign_key: int
    token_hash: str
    created_at: int
    revoked_at: int | None
    spent_by: str | None
    shown_spent: bool
    kind: InvitationKind
    expires_at: int | None
    most: int | None
    joined: int
    shown_joined: int


class ParticipantRow(NamedTuple):
    key: int
    campaign_key: int
    token_hash: str
    label: str
    withdrawn_at: int | None


class ResultsRow(NamedTuple):
    campaign_key: int
    version: int
    method: str
    reports: int
    as_of: int
    content: bytes


class VersionRow(NamedTuple):
    """A version of the results without its content."""

    version: int
    method: str
    reports: int
    as_of: int


class WebhookRow(NamedTuple):
    campaign_key: int
    url: str
    secret: bytes
    delivered: int
    attempts: int
    next_at: int
    failing_since: int | None
    failure: str | None
    stopped_at: int | None


class DueEvent(NamedTuple):
    """A version of the results that a webhook has not received."""

    campaign_key: int
    id: str  # of the campaign
    url: str
    secret: bytes
    attempts: int
    failing_since: int | None
    version: int
    reports: int
    as_of: int


class OpenCampaign(NamedTuple):
    """What reports are judged by."""

    key: int
    id: str
    state: str
    deadline: int | None
    manifest: bytes
    cohort: int


class OutdatedCampaign(NamedTuple):
    """A campaign with a step to publish, or with changes that are ``waiting`` to be considered for one."""

    key: int
    state: str
    changes: int
    computed: int
    changed_at: int
    waiting: bool


class ErasableCampaign(NamedTuple):
    """A campaign that closed long enough ago, and whether its last results are ``complete``."""

    key: int
    step: int
    erasing_at: int | None
    complete: bool
