"""Running the server: one process, one event loop, one writer. On PostgreSQL there may be several such processes."""

import ctypes
import signal
import socket
from collections.abc import Callable
from contextlib import suppress

import uvicorn
from sqlalchemy.exc import SQLAlchemyError

from sottovoce.claims.table_file import check_exists
from sottovoce.errors import BadParameter, UnreadableFile
from sottovoce.server.app import create_app
from sottovoce.server.connections import LimitedSocket, most_connections, watched
from sottovoce.server.fast import interpreter
from sottovoce.server.logs import set_up_logs
from sottovoce.server.settings import Settings
from sottovoce.server.storage.engine import open_engine, without_password
from sottovoce.server.storage.locks import exclusive_file
from sottovoce.server.storage.migrations import migrate

_KEEP_ALIVE_SECONDS = 20
_BACKLOG = 2048
_M_MMAP_THRESHOLD, _LARGE_ARRAY = -3, 1 << 18


def serve(
    settings: Settings, host: str, port: int, *, show_url: Callable[[str], None], show_token: Callable[[str], None]
) -> None:
    """Serve until SIGTERM or SIGINT; then finish current requests, store waiting reports, and return."""
    if (settings.tls_cert is None) != (settings.tls_key is None):
        raise BadParameter("only one of --tls-cert and --tls-key: https needs both; give the other one too")
    for path in (settings.tls_cert, settings.tls_key):
        if path is not None:
            check_exists(path)
    set_up_logs(settings.log_level)
    interpreter.switch_often()
    _return_large_arrays()
    _prepare(settings)
    listening = _listen(host, port, settings)
    scheme = "https" if settings.tls_cert else "http"
    shown = f"[{host}]" if ":" in host else host
    url = settings.public_url or f"{scheme}://{shown}:{listening.getsockname()[1]}"

    class Announced(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                interpreter.collect_rarely()
                show_url(url)

    config = uvicorn.Config(
        create_app(settings, show_token=show_token),
        http=watched(settings),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=settings.behind_proxy,
        forwarded_allow_ips=settings.trusted_proxies,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=settings.stop_seconds,
        ssl_certfile=settings.tls_cert,
        ssl_keyfile=settings.tls_key,
    )
    # Uvicorn raises the signal again when it is done; stopping on request is not a failure.
    for kind in (signal.SIGTERM, signal.SIGINT):
        signal.signal(kind, lambda *_: None)
    Announced(config).run(sockets=[listening])


def _return_large_arrays() -> None:
    """Make the C library return freed memory; by default it keeps as much as the largest results ever needed."""
    with suppress(AttributeError):  # C libraries other than GNU's do not need this setting
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_ARRAY)


def _prepare(settings: Settings) -> None:
    """Open and migrate the database, while errors can still be reported in one sentence."""
    database = settings.database.get_secret_value()
    engine = open_engine(database)
    try:
        with exclusive_file(database):
            migrate(engine)
    except SQLAlchemyError as failure:
        words = str(getattr(failure, "orig", failure)).strip().splitlines()[0]
        raise UnreadableFile(
            f"database {without_password(engine.url)}: it cannot be opened ({words}); "
            "check that it exists, is a database of Sottovoce and is writable"
        ) from None
    finally:
        engine.dispose()


def _listen(host: str, port: int, settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = LimitedSocket(family, most_connections(settings.connections), settings)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as failure:
        listening.close()
        raise BadParameter(f"{host}:{port}: {failure.strerror}; choose another --host or --port") from None
    listening.listen(_BACKLOG)
    listening.set_inheritable(True)
    return listening
