"""Tasks may have a quota; campaigns know how many reports they hold without counting them."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column(
        "tasks",
        sa.Column("quota", sa.BigInteger, comment="the most readings that are taken; null for no limit"),
    )
    op.add_column(
        "tasks",
        sa.Column(
            "taken", sa.BigInteger, nullable=False, server_default="0",
            comment="readings taken, where there is a quota",
        ),
    )  # fmt: skip
    op.add_column(
        "campaigns",
        sa.Column(
            "reports", sa.BigInteger, nullable=False, server_default="0",
            comment="reports stored and not withdrawn",
        ),
    )  # fmt: skip
    op.execute(
        "UPDATE campaigns SET reports = (SELECT count(*) FROM reports JOIN participants"
        " ON participants.key = reports.participant_key"
        " WHERE reports.campaign_key = campaigns.key AND participants.withdrawn_at IS NULL)"
    )
