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
            comment="what the truth of a number is: value or mean; null: the method's own choice",
        ),
    )
