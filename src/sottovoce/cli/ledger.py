"""``sottovoce ledger`` and ``limits``: what a participant released, and what they allow."""

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from sottovoce.cli.option_groups import grouped
from sottovoce.cli.output import JsonOption, console, plain_table, print_json
from sottovoce.cli.participant import USUAL_DEVICE, DeviceOptions, FileOption, described, opened, print_sent, title
from sottovoce.errors import BadParameter

if TYPE_CHECKING:
    from sottovoce.device import ParticipantFile
    from sottovoce.protocol import Manifest


@grouped
def ledger(
    send: Annotated[bool, typer.Option("--send", help="Send queued reports and withdrawals first.")] = False,
    device: DeviceOptions = USUAL_DEVICE,
    json: JsonOption = False,
) -> None:
    """Show what was released, to whom and under which promise, and how much of the participant's limit is left."""
    from sottovoce.device import flush

    with device.opened() as mine:
        if send:
            sent = flush(mine, device.client, device.retries())
            print_sent(sent, to_stderr=True)
        limits, spent = mine.limits, mine.spent()
        left = limits.left(spent)
        if json:
            print_json({
                "file": str(mine.path), "limits": vars(limits), "spent": vars(spent), "left": vars(left),
                "campaigns": [
                    {**described(entry), "consents": mine.consents(entry.campaign),
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
        "learnt cannot be taken back, so a withdrawal does not lower these figures.",
        highlight=False,
    )


def _show_ledger(mine: "ParticipantFile") -> None:
    table = plain_table("campaign", "server", "when", "tasks", "promise", "state")
    for entry in mine.memberships():
        promise, manifest = entry.promise, entry.manifest
        protects = "each reading" if manifest.unit == "reading" else "all readings together"
        words = f"ε {promise.epsilon:.4g}, δ {promise.delta:.4g}; {protects}, {_apart(manifest)}"
        releases = mine.releases(entry.campaign)
        for place, one in enumerate(releases):
            state = one.state if one.problem is None else f"{one.state}: {one.problem}"
            when = one.released_at.partition("+")[0].replace("T", " ")
            tasks = mine.tasks_of(one.report_id)
            shown = ", ".join(list(tasks)[:3]) + (f" and {len(tasks) - 3} more" if len(tasks) > 3 else "")
            table.add_row(
                escape(title(manifest)), entry.server, when, escape(shown), "counted above" if place else words, state
            )
        if not releases:
            state = "withdrawn" if entry.withdrawn_at else "joined" if entry.participant_token else "not enrolled yet"
            table.add_row(escape(title(manifest)), entry.server, "", "none yet", words, state)
    if table.row_count:
        console.print(table)
    else:
        console.print("You have not joined any campaign.")


def limits(
    preset: Annotated[
        str | None, typer.Argument(help="strict, usual or loose; options change individual limits.", show_default=False)
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Largest ε accepted for one campaign.", show_default=False)
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="Largest δ accepted for one campaign.", show_default=False)
    ] = None,
    distance: Annotated[
        float | None,
        typer.Option(help="Smallest protected distance, as a share of a task's range.", show_default=False),
    ] = None,
    total_epsilon: Annotated[
        float | None, typer.Option(help="Largest ε accepted for all campaigns together.", show_default=False)
    ] = None,
    total_delta: Annotated[
        float | None, typer.Option(help="Largest δ accepted for all campaigns together.", show_default=False)
    ] = None,
    file: FileOption = None,
    json: JsonOption = False,
) -> None:
    """Show or change the participant's own limits. Campaigns that promise less are refused."""
    from dataclasses import replace

    from sottovoce.device.participant_limits import PRESETS
    from sottovoce.privacy.sentence import guessed

    options = {"epsilon": epsilon, "delta": delta, "distance": distance, "total_epsilon": total_epsilon,
             "total_delta": total_delta}  # fmt: skip
    changes = {name: limit for name, limit in options.items() if limit is not None}
    if preset is not None and preset not in PRESETS:
        raise BadParameter(f"limits {preset!r}: there is no such preset; choose one of {', '.join(PRESETS)}")
    with opened(file) as mine:
        if preset or changes:
            mine.set_limits(replace(PRESETS[preset] if preset else mine.limits, **changes))
        mine_now = mine.limits
    if json:
        print_json(vars(mine_now))
        return
    name = f"These are the {mine_now.preset} limits. " if mine_now.preset else ""
    console.print(
        f"{name}In one campaign, somebody who guesses which of two similar readings is yours would be right "
        f"{guessed(mine_now.epsilon, mine_now.delta)}.\n"
        f"Each campaign: ε at most {mine_now.epsilon:.4g}, δ at most {mine_now.delta:.4g}, with a "
        f"protected distance of at least {mine_now.distance:.4g} of a task's range.\n"
        f"All campaigns together: ε at most {mine_now.total_epsilon:.4g}, δ at most {mine_now.total_delta:.4g}.",
        highlight=False,
    )


def _apart(manifest: "Manifest") -> str:
    """How far apart values are protected."""
    from sottovoce.protocol.promise import distance_words

    distances = distance_words(manifest).split(" and ")
    return " and ".join(words if words == "any value" else f"values up to {words} apart" for words in distances)


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
