"""Settings: from the environment (``SOTTOVOCE_`` and the name in capitals), or from options of ``sottovoce serve``.

docs/reference/settings.md lists them all; a test compares the two.
"""

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from sottovoce.digits import counted

_TOKEN = re.compile(r"[\x21-\x7e]{16,}")


class Settings(BaseSettings):
    """What an operator of the server can set."""

    model_config = SettingsConfigDict(env_prefix="SOTTOVOCE_", frozen=True, extra="ignore", hide_input_in_errors=True)

    database: Annotated[
        SecretStr,
        Field(description="Where reports are stored: `sqlite:///FILE` or `postgresql://USER:PASSWORD@HOST/NAME`."),
    ] = SecretStr("sqlite:///sottovoce.db")
    operator_token: Annotated[
        SecretStr | None,
        Field(
            description="Token of an administrator, of at least 16 characters. If it is new, the server adds an "
            "administrator with it when it starts; one that was replaced or revoked stays invalid. Without this "
            "setting, the server generates a token when it first starts on an empty database, and prints it once."
        ),
    ] = None
    public_url: Annotated[
        str | None,
        Field(
            description="Address of the server as participants see it, for invitations and other links; by default the "
            "address of the request. Without it, webhook events contain only the path of the results."
        ),
    ] = None

    batch_rows: Annotated[int, Field(ge=1, description="Commit when this many rows are waiting …")] = 5_000
    batch_milliseconds: Annotated[
        float, Field(ge=0, le=1_000, description="… or when the first of them has waited this long.")
    ] = 5.0
    most_waiting: Annotated[
        int, Field(ge=1, description="Refuse further reports (503) while this many are waiting to be stored.")
    ] = 10_000

    address_rate: Annotated[
        int,
        Field(
            ge=0,
            description="Requests per minute from one address (IPv6: one /64), even if all come at once; 0 for no "
            "limit. Three hundred people behind one address who enrol and report within a minute send about two "
            "thousand.",
        ),
    ] = 6_000
    token_rate: Annotated[
        int, Field(ge=0, description="Requests per minute with one token, even if all come at once; 0 for no limit.")
    ] = 600
    code_rate: Annotated[
        int,
        Field(
            ge=1,
            description="Short codes per minute that one address (IPv6: one /64) may try; all addresses "
            "together may try ten times as many.",
        ),
    ] = 60
    connections: Annotated[
        int,
        Field(
            ge=10,
            description="Simultaneous connections; fewer if the system does not let the server open that many files.",
        ),
    ] = 10_000
    address_connections: Annotated[
        int,
        Field(
            ge=0,
            description="Simultaneous connections from one address (IPv6: one /64), but never more than half of "
            "`connections`; with 0, only this half is the limit. With `behind_proxy`, connections from "
            "`trusted_proxies` are not counted.",
        ),
    ] = 1_000
    body_limit: Annotated[
        int, Field(ge=1_000, description="Maximum body size of a participant's request, in bytes.")
    ] = 256 << 10
    operator_body_limit: Annotated[
        int, Field(ge=1_000, description="Maximum body size of an operator's request, in bytes.")
    ] = 8 << 20
    body_seconds: Annotated[float, Field(gt=0, description="A request must arrive completely within this time.")] = 20.0
    idle_seconds: Annotated[
        float, Field(gt=0, description="A connection that sends no request for this long is closed.")
    ] = 15.0
    answer_seconds: Annotated[
        float,
        Field(
            gt=0,
            description="A client that leaves part of its response waiting and reads less than 16 KiB of it in this "
            "time is disconnected.",
        ),
    ] = 20.0
    stop_seconds: Annotated[
        int, Field(ge=1, description="On shutdown, wait at most this long for requests that are in progress.")
    ] = 5

    least_claims: Annotated[
        int,
        Field(
            ge=1,
            description="Results change in steps: the truth of a task is shown once it has this many claims, and "
            "changes when there are this many more; counts, exports and the list of used invitations change in steps "
            "of this size too.",
        ),
    ] = 5
    retention_days: Annotated[
        int,
        Field(
            ge=0,
            description="Readings of a campaign are erased this many days after it closes, or earlier if its terms say "
            "so; results stay. With 0, they are erased only if the terms say so.",
        ),
    ] = 90

    webhook_private: Annotated[
        bool,
        Field(
            description="Send webhooks to private and to unencrypted addresses too. By default, only `https` "
            "addresses on the public internet receive webhooks, so that no operator can use one to reach the server's "
            "own network."
        ),
    ] = False

    tls_cert: Annotated[Path | None, Field(description="TLS certificate (PEM, with its chain), to serve HTTPS.")] = None
    tls_key: Annotated[Path | None, Field(description="Private key of the certificate (PEM).")] = None
    behind_proxy: Annotated[
        bool, Field(description="Trust the X-Forwarded headers of the proxies named in `trusted_proxies`.")
    ] = False
    trusted_proxies: Annotated[str, Field(description="Addresses of trusted proxies, separated by commas.")] = (
        "127.0.0.1,::1"
    )
    metrics: Annotated[bool, Field(description="Serve metrics for Prometheus at `/metrics`.")] = True
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Field(description="Level of detail of the log, which is written to stderr as JSON lines."),
    ] = "info"

    @field_validator("operator_token")
    @classmethod
    def _hard_to_guess(cls, token: SecretStr | None) -> SecretStr | None:
        secret = "" if token is None else token.get_secret_value()
        if token is not None and not _TOKEN.fullmatch(secret):
            # A header carries no other characters, and spaces around a token in it are cut off.
            raise ValueError(
                f"the token has {counted(len(secret), 'character')}: it must be at least 16 visible ASCII characters "
                "without spaces, otherwise it could be guessed or could not be sent; generate one with "
                "python3 -c 'import secrets; print(secrets.token_urlsafe(32))'"
            )
        return token
