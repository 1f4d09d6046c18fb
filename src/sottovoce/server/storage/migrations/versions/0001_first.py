"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

Key = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "operators",
        sa.Column("key", Key, primary_key=True, comment="number of the operator"),
        sa.Column("name", sa.String(200), nullable=False, comment="what people call the operator"),
        sa.Column("token_hash", sa.String(64), nullable=False, unique=True, comment="SHA-256 of the operator's token"),
        sa.Column("administrator", sa.Boolean, nullable=False, comment="may add, list and revoke operators"),
        sa.Column("created_at", sa.BigInteger, nullable=False, comment="when the operator was added"),
        sa.Column("revoked_at", sa.BigInteger, comment="when the token ceased to be valid; null while it is"),
    )
    op.create_table(
        "campaigns",
        sa.Column("key", Key, primary_key=True, comment="number of the campaign inside this database"),
        sa.Column(
            "id", sa.String(64), nullable=False, unique=True, comment="public name of the campaign, in addresses"
        ),
        sa.Column("operator_key", Key, sa.ForeignKey("operators.key"), nullable=False, comment="whose campaign it is"),
        sa.Column(
            "previous_key", Key, sa.ForeignKey("campaigns.key"), comment="the campaign of which this is a new version"
        ),
        sa.Column("state", sa.String(6), nullable=False, comment="draft, open or closed"),
        sa.Column(
            "manifest", sa.LargeBinary, nullable=False, comment="the manifest in canonical JSON; fixed once open"
        ),
        sa.Column("manifest_sha256", sa.String(64), comment="SHA-256 of the manifest; null while a draft"),
        sa.Column(
            "guarantee", sa.Text, comment="what the manifest promises, in words and figures (JSON); null while a draft"
        ),
        sa.Column(
            "method", sa.String(20), comment="the method that the operator chose; null: the default, noise-aware"
        ),
        sa.Column("created_at", sa.BigInteger, nullable=False, comment="when the draft was made"),
        sa.Column("opened_at", sa.BigInteger, comment="when the campaign opened"),
        sa.Column("closed_at", sa.BigInteger, comment="when the campaign closed, or its deadline passed"),
        sa.Column("deadline", sa.BigInteger, comment="when the campaign closes by itself; null for never"),
        sa.Column("erased_at", sa.BigInteger, comment="when the readings were erased after the retention time"),
        sa.Column(
            "changes", sa.BigInteger, nullable=False, comment="grows with everything that can change the results"
        ),
        sa.Column("changed_at", sa.BigInteger, nullable=False, comment="when changes last grew"),
        sa.Column(
            "computed", sa.BigInteger, nullable=False, comment="the number of changes that the newest results include"
        ),
        sa.CheckConstraint("state IN ('draft', 'open', 'closed')", name="state"),
        sa.CheckConstraint("state = 'draft' OR manifest_sha256 IS NOT NULL", name="frozen"),
    )
    op.create_index("ix_campaigns_operator_key", "campaigns", ["operator_key"])
    op.create_table(
        "tasks",
        sa.Column(
            "campaign_key", Key, sa.ForeignKey("campaigns.key", ondelete="CASCADE"), nullable=False, comment="campaign"
        ),
        sa.Column("place", sa.Integer, nullable=False, comment="place of the task in the manifest, from 0 on"),
        sa.Column("id", sa.String(100), nullable=False, comment="name of the task in the manifest and in reports"),
        sa.PrimaryKeyConstraint("campaign_key", "place"),
        sa.UniqueConstraint("campaign_key", "id"),
    )
    op.create_table(
        "invitations",
        sa.Column("key", Key, primary_key=True, comment="number of the invitation, by which its operator names it"),
        sa.Column("campaign_key", Key, sa.ForeignKey("campaigns.key"), nullable=False, comment="campaign it leads to"),
        sa.Column(
            "token_hash", sa.String(64), nullable=False, unique=True, comment="SHA-256 of the invitation's token"
        ),
        sa.Column("created_at", sa.BigInteger, nullable=False, comment="when it was made, or its token last replaced"),
        sa.Column("revoked_at", sa.BigInteger, comment="when its operator revoked it; null if they did not"),
        sa.Column(
            "spent_by", sa.String(64), comment="SHA-256 over the enrolment key that spent it; null while unspent"
        ),
    )
    op.create_index("ix_invitations_campaign_key", "invitations", ["campaign_key"])
    op.create_table(
        "participants",
        sa.Column("key", Key, primary_key=True, comment="number of the participant inside this database"),
        sa.Column(
            "campaign_key", Key, sa.ForeignKey("campaigns.key"), nullable=False, comment="the one campaign they are in"
        ),
        sa.Column(
            "token_hash", sa.String(64), nullable=False, unique=True, comment="SHA-256 of the participant's token"
        ),
        sa.Column("label", sa.String(16), nullable=False, comment="random name under which their claims are exported"),
        sa.Column(
            "withdrawn_at",
            sa.BigInteger,
            comment="when they withdrew and their readings were erased; null if they did not",
        ),
        sa.UniqueConstraint("campaign_key", "label"),
    )
    op.create_table(
        "reports",
        sa.Column("campaign_key", Key, sa.ForeignKey("campaigns.key"), nullable=False, comment="campaign"),
        sa.Column(
            "report_id", sa.String(36), nullable=False,
            comment="the id the device gave it; stays when readings are erased",
        ),
        sa.Column("participant_key", Key, sa.ForeignKey("participants.key"), nullable=False, comment="who sent it"),
        sa.Column(
            "content_hash", sa.String(64),
            comment="SHA-256 of the report, to recognise retries; erased with the readings",
        ),
        sa.Column("received_at", sa.BigInteger, nullable=False, comment="when it was stored"),
        sa.Column("readings", sa.Integer, nullable=False, comment="how many of its readings were stored"),
        sa.PrimaryKeyConstraint("campaign_key", "report_id"),
    )  # fmt: skip
    op.create_index("ix_reports_participant_key", "reports", ["participant_key"])
    op.create_table(
        "readings",
        sa.Column("campaign_key", Key, nullable=False, comment="campaign"),
        sa.Column(
            "participant_key", Key, sa.ForeignKey("participants.key"), nullable=False, comment="whose reading it is"
        ),
        sa.Column("place", sa.Integer, nullable=False, comment="place of the task in the manifest"),
        sa.Column("value", sa.BigInteger, nullable=False, comment="the noisy reading, in steps of the task's grid"),
        sa.PrimaryKeyConstraint("campaign_key", "participant_key", "place"),
        sa.ForeignKeyConstraint(["campaign_key", "place"], ["tasks.campaign_key", "tasks.place"]),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "results",
        sa.Column("campaign_key", Key, sa.ForeignKey("campaigns.key"), nullable=False, comment="campaign"),
        sa.Column(
            "version", sa.Integer, nullable=False, comment="number of this version of the campaign's results, from 1 on"
        ),
        sa.Column("method", sa.String(20), nullable=False, comment="the method that found the truths"),
        sa.Column("reports", sa.BigInteger, nullable=False, comment="number of reports that the results are based on"),
        sa.Column("as_of", sa.BigInteger, nullable=False, comment="when they were computed"),
        sa.Column("content", sa.LargeBinary, nullable=False, comment="the results as they are sent out (JSON)"),
        sa.PrimaryKeyConstraint("campaign_key", "version"),
    )
