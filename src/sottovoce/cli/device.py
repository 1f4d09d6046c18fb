"""``sottovoce join``, ``submit``, ``ledger``, ``limits`` and ``withdraw``: the participant's side."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from sottovoce.cli.output import JsonOption, console, notes, print_json
from sottovoce.errors import BadParameter

if TYPE_CHECKING:
    from rich.console import Console

    from sottovoce.device import Client, Membership, ParticipantFile, Sent
    from sottovoce.protocol import Manifest, Promise

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
    str | None, typer.Option("--campaign", help="Id of the campaign; not needed while there is only one.")
]
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
            f"wait {seconds}: it must be a number of seconds from 0 to {_LONGEST_WAIT:,.0f}, a week; 30 is usual"
        )
    return seconds


WaitOption = Annotated[
    float,
    typer.Option("--wait", callback=_checked_wait, help="Keep trying to reach the server for this many seconds."),
]


def join(
    link: Annotated[str, typer.Argument(help="Invitation link, https://server/j/TOKEN#sha256=HASH.")],
    yes: Annotated[bool, typer.Option("--yes", help="Consent without being asked.")] = False,
    trust_server: Annotated[
        bool, typer.Option("--trust-server", help="Accept a link without a hash, and so whatever the server offers.")
    ] = False,
    file: FileOption = None,
    ca: CaOption = None,
    insecure_http: InsecureOption = False,
    wait: WaitOption = 30.0,
    json: JsonOption = False,
) -> None:
    """Join a campaign by an invitation link, after seeing what it asks and what it promises.

    The manifest must have the hash that the link carries, and must keep the participant's own limits.
    """
    from sottovoce.device import Client, RetryPolicy
    from sottovoce.device import join as join_campaign
    from sottovoce.protocol import InvitationLink

    def agree(manifest: "Manifest", promise: "Promise") -> bool:
        if not (json and yes):
            _show_manifest(manifest, promise, notes if json else console)
        return yes or typer.confirm("Do you want to take part?", err=True)

    invitation = InvitationLink.parse(link)
    if trust_server and invitation.manifest_sha256 is None:
        notes.print(
            "[yellow]Warning:[/] the link carries no hash, so you rely on the server alone. It could offer each "
            "participant different terms; compare the manifest's hash below with somebody else's.",
            highlight=False,
        )
    retries = RetryPolicy(seconds=wait)
    with _opened(file) as mine, Client(invitation.server, ca=ca, insecure_http=insecure_http) as client:
        membership = retries.run(
            lambda: join_campaign(mine, invitation, client, agree=agree, trust_server=trust_server), retries.deadline()
        )
    if json:
        print_json(_described(membership))
        return
    console.print(
        f"You have joined [bold]{escape(_title(membership.manifest))}[/] (campaign {membership.campaign}).\n"
        f"Manifest: sha256 {membership.manifest.sha256}\n"
        f"Next: sottovoce submit READINGS.csv --campaign {membership.campaign}",
        highlight=False, soft_wrap=True,
    )  # fmt: skip


def _title(manifest: "Manifest") -> str:
    return manifest.words(manifest.title)


def _show_manifest(manifest: "Manifest", promise: "Promise", screen: "Console") -> None:
    from sottovoce.privacy.sentence import figures
    from sottovoce.protocol import ChoiceTask, NumberTask
    from sottovoce.protocol.promise import sentence

    said = manifest.words
    screen.print(f"[bold]{escape(_title(manifest))}[/], asked by {escape(said(manifest.asked_by))}", highlight=False)
    if manifest.purpose:
        screen.print(escape(said(manifest.purpose)), highlight=False)
    drawn = ", drawn by your device," if manifest.device_draws else ""
    laws = " and ".join(dict.fromkeys(map(str, manifest.laws.values())))
    screen.print(
        f"Up to {manifest.most_readings} readings{drawn} of {len(manifest.tasks)} tasks, noise {laws}"
        + (f", until {manifest.deadline}" if manifest.deadline else ""),
        highlight=False,
    )
    numbers = any(isinstance(task, NumberTask) for task in manifest.tasks[:10])
    questions = any(isinstance(task, ChoiceTask) for task in manifest.tasks[:10])
    table = Table(box=None, header_style="bold", pad_edge=False)
    ranges, choices = ("from", "to", "grid", "unit") if numbers else (), ("choices",) if questions else ()
    for heading in ("task", "what", *ranges, *choices):
        table.add_column(heading)
    for task in manifest.tasks[:10]:
        cells = [escape(task.id), escape(said(task.title))]
        if isinstance(task, NumberTask):
            cells += [task.low, task.high, task.grid, escape(said(task.unit))]
        elif isinstance(task, ChoiceTask):
            cells += [""] * len(ranges) + [escape(" / ".join(map(said, task.choices)))]
        table.add_row(*cells)
    screen.print(table)
    if len(manifest.tasks) > 10:
        screen.print(f"and {len(manifest.tasks) - 10} more")
    screen.print(f"\n{sentence(manifest, promise)}", highlight=False)
    screen.print(f"{figures(promise.epsilon, promise.delta)}\n", highlight=False)


def submit(
    readings: Annotated[
        Path | None, typer.Argument(help="Readings as CSV with the columns task and value.", show_default=False)
    ] = None,
    reading: Annotated[
        list[str] | None, typer.Option("--reading", help="One reading, TASK=VALUE; may be repeated.")
    ] = None,
    campaign: CampaignOption = None,
    keep_readings: Annotated[
        bool, typer.Option("--keep-readings", help="Keep the raw readings in the participant's file.")
    ] = False,
    file: FileOption = None,
    ca: CaOption = None,
    insecure_http: InsecureOption = False,
    wait: WaitOption = 30.0,
    json: JsonOption = False,
) -> None:
    """Add noise to readings, once, and send them. What cannot be sent now is queued and sent later.

    A task is released only once: a changed reading is refused, since two noisy copies reveal more than one.
    """
    from sottovoce.device import RetryPolicy, flush, release
    from sottovoce.device.cuts import fetch_cuts
    from sottovoce.device.release import add_reading, read_readings
    from sottovoce.protocol import Problem

    if (readings is None) == (not reading):
        raise BadParameter("readings: they come from a file or from --reading TASK=VALUE; give one of the two")
    taken = read_readings(readings) if readings else {}
    for text in reading or ():
        task, mark, value = text.rpartition("=")
        if not mark:
            raise BadParameter(f"reading {text!r}: it must be TASK=VALUE; for example --reading hall-1=12.5")
        add_reading(taken, task, value)
    with _opened(file) as mine:
        chosen = _chosen(mine, campaign).campaign
        refusal = None
        try:
            fetch_cuts(mine, chosen, _connection(ca, insecure_http), RetryPolicy(seconds=min(wait, 5.0)))
            made = release(mine, chosen, taken, keep_readings=keep_readings)
        except Problem as problem:
            if problem.code not in ("already_released", "one_release_only"):
                raise
            refusal = problem  # but earlier releases may still be queued
        sent = flush(mine, _connection(ca, insecure_http), RetryPolicy(seconds=wait), chosen)
        if refusal:
            _print_sent(sent, to_stderr=True)
            raise refusal
        # Another process may have sent ours in the meantime.
        (state,) = [entry.state for entry in mine.releases(chosen) if entry.report_id == made.report_id]
        tasks = list(mine.tasks_of(made.report_id))
    refused = next((entry.problem for entry in sent if entry.report_id == made.report_id), None)
    if state == "refused" and refused:
        raise refused
    if json:
        print_json({"campaign": chosen, "report_id": made.report_id, "tasks": tasks,
                    "not_asked": sorted(taken.keys() - set(tasks)), "state": state,
                    "problem": refused and refused.code})  # fmt: skip
        return
    _print_sent(sent)
    if len(tasks) < len(taken):
        console.print(
            f"{len(taken) - len(tasks)} of the {len(taken)} readings stay here: the campaign asks each device for a "
            "few of its tasks, and yours drew them when you joined, before it knew any reading.",
            highlight=False,
        )


def _print_sent(sent: "list[Sent]", to_stderr: bool = False) -> None:
    screen = notes if to_stderr else console
    for entry in sent:
        text = {
            "delivered": "delivered: the server has stored it",
            "refused": f"refused by the server permanently: {entry.problem}",
            "queued": f"waiting: {entry.problem}. Send it later with: sottovoce ledger --send",
        }[entry.state]
        screen.print(f"Report {entry.report_id} {escape(text)}", highlight=False, soft_wrap=True)


def ledger(
    send: Annotated[bool, typer.Option("--send", help="First send what is queued.")] = False,
    file: FileOption = None,
    ca: CaOption = None,
    insecure_http: InsecureOption = False,
    wait: WaitOption = 30.0,
    json: JsonOption = False,
) -> None:
    """Show what was released, to whom and under which promise, and how much of the participant's limit is left."""
    from sottovoce.device import RetryPolicy, flush

    with _opened(file) as mine:
        if send:
            sent = flush(mine, _connection(ca, insecure_http), RetryPolicy(seconds=wait))
            _print_sent(sent, to_stderr=True)
        limits, spent = mine.limits, mine.spent()
        left = limits.left(spent)
        if json:
            print_json({
                "file": str(mine.path), "limits": vars(limits), "spent": vars(spent), "left": vars(left),
                "campaigns": [
                    {**_described(entry), "consents": mine.consents(entry.campaign),
                     "releases": _releases(mine, entry.campaign)}
                    for entry in mine.memberships()
                ],
            })  # fmt: skip
            return
        _show_ledger(mine)
    console.print(
        f"\nAll campaigns together: ε {spent.epsilon:.4g} of {limits.total_epsilon:.4g}, "
        f"δ {spent.delta:.4g} of {limits.total_delta:.4g}; left: ε {left.epsilon:.4g}, δ {left.delta:.4g}.\n"
        "Each campaign counts once, in full, from its first release on; ε and δ add up (basic composition). What was "
        "learnt cannot be taken back, so a withdrawal restores nothing.",
        highlight=False,
    )


def _show_ledger(mine: "ParticipantFile") -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("campaign", "server", "when", "tasks", "promise", "state"):
        table.add_column(heading, overflow="fold")
    for entry in mine.memberships():
        promise, manifest = entry.promise, entry.manifest
        words = f"ε {promise.epsilon:.4g}, δ {promise.delta:.4g}; {manifest.unit}, {_apart(manifest)}"
        releases = mine.releases(entry.campaign)
        for one in releases:
            state = one.state if one.problem is None else f"{one.state}: {one.problem}"
            when = one.released_at.partition("+")[0].replace("T", " ")
            tasks = mine.tasks_of(one.report_id)
            shown = ", ".join(list(tasks)[:3]) + (f" and {len(tasks) - 3} more" if len(tasks) > 3 else "")
            table.add_row(escape(_title(manifest)), entry.server, when, escape(shown), words, state)
        if not releases:
            state = "withdrawn" if entry.withdrawn_at else "joined" if entry.participant_token else "not enrolled yet"
            table.add_row(escape(_title(manifest)), entry.server, "", "none yet", words, state)
    if table.row_count:
        console.print(table)
    else:
        console.print("You have not joined any campaign.")


def limits(
    epsilon: Annotated[float | None, typer.Option(help="Largest ε of a campaign.", show_default=False)] = None,
    delta: Annotated[float | None, typer.Option(help="Largest δ of a campaign.", show_default=False)] = None,
    distance: Annotated[
        float | None, typer.Option(help="Smallest distance, as a share of a task's range.", show_default=False)
    ] = None,
    total_epsilon: Annotated[
        float | None, typer.Option(help="Largest ε of all campaigns together.", show_default=False)
    ] = None,
    total_delta: Annotated[
        float | None, typer.Option(help="Largest δ of all campaigns together.", show_default=False)
    ] = None,
    file: FileOption = None,
    json: JsonOption = False,
) -> None:
    """Show or change the participant's own limits. Campaigns that promise less are refused."""
    from dataclasses import replace

    options = {"epsilon": epsilon, "delta": delta, "distance": distance, "total_epsilon": total_epsilon,
             "total_delta": total_delta}  # fmt: skip
    changes = {name: limit for name, limit in options.items() if limit is not None}
    with _opened(file) as mine:
        if changes:
            mine.set_limits(replace(mine.limits, **changes))
        mine_now = mine.limits
    if json:
        print_json(vars(mine_now))
        return
    console.print(
        f"Each campaign: ε at most {mine_now.epsilon:.4g}, δ at most {mine_now.delta:.4g}, for values at least "
        f"{mine_now.distance:.4g} of a task's range apart.\n"
        f"All campaigns together: ε at most {mine_now.total_epsilon:.4g}, δ at most {mine_now.total_delta:.4g}.",
        highlight=False,
    )


def withdraw(
    campaign: Annotated[str | None, typer.Argument(help="Id of the campaign.", show_default=False)] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Withdraw without being asked.")] = False,
    file: FileOption = None,
    ca: CaOption = None,
    insecure_http: InsecureOption = False,
    wait: WaitOption = 30.0,
    json: JsonOption = False,
) -> None:
    """Withdraw from a campaign: nothing more is sent, and the server is asked to erase the readings."""
    from sottovoce.device import RetryPolicy
    from sottovoce.device import withdraw as withdraw_from
    from sottovoce.protocol import Problem

    with _opened(file) as mine:
        chosen = _chosen(mine, campaign)
        if not (yes or typer.confirm(f"Withdraw permanently from {_title(chosen.manifest)!r}?", err=True)):
            raise Problem("no_consent", f"campaign {chosen.campaign!r}: you did not confirm the withdrawal")
        confirmed = withdraw_from(
            mine, chosen.campaign, _connection(ca, insecure_http), RetryPolicy(seconds=wait)
        )  # fmt: skip
    if json:
        print_json({"campaign": chosen.campaign, "confirmed": confirmed})
        return
    console.print(
        "You have withdrawn; the server has confirmed that it erased your readings. What it learnt from them before "
        "cannot be taken back, so they stay in your ledger."
        if confirmed
        else "You have withdrawn; nothing more is sent. The server could not be reached; notify it later with: "
        "sottovoce ledger --send",
        highlight=False,
    )


def _opened(file: Path | None) -> "ParticipantFile":
    from sottovoce.device import ParticipantFile

    return ParticipantFile(file or _usual_file())


def _connection(ca: Path | None, insecure_http: bool) -> "Callable[[str], Client]":
    from sottovoce.device import Client

    return lambda server: Client(server, ca=ca, insecure_http=insecure_http)


def _chosen(mine: "ParticipantFile", campaign: str | None) -> "Membership":
    """The chosen campaign: the named one, or the only one."""
    from sottovoce.protocol import Problem

    joined = [entry for entry in mine.memberships() if entry.campaign == campaign or campaign is None]
    if campaign is None and len(joined) > 1:
        joined = [entry for entry in joined if not entry.withdrawn_at]
    if not joined:
        name = f"campaign {campaign!r}" if campaign else "no campaign"
        raise Problem("not_joined", f"{name}: you have not joined it" if campaign else f"{name}: you have joined none")
    if len(joined) > 1:
        names = ", ".join(entry.campaign for entry in joined)
        raise BadParameter(f"{len(joined)} campaigns: it is not clear which one is meant; give --campaign, of {names}")
    return joined[0]


def _apart(manifest: "Manifest") -> str:
    """How far apart values are protected."""
    from sottovoce.protocol.promise import distance_words

    words = distance_words(manifest)
    return words if words == "any value" else f"{words} apart"


def _described(entry: "Membership") -> dict[str, Any]:
    from sottovoce.protocol.promise import distance_words

    manifest = entry.manifest
    return {
        "campaign": entry.campaign, "title": _title(manifest), "asked_by": manifest.words(manifest.asked_by),
        "server": entry.server,
        "manifest_sha256": manifest.sha256, "noise": manifest.noise, "joined_at": entry.joined_at,
        "enrolled": entry.participant_token is not None, "withdrawn_at": entry.withdrawn_at,
        "promise": {**vars(entry.promise), "distance": distance_words(manifest), "unit": manifest.unit},
    }  # fmt: skip


def _releases(mine: "ParticipantFile", campaign: str) -> list[dict[str, Any]]:
    described = []
    for one in mine.releases(campaign):
        tasks = mine.tasks_of(one.report_id)
        kept = {task: reading for task, reading in tasks.items() if reading is not None}
        described.append({
            "report_id": one.report_id, "released_at": one.released_at, "tasks": list(tasks), "state": one.state,
            "problem": one.problem, "detail": one.detail, **({"readings": kept} if kept else {}),
        })  # fmt: skip
    return described
