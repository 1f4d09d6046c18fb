"""``sottovoce campaign``: create and run campaigns on a running server."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from sottovoce.cli import campaign_results, invitations, logo, operators, plans, texts, webhook
from sottovoce.cli import tasks as tasks_command
from sottovoce.cli.command_line import CommandLine
from sottovoce.cli.connection import CampaignArgument, connected
from sottovoce.cli.output import console, plain_table, print_done, print_json, promise_words
from sottovoce.digits import counted
from sottovoce.errors import BadParameter

if TYPE_CHECKING:
    from sottovoce.operators.client import OperatorClient

app = CommandLine(help="Run campaigns on a server: create, open, invite, watch, export, close.")
app.add_typer(operators.app, name="operators")


@app.command()
@connected
def create(
    client: "OperatorClient",
    tasks: Annotated[
        Path | None,
        typer.Argument(
            help="Tasks as XLSX or CSV (title, unit, low, high, grid, choices, quota, known), or a whole campaign as "
            "JSON.",
            show_default=False,
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="The title that participants see.")] = None,
    asked_by: Annotated[str | None, typer.Option(help="Who is asking; the operator's name by default.")] = None,
    purpose: Annotated[str | None, typer.Option(help="What the results are for.")] = None,
    contact: Annotated[
        str | None,
        typer.Option(
            help="Where participants can ask questions: an e-mail or web address, a telephone number, a place."
        ),
    ] = None,
    noise: Annotated[
        list[str] | None,
        typer.Option(
            help="Noise law, such as fresh:0.5; sottovoce plan finds one. If both numbers and choices are asked for, "
            "give it twice: a law that adds noise to numbers, and a response law for choices. With a response law "
            "alone, such as response:1, numbers are compared with published values, which protects any value."
        ),
    ] = None,
    distance: Annotated[
        str | None, typer.Option(help="Protected distance: values up to this far apart are hard to distinguish.")
    ] = None,
    levels: Annotated[
        int | None,
        typer.Option(help="If numbers are compared: levels per answer, 2 or 4; by default, chosen according to ε."),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            help="What the promise protects: reading (each by itself) or participant (all of a participant's readings "
            "together)."
        ),
    ] = None,
    readings: Annotated[
        int | None, typer.Option(help="Maximum number of readings per participant; by default, one per task.")
    ] = None,
    deadline: Annotated[
        str | None, typer.Option(help="When the campaign closes automatically, such as 2030-01-31T12:00:00Z.")
    ] = None,
    method: Annotated[str | None, typer.Option(help="Method for the results, as in sottovoce discover --help.")] = None,
    target: Annotated[
        str | None,
        typer.Option(
            help="What the truth of a number is: value (what a careful person would measure) or mean (the crowd's "
            "average opinion)."
        ),
    ] = None,
    previous: Annotated[
        str | None,
        typer.Option(help="Make the next version of this campaign; options that are left out keep their values."),
    ] = None,
    picture: plans.PictureOption = None,
    places: plans.PlacesOption = None,
    frame: plans.FrameOption = None,
    decimal: tasks_command.DecimalOption = None,
    encoding: tasks_command.EncodingOption = None,
    json: bool = False,
) -> None:
    """Make a draft of a campaign. Nobody is asked anything until it is opened."""
    from sottovoce.operators.drafts import read_draft
    from sottovoce.operators.plans import create_with_plan
    from sottovoce.protocol.drafting import noise_of

    plans.check_options(places, frame)

    options = {
        "title": title, "asked_by": asked_by, "purpose": purpose, "contact": contact, "distance": distance,
        "unit": unit, "noise": noise_of(noise) if noise else None, "readings": readings,
        "deadline": deadline, "method": method, "target": target, "levels": levels,
    }  # fmt: skip
    draft, notes = read_draft(tasks, decimal, encoding) if tasks else ({}, [])
    draft |= {name: entry for name, entry in options.items() if entry is not None}
    # Questions need no distance: an answer is protected whatever it is.
    numbers = any(isinstance(task, dict) and not task.get("choices") for task in draft.get("tasks", [{}]))
    if numbers and "tasks" in draft and (usual := _levels_for(draft)):
        draft["levels"] = usual
    needed = {
        "tasks": "every campaign needs at least one",
        "distance": "every campaign that adds noise to numbers needs one",
    }
    for name in ("tasks", "title", "noise", *(("distance",) if numbers and _adds_noise(draft) else ())):
        if name not in draft and not previous:
            way = "name a file of tasks" if name == "tasks" else f"give --{name}, or a JSON file that has it"
            raise BadParameter(f"no {name}: {needed.get(name, 'every campaign needs one')}; {way}")
    tasks_command.print_notes(notes)
    made = (
        create_with_plan(client, draft, previous, picture, places, frame)
        if picture or places
        else client.create(draft, previous)
    )
    if json:
        print_json(made)
        return
    console.print(
        f"Draft {made['id']}: {escape(made['title'])}, {_tasks_of(made)}, noise {_laws_of(made)}.\n"
        f"Next: sottovoce campaign open {made['id']}",
        highlight=False,
    )


@app.command()
@connected
def duplicate(
    client: "OperatorClient",
    campaign: CampaignArgument,
    title: Annotated[str | None, typer.Option(help="Another title; the same by default.")] = None,
    json: bool = False,
) -> None:
    """Copy a campaign into a new draft, for other people: its tasks, texts, plan, noise, quotas and known truths."""
    made = client.duplicate(campaign, {} if title is None else {"title": title})
    print_done(
        json,
        made,
        f"Draft {made['id']}: {made['title']}, {_tasks_of(made)}, without invitations or readings.\n"
        f"Next: sottovoce campaign open {made['id']}",
    )


@app.command("list")
@connected
def list_campaigns(client: "OperatorClient", json: bool = False) -> None:
    """List your own campaigns, newest first."""
    campaigns = client.campaigns()
    if json:
        print_json({"campaigns": campaigns})
        return
    table = plain_table("campaign", "title", "state", "reports", "deadline")
    table.columns[0].no_wrap = True  # an id is copied whole
    for entry in campaigns:
        table.add_row(
            entry["id"], escape(entry["title"]), entry["state"], f"{entry['reports']:,}", entry["deadline"] or "none"
        )
    console.print(table if campaigns else "There are no campaigns yet.")


@app.command("open")
@connected
def open_campaign(client: "OperatorClient", campaign: CampaignArgument, json: bool = False) -> None:
    """Open a draft: its terms are fixed, and people can be invited."""
    opened = client.open(campaign)
    if json:
        print_json(opened)
        return
    console.print(
        f"{escape(opened['title'])} is open.\nPromise: {promise_words(opened['guarantee'])}\n"
        f"Manifest: sha256 {opened['manifest_sha256']}\n"
        f"Next: sottovoce campaign invite {campaign} --count 10 --out invitations.csv",
        highlight=False, soft_wrap=True,
    )  # fmt: skip


@app.command()
@connected
def close(client: "OperatorClient", campaign: CampaignArgument, json: bool = False) -> None:
    """Close a campaign permanently: it accepts no more reports. Results stay available; claims can be exported until
    the readings are erased.
    """
    closed = client.close(campaign)
    if json:
        print_json(closed)
        return
    console.print(f"{escape(closed['title'])} is closed, with {counted(closed['reports'], 'report')}.", highlight=False)


@app.command()
@connected
def delete(client: "OperatorClient", campaign: CampaignArgument, json: bool = False) -> None:
    """Delete a draft. A campaign that has been open cannot be deleted."""
    client.delete(campaign)
    print_done(json, {"deleted": campaign}, f"Draft {campaign} is deleted.")


@app.command()
@connected
def method(
    client: "OperatorClient",
    campaign: CampaignArgument,
    name: Annotated[
        str | None,
        typer.Argument(help="One of the methods in sottovoce discover --help; the default method if left out."),
    ] = None,
    json: bool = False,
) -> None:
    """Choose the method for a campaign's results; new results follow within seconds."""
    changed = client.pin_method(campaign, name)
    print_done(json, changed, f"Results of {campaign} are computed with {_method_of(changed)} from now on.")


@app.command()
@connected
def target(
    client: "OperatorClient",
    campaign: CampaignArgument,
    truth: Annotated[
        str | None,
        typer.Argument(
            help="value: what a careful person would measure; mean: the crowd's average opinion; if left out, value. "
            "Only the method noise-aware uses it.",
            show_default=False,
        ),
    ] = None,
    json: bool = False,
) -> None:
    """Choose what counts as the truth of a number in a campaign's results; new results follow within seconds."""
    from sottovoce.discovery import METHODS, takes

    changed = client.set_target(campaign, truth)
    aim, used = f"target {changed['target']}" if changed["target"] else "default target", _method_of(changed)
    done = f"From now on, results of {campaign} use the {aim}."
    if used in METHODS and not takes(used, "target"):
        done = (
            f"The {aim} is saved, but the method {used} does not use it. To change the method, use sottovoce campaign "
            "method."
        )
    print_done(json, changed, done)


@app.command()
@connected
def known(
    client: "OperatorClient",
    campaign: CampaignArgument,
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Truths as CSV (task, truth), tasks by id or title; they replace earlier ones.",
            show_default=False,
        ),
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Remove all known truths.")] = False,
    json: bool = False,
) -> None:
    """Show or set known truths. They stay on the server, and improve the results once the campaign has closed."""
    from sottovoce.operators.drafts import read_known

    if file and clear:
        raise BadParameter(
            "--clear with a file: known truths are either removed or replaced; leave out --clear, or the file"
        )
    if file or clear:
        truths = client.set_known(campaign, read_known(file, client.campaign(campaign)) if file else {})["known"]
    else:
        truths = client.campaign(campaign)["known"]
    if json:
        print_json({"campaign": campaign, "known": truths})
        return
    table = plain_table("task", "truth")
    for task, truth in truths.items():
        table.add_row(escape(task), escape(truth))
    console.print(table if truths else "No truths are known.")


app.command("tasks")(tasks_command.tasks)
app.command()(plans.plan)
app.command()(logo.logo)
app.command()(texts.texts)
for inviting in (invitations.invite, invitations.invitations, invitations.revoke, invitations.renew, webhook.webhook):
    app.command()(inviting)


@app.command()
@connected
def status(client: "OperatorClient", campaign: CampaignArgument, json: bool = False) -> None:
    """Show how a campaign is doing: its state, how many take part, what was promised."""
    entry = client.campaign(campaign)
    if json:
        print_json(entry)
        return
    counts, trouble, manifest = entry["counts"], entry["trouble"], entry["manifest_sha256"]
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, content in (
        ("campaign", f"{entry['id']}, version {entry['version']}"),
        ("title", entry["title"]),
        ("state", entry["state"] + (f", deadline {entry['deadline']}" if entry["deadline"] else "")),
        ("tasks", f"{len(entry['tasks'])}, at most {counted(entry['readings'], 'reading')} per participant"),
        ("invitations", f"{counts['invitations']:,}: {counts['spent']:,} used, {counts['revoked']:,} revoked"),
        ("participants", f"{counts['participants']:,}, including {counts['withdrawn']:,} who withdrew"),
        ("reports", f"{entry['reports']:,}" + (f", erased on {entry['erased_at']}" if entry["erased_at"] else "")),
        ("noise", _noise_of(entry)),
        ("method", _method_of(entry) + (f", target {entry['target']}" if entry.get("target") else "")),
        *([("results", _not_the_newest(trouble))] if trouble else []),
        ("manifest", f"sha256 {manifest}" if manifest else "fixed when the campaign opens"),
    ):  # fmt: skip
        table.add_row(f"[bold]{name}[/]", escape(content))
    console.print(table)
    if entry["guarantee"]:
        console.print(f"\n[bold]Promise:[/] {promise_words(entry['guarantee'])}", highlight=False)


app.command()(campaign_results.results)
app.command()(campaign_results.export)


def _tasks_of(entry: dict[str, Any]) -> str:
    return counted(len(entry["tasks"]), "task")


def _not_the_newest(trouble: dict[str, str]) -> str:
    return f"not the newest: {trouble['reason']}. The first failure was on {trouble['since']}."


def _noise_of(entry: dict[str, Any]) -> str:
    # In the second manifest format, each task has a distance of its own.
    distances = {entry["distance"], *(task.get("distance") for task in entry["tasks"])} - {None}
    apart = f", distance {distances.pop()}" if len(distances) == 1 else ""
    return f"{_laws_of(entry)}{apart}, per {entry['unit']}"


def _laws_of(entry: dict[str, Any]) -> str:
    return entry["noise"] if isinstance(entry["noise"], str) else " and ".join(entry["noise"].values())


def _levels_for(draft: dict[str, Any]) -> int | None:
    """The usual number of levels, if numbers are compared and the draft sets none."""
    from sottovoce.comparisons.policy import usual_levels
    from sottovoce.privacy.laws import parse_law

    noise = draft.get("noise")
    law = noise.get("number") if isinstance(noise, dict) else noise
    if "levels" in draft or "distance" in draft or not isinstance(law, str):
        return None
    epsilon = getattr(parse_law(law), "epsilon", None)
    return epsilon and usual_levels(epsilon, draft.get("readings") or len(draft["tasks"]))


def _adds_noise(draft: dict[str, Any]) -> bool:
    """Whether noise is added to numbers, which needs a distance; comparisons protect any value."""
    return "levels" not in draft and not all("distance" in task for task in draft.get("tasks", [{}]))


def _method_of(campaign: dict[str, Any]) -> str:
    if campaign.get("levels") and not any(task.get("choices") for task in campaign["tasks"]):
        return "comparisons"  # which are evaluated in their own way
    if campaign["method"] is None:
        from sottovoce.discovery import DEFAULT

        return DEFAULT
    return str(campaign["method"])
