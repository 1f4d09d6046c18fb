"""Tasks whose truth the operator knows."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.add_column(
        "campaigns", sa.Column("known", sa.Text, comment="truths that the operator knows, by task (JSON); not public")
    )
