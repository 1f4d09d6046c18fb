"""Tokens of operators that were replaced stay invalid."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "replaced_tokens",
        sa.Column(
            "token_hash", sa.String(64), primary_key=True, comment="SHA-256 of a token that an operator had before"
        ),
    )
