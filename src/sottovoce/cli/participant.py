"""Which participant's file and which campaign a command uses, and how they are printed."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from sottovoce.cli.connection import CaOption, InsecureOption, WaitOption
from sottovoce.cli.output import console, notes
from sottovoce.errors import BadParameter

if TYPE_CHECKING:
    from sottovoce.device import Client, Membership, ParticipantFile, RetryPolicy, SendOutcome
    from sottovoce.protocol import Manifest

FILE_VARIABLE = "SOTTOVOCE_PARTICIPANT_FILE"


def _usual_file() -> Path:
    if sys.platform in ("win32", "darwin"):
        return Path(typer.get_app_dir("sottovoce")) / "participant.db"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "sottovoce" / "participant.db"


FileOption = Annotated[
    Path | None,
    typer.Option("--file", envvar=FILE_VARIABLE, help="The participant's file; by default in the user's data folder."),
]
CampaignOption = Annotated[
    str | None, typer.Option("--campaign", help="Id of the campaign; not needed if there is only one.")
]


def opened(file: Path | None) -> "ParticipantFile":
    """The given file, or this user's default one."""
    from sottovoce.device import ParticipantFile

    return ParticipantFile(file or _usual_file())


@dataclass(frozen=True)
class DeviceOptions:
    """The participant's file, and how its reports reach a server."""

    file: FileOption = None
    ca: CaOption = None
    insecure_http: InsecureOption = False
    wait: WaitOption = 30.0

    def opened(self) -> "ParticipantFile":
        return opened(self.file)

    def client(self, server: str) -> "Client":
        """A client for the server at an address."""
        from sottovoce.device import Client

        return Client(server, ca=self.ca, insecure_http=self.insecure_http)

    def retries(self, most: float | None = None) -> "RetryPolicy":
        """Retries for as long as --wait allows, but for at most this many seconds."""
        from sottovoce.device import RetryPolicy

        return RetryPolicy(seconds=self.wait if most is None else min(self.wait, most))


USUAL_DEVICE = DeviceOptions()


def chosen_campaign(mine: "ParticipantFile", campaign: str | None, how: str = "--campaign") -> "Membership":
    """The named campaign, or the only one; ``how`` is what the message tells people to name it with."""
    from sottovoce.protocol import Problem

    joined = [entry for entry in mine.memberships() if entry.campaign == campaign or campaign is None]
    if campaign is None and len(joined) > 1:
        joined = [entry for entry in joined if not entry.withdrawn_at]
        if not joined:
            raise Problem(
                "not_joined",
                "no campaign: you have withdrawn from all that you joined",
                fix="join another one with its invitation link first",
            )
    if not joined:
        if campaign:
            raise Problem("not_joined", f"campaign {campaign!r}: you have not joined it")
        raise Problem(
            "not_joined", "no campaign: you have not joined one yet", fix="join one with its invitation link first"
        )
    if len(joined) > 1:
        names = ", ".join(entry.campaign for entry in joined)
        raise BadParameter(f"{len(joined)} campaigns: it is not clear which one you mean; give {how}, one of {names}")
    return joined[0]


def title(manifest: "Manifest") -> str:
    """A campaign's title in its own language."""
    return manifest.words(manifest.title)


def described(entry: "Membership") -> dict[str, Any]:
    """A joined campaign, for JSON output."""
    from sottovoce.protocol.promise import distance_words

    manifest = entry.manifest
    return {
        "campaign": entry.campaign, "title": title(manifest), "asked_by": manifest.words(manifest.asked_by),
        "server": entry.server,
        "manifest_sha256": manifest.sha256, "noise": manifest.noise, "joined_at": entry.joined_at,
        "enrolled": entry.participant_token is not None, "withdrawn_at": entry.withdrawn_at,
        "promise": {**vars(entry.promise), "distance": distance_words(manifest), "unit": manifest.unit},
    }  # fmt: skip


def print_sent(sent: "list[SendOutcome]", to_stderr: bool = False) -> None:
    """Print the outcome of each report."""
    screen = notes if to_stderr else console
    for entry in sent:
        text = {
            "delivered": "delivered: the server has stored it",
            "refused": f"permanently refused by the server: {entry.problem}",
            "queued": f"waiting: {entry.problem}. Send it later with: sottovoce ledger --send",
        }[entry.state]
        screen.print(f"Report {entry.report_id} {escape(text)}", highlight=False, soft_wrap=True)
