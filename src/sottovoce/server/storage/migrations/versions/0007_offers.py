"""The cuts that campaigns of comparisons publish."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

Key = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "offers",
        sa.Column("campaign_key", Key, nullable=False, comment="campaign"),
        sa.Column("place", sa.Integer, nullable=False, comment="place of the task in the manifest"),
        sa.Column("cuts", sa.String(100), nullable=False, comment="cuts in half grid steps (JSON)"),
        sa.Column("is_current", sa.Boolean, nullable=False, comment="whether devices are to compare with them now"),
        sa.Column("published_at", sa.BigInteger, nullable=False, comment="when they were last published"),
        sa.PrimaryKeyConstraint("campaign_key", "place", "cuts", name="pk_offers"),
        sa.ForeignKeyConstraint(
            ["campaign_key", "place"], ["tasks.campaign_key", "tasks.place"], name="fk_offers_campaign_key"
        ),
    )
