"""Pictures of the places of campaigns, one each."""

from sqlalchemy import Connection, delete, insert, literal, select

from sottovoce.protocol.pictures import Picture
from sottovoce.protocol.problems import Problem
from sottovoce.server.storage.rows import PlanRow, row_or_none
from sottovoce.server.storage.tables import plans


def plan_of(connection: Connection, campaign_key: int) -> PlanRow:
    """The picture of a campaign."""
    plan = row_or_none(connection, PlanRow, select(plans).where(plans.c.campaign_key == campaign_key))
    if plan is None:
        raise Problem("not_found", "the plan: this campaign has none")
    return plan


def plan_hash(connection: Connection, campaign_key: int) -> str | None:
    """The hash of the picture of a campaign, if there is one."""
    return connection.scalar(select(plans.c.sha256).where(plans.c.campaign_key == campaign_key))


def put_plan(connection: Connection, campaign_key: int, picture: Picture) -> None:
    """Store a picture in place of the one before."""
    remove_plan(connection, campaign_key)
    connection.execute(
        insert(plans).values(
            campaign_key=campaign_key, sha256=picture.sha256, type=picture.type, content=picture.content
        )
    )


def copy_plan(connection: Connection, campaign_key: int, new_key: int) -> None:
    """The picture of a campaign for its next version."""
    columns = ["sha256", "type", "content"]
    copied = select(literal(new_key), *(plans.c[name] for name in columns)).where(plans.c.campaign_key == campaign_key)
    connection.execute(insert(plans).from_select(["campaign_key", *columns], copied))


def remove_plan(connection: Connection, campaign_key: int) -> None:
    connection.execute(delete(plans).where(plans.c.campaign_key == campaign_key))
