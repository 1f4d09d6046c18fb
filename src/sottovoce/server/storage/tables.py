"""The tables. Every column has a comment that says what it is for; PostgreSQL stores these comments too.

Times are milliseconds since 1970 (UTC). Tokens are stored as SHA-256 in hexadecimal, never as they are.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
    true,
)

# SQLite numbers rows by itself only for the type INTEGER.
Key = BigInteger().with_variant(Integer, "sqlite")

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

operators = Table(
    "operators",
    metadata,
    Column("key", Key, primary_key=True, comment="number of the operator"),
    Column("name", String(200), nullable=False, comment="what people call the operator"),
    Column("token_hash", String(64), nullable=False, unique=True, comment="SHA-256 of the operator's token"),
    Column("administrator", Boolean, nullable=False, comment="may add, list and revoke operators"),
    Column("created_at", BigInteger, nullable=False, comment="when the operator was added"),
    Column("revoked_at", BigInteger, comment="when the token ceased to be valid; null while it is"),
)

# A replaced token may still be in the server's environment; the next start must not accept it again.
replaced_tokens = Table(
    "replaced_tokens",
    metadata,
    Column("token_hash", String(64), primary_key=True, comment="SHA-256 of a token that an operator had before"),
)

sessions = Table(
    "sessions",
    metadata,
    Column("token_hash", String(64), primary_key=True, comment="SHA-256 of the secret in the browser's cookie"),
    Column("operator_key", Key, ForeignKey("operators.key"), nullable=False, comment="who signed in"),
    Column("created_at", BigInteger, nullable=False, comment="when the operator signed in"),
    Column("expires_at", BigInteger, nullable=False, comment="when the session ends by itself"),
    Index(None, "operator_key"),
)

campaigns = Table(
    "campaigns",
    metadata,
    Column("key", Key, primary_key=True, comment="number of the campaign inside this database"),
    Column("id", String(64), nullable=False, unique=True, comment="public name of the campaign, in addresses"),
    Column("operator_key", Key, ForeignKey("operators.key"), nullable=False, comment="whose campaign it is"),
    Column("previous_key", Key, ForeignKey("campaigns.key"), comment="the campaign of which this is a new version"),
    Column("state", String(6), nullable=False, comment="draft, open or closed"),
    Column("manifest", LargeBinary, nullable=False, comment="the manifest in canonical JSON; fixed once open"),
    Column("manifest_sha256", String(64), comment="SHA-256 of the manifest; null while a draft"),
    Column("guarantee", Text, comment="what the manifest promises, in words and figures (JSON); null while a draft"),
    Column("method", String(20), comment="the method that the operator chose; null: the default, noise-aware"),
    Column("created_at", BigInteger, nullable=False, comment="when the draft was made"),
    Column("opened_at", BigInteger, comment="when the campaign opened"),
    Column("closed_at", BigInteger, comment="when the campaign closed, or its deadline passed"),
    Column("deadline", BigInteger, comment="when the campaign closes by itself; null for never"),
    Column("erased_at", BigInteger, comment="when the readings were erased after the retention time"),
    Column("erasing_at", BigInteger, comment="when erasing began; from then on no results are computed"),
    Column("reports", BigInteger, nullable=False, server_default="0", comment="reports stored and not withdrawn"),
    Column("changes", BigInteger, nullable=False, comment="grows with every report and withdrawal"),
    Column("changed_at", BigInteger, nullable=False, comment="when changes last grew"),
    Column("computed", BigInteger, nullable=False, comment="the number of changes when a step was last considered"),
    Column("computed_at", BigInteger, comment="when a step was last considered"),
    Column("cohort", BigInteger, nullable=False, server_default="0", comment="the last cohort that is complete"),
    Column("step", BigInteger, nullable=False, server_default="0", comment="grows when results are due to change"),
    Column("published", BigInteger, nullable=False, server_default="0", comment="the step that was computed last"),
    Column("shown_reports", BigInteger, nullable=False, server_default="0", comment="reports as of the last step"),
    Column(
        "shown_withdrawn",
        BigInteger,
        nullable=False,
        server_default="0",
        comment="how many withdrawals the operator is shown",
    ),
    Column("trouble", String(100), comment="why the newest results could not be published; null if they were"),
    Column("trouble_at", BigInteger, comment="since when results could not be published"),
    Column(
        "public_results",
        Boolean,
        nullable=False,
        server_default=true(),
        comment="whether everybody may see the results",
    ),
    Column(
        "retention_days",
        Integer,
        comment="readings are erased at most this long after closing; null: the terms do not say",
    ),
    Column(
        "target", String(5), comment="what counts as the truth of a number: value or mean; null: the default, value"
    ),
    Column("known", Text, comment="truths that the operator knows, by task (JSON); not public"),
    CheckConstraint("state IN ('draft', 'open', 'closed')", name="state"),
    CheckConstraint("state = 'draft' OR manifest_sha256 IS NOT NULL", name="frozen"),
    Index(None, "operator_key"),
)

tasks = Table(
    "tasks",
    metadata,
    Column("campaign_key", Key, ForeignKey("campaigns.key", ondelete="CASCADE"), nullable=False, comment="campaign"),
    Column("place", Integer, nullable=False, comment="place of the task in the manifest, from 0 on"),
    Column("id", String(100), nullable=False, comment="name of the task in the manifest and in reports"),
    Column("quota", BigInteger, comment="the most readings that are taken; null for no limit"),
    Column("taken", BigInteger, nullable=False, server_default="0", comment="readings taken, where there is a quota"),
    PrimaryKeyConstraint("campaign_key", "place"),
    UniqueConstraint("campaign_key", "id"),
)


def _pictures(name: str) -> Table:
    """Pictures have tables of their own, because nearly every request reads the row of a campaign."""
    campaign = ForeignKey("campaigns.key", ondelete="CASCADE")
    return Table(
        name,
        metadata,
        Column("campaign_key", Key, campaign, nullable=False, comment="campaign"),
        Column("sha256", String(64), nullable=False, comment="SHA-256 of the picture, as in the manifest"),
        Column("type", String(20), nullable=False, comment="its media type"),
        Column("content", LargeBinary, nullable=False, comment="the picture, checked and rewritten"),
        PrimaryKeyConstraint("campaign_key"),
    )


plans = _pictures("plans")
logos = _pictures("logos")

# No column links an invitation to its participant: whoever handed out the link must not find the readings.
invitations = Table(
    "invitations",
    metadata,
    Column("key", Key, primary_key=True, comment="number of the invitation, by which its operator names it"),
    Column("campaign_key", Key, ForeignKey("campaigns.key"), nullable=False, comment="campaign it leads to"),
    Column("token_hash", String(64), nullable=False, unique=True, comment="SHA-256 of the invitation's token"),
    Column("created_at", BigInteger, nullable=False, comment="when it was made, or its token last replaced"),
    Column("revoked_at", BigInteger, comment="when its operator revoked it; null if they did not"),
    Column("spent_by", String(64), comment="SHA-256 over the enrolment key that spent it; null while unspent"),
    Column(
        "shown_spent", Boolean, nullable=False, server_default=false(),
        comment="whether its operator is shown that it is spent",
    ),
    Column("kind", String(4), nullable=False, server_default="link", comment="link, code or open"),
    Column("expires_at", BigInteger, comment="until when it admits anybody; null for no limit"),
    Column("most", BigInteger, comment="how many people an open link admits; null for the others: one"),
    Column("joined", BigInteger, nullable=False, server_default="0", comment="how many joined by an open link"),
    Column(
        "shown_joined", BigInteger, nullable=False, server_default="0",
        comment="how many of those who joined the operator is shown",
    ),
    Index(None, "campaign_key"),
    Index(
        "ix_invitations_spent_unseen", "campaign_key",
        sqlite_where=text("spent_by IS NOT NULL AND NOT shown_spent"),
        postgresql_where=text("spent_by IS NOT NULL AND NOT shown_spent"),
    ),
)  # fmt: skip

# So that a repeated enrolment by an open link counts once. As above, nothing here leads to a participant.
joinings = Table(
    "joinings",
    metadata,
    Column("invitation_key", Key, ForeignKey("invitations.key"), nullable=False, comment="the open link"),
    Column("mark", String(64), nullable=False, comment="SHA-256 over the enrolment key that was used"),
    PrimaryKeyConstraint("invitation_key", "mark"),
)

# The salt of short codes must be known to compare them, so it is stored as it is.
server_secrets = Table(
    "server_secrets",
    metadata,
    Column("name", String(20), primary_key=True, comment="what the secret is for"),
    Column("secret", LargeBinary, nullable=False, comment="random bytes"),
)

participants = Table(
    "participants",
    metadata,
    Column("key", Key, primary_key=True, comment="number of the participant inside this database"),
    Column("campaign_key", Key, ForeignKey("campaigns.key"), nullable=False, comment="the one campaign they are in"),
    Column("token_hash", String(64), nullable=False, unique=True, comment="SHA-256 of the participant's token"),
    Column("label", String(16), nullable=False, comment="random secret from which names in exports are made"),
    Column(
        "withdrawn_at", BigInteger, comment="when they withdrew and their readings were erased; null if they did not"
    ),
    UniqueConstraint("campaign_key", "label"),
)

reports = Table(
    "reports",
    metadata,
    Column("campaign_key", Key, ForeignKey("campaigns.key"), nullable=False, comment="campaign"),
    Column(
        "report_id", String(36), nullable=False, comment="the id the device gave it; stays when readings are erased"
    ),
    Column("participant_key", Key, ForeignKey("participants.key"), nullable=False, comment="who sent it"),
    Column("content_hash", String(64), comment="SHA-256 of the report, to recognise retries; erased with the readings"),
    Column("received_at", BigInteger, nullable=False, comment="when it was stored"),
    Column("readings", Integer, nullable=False, comment="how many of its readings were stored"),
    Column(
        "cohort",
        BigInteger,
        nullable=False,
        server_default="1",
        comment="number of the cohort: all who reported in the same period",
    ),
    PrimaryKeyConstraint("campaign_key", "report_id"),
    Index(None, "participant_key"),
    Index(None, "campaign_key", "cohort"),
)

# The primary key is also the order on disk (SQLite), so the readings of a participant, and of a campaign, lie together.
readings = Table(
    "readings",
    metadata,
    Column("campaign_key", Key, nullable=False, comment="campaign"),
    Column("participant_key", Key, ForeignKey("participants.key"), nullable=False, comment="whose reading it is"),
    Column("place", Integer, nullable=False, comment="place of the task in the manifest"),
    Column("value", BigInteger, nullable=False, comment="the noisy reading in grid steps, or the number of the choice"),
    Column("cohort", BigInteger, nullable=False, server_default="1", comment="the cohort of its report"),
    PrimaryKeyConstraint("campaign_key", "participant_key", "place"),
    ForeignKeyConstraint(["campaign_key", "place"], ["tasks.campaign_key", "tasks.place"]),
    sqlite_with_rowid=False,
)

# A table of its own, since hardly any reading has one.
details = Table(
    "details",
    metadata,
    Column("campaign_key", Key, nullable=False, comment="campaign"),
    Column("participant_key", Key, nullable=False, comment="whose reading it is"),
    Column("place", Integer, nullable=False, comment="place of the task in the manifest"),
    Column("content", Text, nullable=False, comment="the set of choices, or the cuts of a comparison (JSON)"),
    PrimaryKeyConstraint("campaign_key", "participant_key", "place"),
    ForeignKeyConstraint(
        ["campaign_key", "participant_key", "place"],
        ["readings.campaign_key", "readings.participant_key", "readings.place"],
        ondelete="CASCADE",
    ),
    sqlite_with_rowid=False,
)

# Cuts stay valid until their campaign closes, since a device may be without a network between fetching and sending.
offers = Table(
    "offers",
    metadata,
    Column("campaign_key", Key, nullable=False, comment="campaign"),
    Column("place", Integer, nullable=False, comment="place of the task in the manifest"),
    Column("cuts", String(100), nullable=False, comment="cuts in half grid steps (JSON)"),
    Column("is_current", Boolean, nullable=False, comment="whether devices are to compare with them now"),
    Column("published_at", BigInteger, nullable=False, comment="when they were last published"),
    PrimaryKeyConstraint("campaign_key", "place", "cuts"),
    ForeignKeyConstraint(["campaign_key", "place"], ["tasks.campaign_key", "tasks.place"]),
)

# What a task's figures are based on: all cohorts up to the last one that is listed for it. A withdrawn reading is gone
# from the table of readings at once, and from these counts with the task's next step.
included = Table(
    "included",
    metadata,
    Column("campaign_key", Key, nullable=False, comment="campaign"),
    Column("place", Integer, nullable=False, comment="place of the task in the manifest"),
    Column(
        "cohort",
        BigInteger,
        nullable=False,
        comment="the last complete cohort when these claims were added to the results",
    ),
    Column("claims", BigInteger, nullable=False, comment="how many of these claims are in the newest results"),
    PrimaryKeyConstraint("campaign_key", "place", "cohort"),
    ForeignKeyConstraint(["campaign_key", "place"], ["tasks.campaign_key", "tasks.place"]),
)

results = Table(
    "results",
    metadata,
    Column("campaign_key", Key, ForeignKey("campaigns.key"), nullable=False, comment="campaign"),
    Column("version", Integer, nullable=False, comment="number of this version of the campaign's results, from 1 on"),
    Column("method", String(20), nullable=False, comment="the method that found the truths"),
    Column("reports", BigInteger, nullable=False, comment="number of reports that the results are based on"),
    Column("as_of", BigInteger, nullable=False, comment="when they were computed"),
    Column("content", LargeBinary, nullable=False, comment="the results as they are sent out (JSON)"),
    PrimaryKeyConstraint("campaign_key", "version"),
)

# The secret signs what is sent, so it is stored as it is.
webhooks = Table(
    "webhooks",
    metadata,
    Column("campaign_key", Key, ForeignKey("campaigns.key", ondelete="CASCADE"), primary_key=True, comment="campaign"),
    Column("url", String(2000), nullable=False, comment="where events are sent"),
    Column("secret", LargeBinary, nullable=False, comment="key of the signatures, as the receiver has it"),
    Column("delivered", Integer, nullable=False, comment="the last version of the results that was received"),
    Column("attempts", Integer, nullable=False, comment="attempts that have failed since then"),
    Column("next_at", BigInteger, nullable=False, comment="when the next attempt is due"),
    Column("failing_since", BigInteger, comment="when the first of these attempts failed; null if none did"),
    Column("failure", String(200), comment="why the last attempt failed"),
    Column("stopped_at", BigInteger, comment="when attempts ended: after days of failure, or at the receiver's wish"),
)
