"""``sottovoce serve``: run the campaign server."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from sottovoce.cli.output import JsonOption, console, print_json
from sottovoce.errors import BadParameter, MissingExtra


def serve(
    database: Annotated[
        str | None,
        typer.Option(help="Where reports are stored: sqlite:///FILE or postgresql://USER@HOST/NAME."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 for any free one.")] = 8000,
    public_url: Annotated[
        str | None, typer.Option(help="Address as participants see it, for invitations and other links.")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="TLS certificate (PEM), to serve HTTPS.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Private key of the certificate (PEM).")] = None,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="Trust the X-Forwarded headers of a proxy on this machine.")
    ] = False,
    log_level: Annotated[
        str | None,
        typer.Option(help="How much to log: debug, info, warning or error; logs are JSON lines on stderr."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Run the campaign server.

    All options except --host, --port and --json can also be set by environment variables, such as SOTTOVOCE_DATABASE.
    Other settings, such as SOTTOVOCE_OPERATOR_TOKEN, can only be set that way.
    """
    try:
        from pydantic import ValidationError

        from sottovoce.server.serve import serve as run
        from sottovoce.server.settings import Settings
    except ImportError as missing:
        raise MissingExtra(
            f"the server needs {missing.name}, which is not installed; install it with pip install 'sottovoce[server]'"
        ) from missing

    options: dict[str, Any] = {
        "database": database, "public_url": public_url, "tls_cert": tls_cert, "tls_key": tls_key,
        "behind_proxy": behind_proxy or None, "log_level": log_level,
    }  # fmt: skip
    try:
        settings = Settings(**{name: entry for name, entry in options.items() if entry is not None})
    except ValidationError as mistake:
        first = mistake.errors(include_url=False, include_input=False)[0]
        variable = f"SOTTOVOCE_{str(first['loc'][0]).upper()}"
        if first["type"] == "value_error":  # worded by Settings, with the fix
            raise BadParameter(f"{variable}: {first['ctx']['error']}") from None
        raise BadParameter(f"setting {first['loc'][0]}: {first['msg']}; correct the option or {variable}") from None
    run(
        settings,
        host,
        port,
        show_url=lambda url: _show(json, "url", url, f"Sottovoce is listening on {url}"),
        show_token=lambda token: _show(
            json, "operator_token", token, f"The operator's token, shown only once: {token}"
        ),
    )


def _show(json: bool, name: str, content: str, sentence: str) -> None:
    if json:
        print_json({name: content})
    else:
        console.print(escape(sentence), highlight=False, soft_wrap=True)
    console.file.flush()
