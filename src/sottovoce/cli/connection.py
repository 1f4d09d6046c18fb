"""The options of commands that connect to a server, and the operator's connection."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from sottovoce.cli.output import JsonOption
from sottovoce.errors import BadParameter

SERVER_VARIABLE, TOKEN_VARIABLE = "SOTTOVOCE_SERVER", "SOTTOVOCE_OPERATOR_TOKEN"
ServerOption = Annotated[str, typer.Option("--server", envvar=SERVER_VARIABLE, help="Address of the server.")]
TokenOption = Annotated[
    str | None,
    typer.Option(
        "--token",
        envvar=TOKEN_VARIABLE,
        show_default=False,
        help="The operator's token; better set in the environment, where other users of the machine cannot read it.",
    ),
]
CampaignArgument = Annotated[str, typer.Argument(help="Id of the campaign.", show_default=False)]
InvitationArgument = Annotated[int, typer.Argument(help="Number of the invitation.", show_default=False)]
OperatorArgument = Annotated[int, typer.Argument(help="Number of the operator.", show_default=False)]
CaOption = Annotated[
    Path | None, typer.Option("--ca", help="Trust the certificate authority in this PEM file, and no other.")
]
InsecureOption = Annotated[
    bool, typer.Option("--insecure-http", help="Accept an unencrypted address that is not on this machine.")
]
_LONGEST_WAIT = 7 * 24 * 3600.0


def _checked_wait(seconds: float) -> float:
    if not 0 <= seconds <= _LONGEST_WAIT:
        raise BadParameter(
            f"wait {seconds}: it must be a number of seconds from 0 to {_LONGEST_WAIT:,.0f}, a week; 30 is typical"
        )
    return seconds


WaitOption = Annotated[
    float,
    typer.Option("--wait", callback=_checked_wait, help="Keep trying to reach the server for this many seconds."),
]


def connected(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for connecting to a server to an operator's command, and pass it the client."""

    @wraps(command)
    def connect(server: str, token: str | None, ca: Path | None, insecure_http: bool, **options: Any) -> None:
        from sottovoce.operators.client import OperatorClient

        with OperatorClient(server, token, ca=ca, insecure_http=insecure_http) as client:
            command(client, **options)

    keyword = inspect.Parameter.KEYWORD_ONLY
    added = [
        inspect.Parameter("server", keyword, default="http://127.0.0.1:8000", annotation=ServerOption),
        inspect.Parameter("token", keyword, default=None, annotation=TokenOption),
        inspect.Parameter("ca", keyword, default=None, annotation=CaOption),
        inspect.Parameter("insecure_http", keyword, default=False, annotation=InsecureOption),
        inspect.Parameter("json", keyword, default=False, annotation=JsonOption),
    ]
    own = [entry for name, entry in inspect.signature(command).parameters.items() if name not in ("client", "json")]
    connect.__signature__ = inspect.Signature([*own, *added])  # type: ignore[attr-defined]
    connect.__annotations__ = {entry.name: entry.annotation for entry in (*own, *added)}
    return connect
