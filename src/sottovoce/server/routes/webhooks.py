"""Webhooks, which inform another system of the operator about new results."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from sottovoce.protocol.problems import Problem
from sottovoce.server.bodies import RequestBody, body_of, described
from sottovoce.server.clock import moment
from sottovoce.server.problems import problems
from sottovoce.server.rights import Operator
from sottovoce.server.routes.campaigns import UNREADABLE, CampaignId
from sottovoce.server.state import Server
from sottovoce.server.storage.campaigns import campaign_of
from sottovoce.server.storage.rows import WebhookRow
from sottovoce.server.storage.webhooks import remove_webhook, set_webhook, webhook_of
from sottovoce.server.webhooks import MOST_CHARACTERS, check_webhook, signing_key

router = APIRouter(prefix="/api/campaigns/{campaign}/webhook", tags=["results"])


class NewWebhook(RequestBody):
    """Where events are sent: an https address."""

    url: Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)]


class Webhook(BaseModel):
    """A webhook and its state. Attempts end after three days of failure, or when the receiver responds with 410."""

    url: str
    state: Literal["working", "failing", "stopped"]
    delivered: Annotated[
        int, Field(description="the last version that was delivered; at first, the newest when the webhook was set")
    ]
    failure: str | None
    failing_since: str | None


class WebhookWithSecret(Webhook):
    secret: Annotated[str, Field(description="the key that signs events (HMAC-SHA256); shown only once")]


def webhook_state(row: WebhookRow) -> Literal["working", "failing", "stopped"]:
    """A webhook as people and programs see it."""
    return "stopped" if row.stopped_at is not None else "failing" if row.failure else "working"


def _described(row: WebhookRow) -> dict[str, object]:
    return {
        "url": row.url,
        "state": webhook_state(row),
        "delivered": row.delivered,
        "failure": row.failure,
        "failing_since": None if row.failing_since is None else moment(row.failing_since),
    }


@router.put("", responses=problems("unauthorised", "not_found", *UNREADABLE), openapi_extra=described(NewWebhook))
async def put(
    operator: Operator,
    campaign: CampaignId,
    body: Annotated[NewWebhook, Depends(body_of(NewWebhook))],
    server: Server,
) -> WebhookWithSecret:
    """Set the webhook, with a new secret. From now on, every new version of the results is announced to its address."""
    check_webhook(body.url, server.settings)

    def change(connection: Connection) -> WebhookRow:
        return set_webhook(connection, campaign_of(connection, operator.key, campaign).key, body.url)

    made = await server.write(change)
    return WebhookWithSecret.model_validate({**_described(made), "secret": signing_key(made.secret)})


@router.get("", responses=problems("unauthorised", "not_found", "bad_request"))
async def get(operator: Operator, campaign: CampaignId, server: Server) -> Webhook:
    """The webhook of a campaign, without its secret."""
    row = await server.read(
        lambda connection: webhook_of(connection, campaign_of(connection, operator.key, campaign).key)
    )
    if row is None:
        raise Problem("not_found", f"campaign {campaign!r}: it has no webhook", fix="set one first")
    return Webhook.model_validate(_described(row))


@router.delete("", status_code=204, responses=problems("unauthorised", "not_found", "bad_request"))
async def remove(operator: Operator, campaign: CampaignId, server: Server) -> None:
    """Remove the webhook: no more events are sent."""

    def change(connection: Connection) -> bool:
        return remove_webhook(connection, campaign_of(connection, operator.key, campaign).key)

    if not await server.write(change):
        raise Problem("not_found", f"campaign {campaign!r}: it has no webhook", fix="there is nothing to remove")
