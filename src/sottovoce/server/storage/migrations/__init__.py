"""Migrations from an older schema to this one; they run when the server starts."""

from functools import cache

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine

from sottovoce.errors import BadParameter
from sottovoce.server.storage.engine import lock_start_up


def migrate(engine: Engine, revision: str = "head") -> None:
    """Bring the database up to date; do nothing if it is."""
    with engine.execution_options(write=True).begin() as connection:
        lock_start_up(connection)
        current = MigrationContext.configure(connection).get_current_revision()
        if current == _head():
            return
        known = {script.revision for script in _scripts().walk_revisions()}
        if current is not None and current not in known:
            raise BadParameter(
                f"database revision {current!r}: this version of the program does not recognise it; run the newer "
                "version that made it, or restore an older backup"
            )
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def is_current(connection: Connection) -> bool:
    """Whether the database has exactly the schema of this version."""
    return MigrationContext.configure(connection).get_current_revision() == _head()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", "sottovoce.server.storage:migrations")
    config.set_main_option("path_separator", "os")
    return config


@cache
def _head() -> str | None:
    return _scripts().get_current_head()


def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())
