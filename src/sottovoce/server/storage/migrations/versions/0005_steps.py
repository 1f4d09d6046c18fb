"""Results change in steps; of old versions as many are kept as fit into a few megabytes."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

Key = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_UNSEEN = sa.text("spent_by IS NOT NULL AND NOT shown_spent")
_MOST_BYTES = 4 << 20
_USUAL_LEAST = 5  # claims of a task from which on its figures were shown


def upgrade() -> None:
    _add_columns()
    _take_the_first_step()
    _prune()


def _count(name: str, comment: str, default: str = "0") -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False, server_default=default, comment=comment)


def _add_columns() -> None:
    for column in (
        sa.Column("erasing_at", sa.BigInteger, comment="when erasing began; from then on no results are computed"),
        sa.Column("computed_at", sa.BigInteger, comment="when a step was last considered"),
        _count("cohort", "the last cohort that is complete"),
        _count("step", "grows when results are due to change"),
        _count("published", "the step that was computed last"),
        _count("shown_reports", "reports as of the last step"),
        _count("shown_withdrawn", "how many withdrawals the operator is shown"),
        sa.Column(
            "trouble", sa.String(100), comment="why the newest results could not be published; null if they were"
        ),
        sa.Column("trouble_at", sa.BigInteger, comment="since when results could not be published"),
    ):
        op.add_column("campaigns", column)
    op.add_column(
        "invitations",
        sa.Column(
            "shown_spent", sa.Boolean, nullable=False, server_default=sa.false(),
            comment="whether its operator is shown that it is spent",
        ),
    )  # fmt: skip
    op.create_index(
        "ix_invitations_spent_unseen", "invitations", ["campaign_key"], sqlite_where=_UNSEEN, postgresql_where=_UNSEEN
    )
    op.add_column("reports", _count("cohort", "number of the cohort: all who reported in the same period", "1"))
    op.create_index("ix_reports_campaign_key_cohort", "reports", ["campaign_key", "cohort"])
    op.add_column("readings", _count("cohort", "the cohort of its report", "1"))
    op.create_table(
        "included",
        sa.Column("campaign_key", Key, nullable=False, comment="campaign"),
        sa.Column("place", sa.Integer, nullable=False, comment="place of the task in the manifest"),
        sa.Column(
            "cohort", sa.BigInteger, nullable=False,
            comment="the last complete cohort when these claims were added to the results",
        ),
        sa.Column(
            "claims", sa.BigInteger, nullable=False, comment="how many of these claims are in the newest results"
        ),
        sa.PrimaryKeyConstraint("campaign_key", "place", "cohort"),
        sa.ForeignKeyConstraint(["campaign_key", "place"], ["tasks.campaign_key", "tasks.place"]),
    )  # fmt: skip
    if op.get_bind().dialect.name == "postgresql":
        for table, name, comment in (
            ("campaigns", "changes", "grows with every report and withdrawal"),
            ("campaigns", "computed", "the number of changes when a step was last considered"),
            ("participants", "label", "random secret from which names in exports are made"),
        ):
            op.execute(f"COMMENT ON COLUMN {table}.{name} IS '{comment}'")


def _take_the_first_step() -> None:
    """Make everything that is stored the first cohort: it has been shown already."""
    op.execute("UPDATE invitations SET shown_spent = TRUE WHERE spent_by IS NOT NULL")
    op.execute(
        "UPDATE campaigns SET shown_reports = reports, shown_withdrawn = (SELECT count(*) FROM participants"
        " WHERE campaign_key = campaigns.key AND withdrawn_at IS NOT NULL)"
    )
    op.execute("UPDATE campaigns SET cohort = 1, step = 1, published = 1 WHERE state <> 'draft'")
    op.execute("UPDATE campaigns SET computed_at = closed_at + 1 WHERE computed = changes")
    op.execute("UPDATE campaigns SET erasing_at = erased_at")
    op.execute(
        "INSERT INTO included (campaign_key, place, cohort, claims) SELECT campaign_key, place, 1, count(*)"
        f" FROM readings GROUP BY campaign_key, place HAVING count(*) >= {_USUAL_LEAST}"
    )


def _prune() -> None:
    connection = op.get_bind()
    rows = connection.exec_driver_sql(
        "SELECT campaign_key, version, length(content) FROM results ORDER BY campaign_key, version DESC"
    ).all()
    campaign, kept = None, 0
    for key, version, size in rows:
        if key != campaign:  # its newest version, which stays whatever its size
            campaign, kept = key, size
            continue
        kept += size
        if kept > _MOST_BYTES:
            connection.execute(
                sa.text("DELETE FROM results WHERE campaign_key = :key AND version = :version"),
                {"key": key, "version": version},
            )
