"""Short codes, which expire, and open links, which admit several people."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

Key = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    for column in (
        sa.Column("kind", sa.String(4), nullable=False, server_default="link", comment="link, code or open"),
        sa.Column("expires_at", sa.BigInteger, comment="until when it admits anybody; null for no limit"),
        sa.Column("most", sa.BigInteger, comment="how many people an open link admits; null for the others: one"),
        sa.Column(
            "joined", sa.BigInteger, nullable=False, server_default="0", comment="how many joined by an open link"
        ),
        sa.Column(
            "shown_joined",
            sa.BigInteger,
            nullable=False,
            server_default="0",
            comment="how many of those who joined the operator is shown",
        ),
    ):
        op.add_column("invitations", column)
    op.create_table(
        "joinings",
        sa.Column("invitation_key", Key, nullable=False, comment="the open link"),
        sa.Column("mark", sa.String(64), nullable=False, comment="SHA-256 over the enrolment key that was used"),
        sa.PrimaryKeyConstraint("invitation_key", "mark", name="pk_joinings"),
        sa.ForeignKeyConstraint(["invitation_key"], ["invitations.key"], name="fk_joinings_invitation_key"),
    )
    op.create_table(
        "server_secrets",
        sa.Column("name", sa.String(20), nullable=False, comment="what the secret is for"),
        sa.Column("secret", sa.LargeBinary, nullable=False, comment="random bytes"),
        sa.PrimaryKeyConstraint("name", name="pk_server_secrets"),
    )
