"""Other systems that are informed of new results."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

Key = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "webhooks",
        sa.Column("campaign_key", Key, nullable=False, comment="campaign"),
        sa.Column("url", sa.String(2000), nullable=False, comment="where events are sent"),
        sa.Column("secret", sa.LargeBinary, nullable=False, comment="key of the signatures, as the receiver has it"),
        sa.Column("delivered", sa.Integer, nullable=False, comment="the last version of the results that was received"),
        sa.Column("attempts", sa.Integer, nullable=False, comment="attempts that have failed since then"),
        sa.Column("next_at", sa.BigInteger, nullable=False, comment="when the next attempt is due"),
        sa.Column("failing_since", sa.BigInteger, comment="when the first of these attempts failed; null if none did"),
        sa.Column("failure", sa.String(200), comment="why the last attempt failed"),
        sa.Column(
            "stopped_at", sa.BigInteger, comment="when attempts ended: after days of failure, or at the receiver's wish"
        ),
        sa.PrimaryKeyConstraint("campaign_key", name="pk_webhooks"),
        sa.ForeignKeyConstraint(
            ["campaign_key"], ["campaigns.key"], ondelete="CASCADE", name="fk_webhooks_campaign_key"
        ),
    )
