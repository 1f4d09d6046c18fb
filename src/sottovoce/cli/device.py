"""``sottovoce join``, ``submit`` and ``withdraw``: the participant's side."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from sottovoce.cli.option_groups import grouped
from sottovoce.cli.output import JsonOption, console, notes, plain_table, print_json
from sottovoce.cli.participant import (
    USUAL_DEVICE,
    CampaignOption,
    DeviceOptions,
    chosen_campaign,
    described,
    print_sent,
    title,
)
from sottovoce.digits import counted
from sottovoce.errors import BadParameter, SottovoceError

if TYPE_CHECKING:
    from rich.console import Console

    from sottovoce.protocol import Manifest, Promise


@grouped
def join(
    link: Annotated[
        str,
        typer.Argument(help="Invitation link, https://server/j/TOKEN#sha256=HASH; with --code, the server's address."),
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Consent without a confirmation prompt.")] = False,
    trust_server: Annotated[
        bool,
        typer.Option(
            "--trust-server",
            help="Accept a link without a hash, and any terms within your limits that the server offers.",
        ),
    ] = False,
    code: Annotated[
        str | None,
        typer.Option(help="Short code of an invitation. It does not fix the terms, so it needs --trust-server."),
    ] = None,
    device: DeviceOptions = USUAL_DEVICE,
    json: JsonOption = False,
) -> None:
    """Join a campaign with an invitation link, after seeing what it asks and what it promises.

    The manifest must have the hash in the link, and what it promises must be within the participant's own limits.
    """
    from sottovoce.device import join as join_campaign
    from sottovoce.protocol import InvitationLink, Problem
    from sottovoce.protocol.links import server_address

    def agree(manifest: "Manifest", promise: "Promise") -> bool:
        if not (json and yes):
            _show_manifest(manifest, promise, notes if json else console)
        return yes or typer.confirm("Do you want to take part?", err=True)

    if code is None:
        invitation = InvitationLink.parse(link)
    elif not trust_server:
        raise Problem("link_without_hash", "the code: it carries no hash, so the server could offer anything")
    else:
        server = server_address(link.partition("/j/")[0])
        with device.client(server) as client:
            token = client.invitation_of(code)
        invitation = InvitationLink(server, token, None)
    if trust_server and invitation.manifest_sha256 is None:
        notes.print(
            f"[yellow]Warning:[/] the {'code' if code else 'link'} carries no hash, so you rely on the server alone. "
            "It could offer each participant different terms; compare the manifest's hash below with somebody else's.",
            highlight=False,
        )
    retries = device.retries()
    with device.opened() as mine, device.client(invitation.server) as client:
        membership = retries.run(
            lambda: join_campaign(mine, invitation, client, agree=agree, trust_server=trust_server), retries.deadline()
        )
    if json:
        print_json(described(membership))
        return
    console.print(
        f"You have joined [bold]{escape(title(membership.manifest))}[/] (campaign {membership.campaign}).\n"
        f"Manifest: sha256 {membership.manifest.sha256}\n"
        f"Next: sottovoce submit READINGS.csv --campaign {membership.campaign}",
        highlight=False, soft_wrap=True,
    )  # fmt: skip


def _show_manifest(manifest: "Manifest", promise: "Promise", screen: "Console") -> None:
    from sottovoce.privacy.sentence import figures
    from sottovoce.protocol import ChoiceTask, NumberTask
    from sottovoce.protocol.promise import guess_sentence, sentence, terms

    said = manifest.words
    screen.print(f"[bold]{escape(title(manifest))}[/], asked by {escape(said(manifest.asked_by))}", highlight=False)
    if manifest.purpose:
        screen.print(escape(said(manifest.purpose)), highlight=False)
    many = len(manifest.tasks)
    asked = f"tasks that your device draws out of {many}" if manifest.device_draws else counted(many, "task")
    laws = " and ".join(dict.fromkeys(map(str, manifest.laws.values())))
    screen.print(
        f"Up to {counted(manifest.most_readings, 'reading')} for {asked}, noise {laws}"
        + (f", until {manifest.deadline}" if manifest.deadline else ""),
        highlight=False,
    )
    numbers = any(isinstance(task, NumberTask) for task in manifest.tasks[:10])
    questions = any(isinstance(task, ChoiceTask) for task in manifest.tasks[:10])
    ranges, choices = ("from", "to", "grid", "unit") if numbers else (), ("choices",) if questions else ()
    table = plain_table("task", "what", *ranges, *choices)
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
    screen.print(f"\n{guess_sentence(manifest, promise)}\n", highlight=False)
    screen.print(sentence(manifest, promise), highlight=False)
    screen.print(f"{figures(promise.epsilon, promise.delta)}\n", highlight=False)
    screen.print(" ".join(terms(manifest)) + "\n", highlight=False)


@grouped
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
    device: DeviceOptions = USUAL_DEVICE,
    json: JsonOption = False,
) -> None:
    """Add noise to readings, once, and send them. What cannot be sent now is queued.

    Readings are final. Each task's reading is released only once: a second one is refused, since two noisy copies
    reveal more than one does. If the server reports that the campaign has closed, nothing is released, and nothing
    counts against your limits. Queued reports are sent by the next submit to the same campaign, or by sottovoce
    ledger --send.
    """
    from sottovoce.device import flush, release
    from sottovoce.device.cuts import fetch_cuts, require_open
    from sottovoce.device.quotas import fetch_full
    from sottovoce.device.release import add_reading, clipped_readings, read_readings
    from sottovoce.protocol import Problem

    if (readings is None) == (not reading):
        raise BadParameter("readings: they come from a file or from --reading TASK=VALUE; give one of the two")
    taken = read_readings(readings) if readings else {}
    for text in reading or ():
        task, mark, value = text.rpartition("=")
        if not mark:
            raise BadParameter(f"reading {text!r}: it must be TASK=VALUE; for example --reading hall-1=12.5")
        add_reading(taken, task, value)
    with device.opened() as mine:
        chosen = chosen_campaign(mine, campaign).campaign
        refusal = None
        try:
            require_open(mine, chosen, device.client)
            fetch_cuts(mine, chosen, device.client, device.retries(5.0))
            full = fetch_full(mine, chosen, device.client, device.retries(5.0))
            made = release(mine, chosen, taken, keep_readings=keep_readings, full=full)
        except Problem as problem:
            if problem.code not in ("already_released", "one_release_only"):
                raise
            refusal = problem  # but earlier releases may still be queued
        sent = flush(mine, device.client, device.retries(), chosen)
        if refusal:
            print_sent(sent, to_stderr=True)
            raise refusal
        # Another process may have sent this report in the meantime.
        (state,) = [entry.state for entry in mine.releases(chosen) if entry.report_id == made.report_id]
        tasks = list(mine.tasks_of(made.report_id))
        clipped = clipped_readings(chosen_campaign(mine, chosen).manifest, {task: taken[task] for task in tasks})
    refused = next((entry.problem for entry in sent if entry.report_id == made.report_id), None)
    if state == "refused" and refused:
        raise refused
    if json:
        print_json({"campaign": chosen, "report_id": made.report_id, "tasks": tasks,
                    "not_asked": sorted(taken.keys() - set(tasks)), "full": sorted(full & taken.keys()),
                    "clipped": clipped, "state": state,
                    "problem": refused and refused.code})  # fmt: skip
        return
    print_sent(sent)
    if clipped:
        console.print(
            "For readings outside the task's range, the nearest end of the range was used: "
            f"{escape(', '.join(clipped))}.",
            highlight=False,
        )
    if left_out := full & taken.keys():
        console.print(
            f"{_not_sent(len(left_out), len(taken))}: "
            f"{'its task has' if len(left_out) == 1 else 'their tasks have'} enough readings.",
            highlight=False,
        )
    if (not_drawn := len(taken) - len(left_out) - len(tasks)) > 0:
        console.print(
            f"{_not_sent(not_drawn, len(taken))}: each device answers only some of the campaign's "
            "tasks, and yours drew them at random when you joined, before you entered any reading.",
            highlight=False,
        )


def _not_sent(count: int, taken: int) -> str:
    return f"{count} of your {counted(taken, 'reading')} {'was' if count == 1 else 'were'} not sent"


@grouped
def withdraw(
    campaign: Annotated[str | None, typer.Argument(help="Id of the campaign.", show_default=False)] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Withdraw without a confirmation prompt.")] = False,
    device: DeviceOptions = USUAL_DEVICE,
    json: JsonOption = False,
) -> None:
    """Withdraw from a campaign: nothing more is sent, and the server is asked to erase the readings."""
    from sottovoce.device import withdraw as withdraw_from

    with device.opened() as mine:
        chosen = chosen_campaign(mine, campaign, "its id")
        if not (yes or typer.confirm(f"Withdraw permanently from {title(chosen.manifest)!r}?", err=True)):
            raise SottovoceError(
                f"campaign {chosen.campaign!r}: you did not confirm the withdrawal, so you still take part; run the "
                "command again to withdraw"
            )
        nothing_sent = chosen.participant_token is None or not mine.releases(chosen.campaign)
        confirmed = withdraw_from(mine, chosen.campaign, device.client, device.retries())
    if json:
        print_json({"campaign": chosen.campaign, "confirmed": confirmed})
        return
    if confirmed and nothing_sent:
        console.print("You have withdrawn. You had sent no readings, so there are none to erase.", highlight=False)
        return
    console.print(
        "You have withdrawn; the server has confirmed that it erased your readings. What it learnt from them before "
        "cannot be taken back, so they stay in your ledger."
        if confirmed
        else "You have withdrawn; nothing more is sent. The server could not be reached; notify it later with: "
        "sottovoce ledger --send",
        highlight=False,
    )
