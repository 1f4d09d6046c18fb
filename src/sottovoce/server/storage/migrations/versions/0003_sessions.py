"""Operators sign in to the console."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

Key = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "sessions",
        sa.Column(
            "token_hash", sa.String(64), primary_key=True, comment="SHA-256 of the secret in the browser's cookie"
        ),
        sa.Column("operator_key", Key, sa.ForeignKey("operators.key"), nullable=False, comment="who signed in"),
        sa.Column("created_at", sa.BigInteger, nullable=False, comment="when the operator signed in"),
        sa.Column("expires_at", sa.BigInteger, nullable=False, comment="when the session ends by itself"),
    )
    op.create_index("ix_sessions_operator_key", "sessions", ["operator_key"])
