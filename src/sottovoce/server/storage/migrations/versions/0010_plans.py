"""Pictures of the places of campaigns."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

Key = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "plans",
        sa.Column("campaign_key", Key, nullable=False, comment="campaign"),
        sa.Column("sha256", sa.String(64), nullable=False, comment="SHA-256 of the picture, as in the manifest"),
        sa.Column("type", sa.String(20), nullable=False, comment="its media type"),
        sa.Column("content", sa.LargeBinary, nullable=False, comment="the picture, checked and rewritten"),
        sa.PrimaryKeyConstraint("campaign_key", name="pk_plans"),
        sa.ForeignKeyConstraint(["campaign_key"], ["campaigns.key"], ondelete="CASCADE", name="fk_plans_campaign_key"),
    )
