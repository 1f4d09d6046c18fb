"""Logos of campaigns."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

Key = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "logos",
        sa.Column("campaign_key", Key, nullable=False, comment="campaign"),
        sa.Column("sha256", sa.String(64), nullable=False, comment="SHA-256 of the picture, as in the manifest"),
        sa.Column("type", sa.String(20), nullable=False, comment="its media type"),
        sa.Column("content", sa.LargeBinary, nullable=False, comment="the picture, checked and rewritten"),
        sa.PrimaryKeyConstraint("campaign_key", name="pk_logos"),
        sa.ForeignKeyConstraint(["campaign_key"], ["campaigns.key"], ondelete="CASCADE", name="fk_logos_campaign_key"),
    )
