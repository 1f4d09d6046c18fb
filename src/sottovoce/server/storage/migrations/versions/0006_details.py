"""Sets of choices and cuts of comparisons; what a campaign promises about its results and about erasing."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

Key = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.add_column(
        "campaigns",
        sa.Column(
            "public_results", sa.Boolean, nullable=False, server_default=sa.true(),
            comment="whether everybody may see the results",
        ),
    )  # fmt: skip
    op.add_column(
        "campaigns",
        sa.Column(
            "retention_days", sa.Integer,
            comment="readings are erased at most this long after closing; null: the terms do not say",
        ),
    )  # fmt: skip
    op.create_table(
        "details",
        sa.Column("campaign_key", Key, nullable=False, comment="campaign"),
        sa.Column("participant_key", Key, nullable=False, comment="whose reading it is"),
        sa.Column("place", sa.Integer, nullable=False, comment="place of the task in the manifest"),
        sa.Column("content", sa.Text, nullable=False, comment="the set of choices, or the cuts of a comparison (JSON)"),
        sa.PrimaryKeyConstraint("campaign_key", "participant_key", "place", name="pk_details"),
        sa.ForeignKeyConstraint(
            ["campaign_key", "participant_key", "place"],
            ["readings.campaign_key", "readings.participant_key", "readings.place"],
            name="fk_details_campaign_key",
            ondelete="CASCADE",
        ),
        sqlite_with_rowid=False,
    )
    if op.get_bind().dialect.name == "postgresql":  # SQLite keeps no comments
        op.alter_column("readings", "value", comment="the noisy reading in grid steps, or the number of the choice")
