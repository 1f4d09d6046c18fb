"""Alembic's entry point: `migrate` passes the connection and commits."""

from alembic import context

from sottovoce.server.storage.tables import metadata

if hasattr(context, "config"):  # it exists while Alembic runs, not when tools look for doctests in here
    connection = context.config.attributes["connection"]
    context.configure(connection=connection, target_metadata=metadata, transactional_ddl=False)
    context.run_migrations()
