"""Pictures of campaigns, each in a table of its kind: a plan of the place, and a logo."""

from dataclasses import dataclass

from sqlalchemy import Connection, Table, delete, insert, literal, select

from sottovoce.protocol.pictures import Picture
from sottovoce.protocol.problems import Problem
from sottovoce.server.storage.rows import PictureRow, row_or_none
from sottovoce.server.storage.tables import logos, plans


@dataclass(frozen=True)
class Pictures:
    """The pictures of one kind, at most one for each campaign."""

    name: str
    table: Table

    def of(self, connection: Connection, campaign_key: int) -> PictureRow:
        """The picture of a campaign."""
        named = select(self.table).where(self.table.c.campaign_key == campaign_key)
        picture = row_or_none(connection, PictureRow, named)
        if picture is None:
            raise Problem("not_found", f"the {self.name}: this campaign has none")
        return picture

    def hash_of(self, connection: Connection, campaign_key: int) -> str | None:
        """The hash of the picture of a campaign, if there is one."""
        return connection.scalar(select(self.table.c.sha256).where(self.table.c.campaign_key == campaign_key))

    def put(self, connection: Connection, campaign_key: int, picture: Picture) -> None:
        """Store a picture in place of the one before."""
        self.remove(connection, campaign_key)
        connection.execute(
            insert(self.table).values(
                campaign_key=campaign_key, sha256=picture.sha256, type=picture.type, content=picture.content
            )
        )

    def copy(self, connection: Connection, campaign_key: int, new_key: int) -> None:
        """Copy the picture of a campaign to one that is made from it."""
        columns = ["sha256", "type", "content"]
        copied = select(literal(new_key), *(self.table.c[name] for name in columns)).where(
            self.table.c.campaign_key == campaign_key
        )
        connection.execute(insert(self.table).from_select(["campaign_key", *columns], copied))

    def remove(self, connection: Connection, campaign_key: int) -> None:
        connection.execute(delete(self.table).where(self.table.c.campaign_key == campaign_key))


PLANS = Pictures("plan", plans)
LOGOS = Pictures("logo", logos)
