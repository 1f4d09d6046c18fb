"""Settings: from the environment (``SOTTOVOCE_`` and the name in capitals), or from options of ``sottovoce serve``.

docs/reference/settings.md lists them all; a test compares.
"""

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

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
            description="Token of an administrator, at least 16 characters, added at the start if it is new; one that "
            "was replaced or revoked stays void. Without it, the first start on an empty database draws one and prints "
            "it once."
        ),
    ] = None
    public_url: Annotated[
        str | None,
        Field(description="Address of the server as participants see it, for invitation links; by default as asked."),
    ] = None

    batch_rows: Annotated[int, Field(ge=1, description="Commit when so many rows are waiting …")] = 5_000
    batch_milliseconds: Annotated[
        float, Field(ge=0, le=1_000, description="… or when the first of them has waited so long.")
    ] = 5.0
    most_waiting: Annotated[
        int, Field(ge=1, description="Refuse more (503) when so many reports are waiting to be stored.")
    ] = 10_000

    address_rate: Annotated[
        int,
        Field(
            ge=0,
            description="Requests per minute from one address (IPv6: one /64), all at once if need be; 0 for no limit. "
            "Three hundred people behind one address who enrol and report within a minute make about two thousand.",
        ),
    ] = 6_000
    token_rate: Annotated[
        int, Field(ge=0, description="Requests per minute with one token, all at once if need be; 0 for no limit.")
    ] = 600
    connections: Annotated[
        int,
        Field(
            ge=10,
            description="Connections at once; fewer if the system does not let the server open that many files.",
        ),
    ] = 10_000
    address_connections: Annotated[
        int,
        Field(
            ge=0,
            description="Connections at once from one address (IPv6: one /64), and never more than half of all; 0 for "
            "no other limit. Those of `trusted_proxies` are not counted.",
        ),
    ] = 1_000
    body_limit: Annotated[int, Field(ge=1_000, description="Largest body of a participant's request, in bytes.")] = (
        256 << 10
    )
    operator_body_limit: Annotated[
        int, Field(ge=1_000, description="Largest body of an operator's request, in bytes.")
    ] = 8 << 20
    body_seconds: Annotated[float, Field(gt=0, description="A request must have arrived whole after this long.")] = 20.0
    idle_seconds: Annotated[
        float, Field(gt=0, description="A connection that does not bring a request for this long is closed.")
    ] = 15.0
    answer_seconds: Annotated[
        float,
        Field(gt=0, description="A client that fetches less than 16 KiB of its answer in this time is cut off."),
    ] = 20.0
    stop_seconds: Annotated[
        int, Field(ge=1, description="When told to stop, wait so long for requests that are under way.")
    ] = 5

    least_claims: Annotated[
        int,
        Field(
            ge=1,
            description="Results come in steps: the truth of a task is shown from this many claims on and changes when "
            "there are this many more; so do counts, exports and which invitations are spent.",
        ),
    ] = 5
    retention_days: Annotated[
        int,
        Field(
            ge=0,
            description="Readings of a campaign are erased so many days after it closed; results stay. 0 keeps them.",
        ),
    ] = 90

    tls_cert: Annotated[Path | None, Field(description="Certificate (PEM, with its chain) to serve https.")] = None
    tls_key: Annotated[Path | None, Field(description="Private key of the certificate (PEM).")] = None
    behind_proxy: Annotated[
        bool, Field(description="Believe the X-Forwarded headers of the proxies named in `trusted_proxies`.")
    ] = False
    trusted_proxies: Annotated[
        str, Field(description="Addresses of proxies that are believed, separated by commas.")
    ] = "127.0.0.1,::1"
    metrics: Annotated[bool, Field(description="Serve figures for Prometheus at `/metrics`.")] = True
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Field(description="How much is logged, as JSON lines on stderr.")
    ] = "info"

    @field_validator("operator_token")
    @classmethod
    def _hard_to_guess(cls, token: SecretStr | None) -> SecretStr | None:
        secret = "" if token is None else token.get_secret_value()
        if token is not None and not _TOKEN.fullmatch(secret):
            # A header carries no other signs, and what surrounds a token in it is cut off.
            raise ValueError(
                f"the token has {len(secret)} characters: it must be at least 16 visible ASCII characters without "
                "spaces, or it could be guessed or not be sent; draw one with "
                "python3 -c 'import secrets; print(secrets.token_urlsafe(32))'"
            )
        return token
