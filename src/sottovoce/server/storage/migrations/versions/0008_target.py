"""What the truth of a number is: a measurement or the crowd's opinion."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column(
        "campaigns",
        sa.Column(
            "target",
            sa.String(5),
            comment="what counts as the truth of a number: value or mean; null: the default, value",
        ),
    )
