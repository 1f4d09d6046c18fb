"""``sottovoce simulate``: a crowd whose truths are known, as files or in a campaign of a running server."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sottovoce.cli.comparisons import simulate_comparisons
from sottovoce.cli.connection import CaOption, InsecureOption, TokenOption
from sottovoce.cli.output import JsonOption, console, number, plain_table, print_json, progress_bar, promise_words
from sottovoce.digits import counted
from sottovoce.errors import BadParameter

if TYPE_CHECKING:
    from sottovoce.lab.crowd import CrowdOutcome
    from sottovoce.worlds import World

_USUAL_NOISE = "fresh:0.5"  # of a campaign
_USUAL_ANSWERS = "response:1"  # of comparisons


def simulate(
    out: Annotated[
        Path | None, typer.Argument(help="Folder for claims.csv and truth.csv; with --url it may be left out.")
    ] = None,
    world: Annotated[
        str | None,
        typer.Option(
            help="synthetic; floorplan: 247 walkers and 129 hallways, with errors as large as real ones; or "
            "careful-floorplan: of the same size, with much smaller errors. The size of a floorplan is fixed. The "
            "default is synthetic; with --url it is floorplan."
        ),
    ] = None,
    participants: Annotated[int, typer.Option(help="Users in the crowd (S).")] = 150,
    objects: Annotated[int, typer.Option(help="Objects that the users measure (N).")] = 30,
    error_rate: Annotated[float, typer.Option(help="Rate λ1 of the users' error variances.")] = 1.0,
    fill: Annotated[float, typer.Option(help="Probability that a user measures an object.")] = 1.0,
    low: Annotated[float, typer.Option(help="Smallest truth.")] = 0.0,
    high: Annotated[float, typer.Option(help="Largest truth.")] = 10.0,
    noise: Annotated[
        str | None,
        typer.Option(
            help=f"Noise law, such as shared:0.5; none by default; with --url, {_USUAL_NOISE}; with --range, "
            f"{_USUAL_ANSWERS}."
        ),
    ] = None,
    range: Annotated[
        str | None,
        typer.Option(
            help="Simulate a campaign of comparisons over this range, LO:HI, in which people answer one after another; "
            "--noise is then a law for answers, such as response:1."
        ),
    ] = None,
    levels: Annotated[
        int | None,
        typer.Option(help="With --range: levels per answer, 2 or 4; by default, chosen according to the noise."),
    ] = None,
    spread: Annotated[
        float | None,
        typer.Option(help="With --range: the same standard deviation for everybody's errors, instead of --error-rate."),
    ] = None,
    least_answers: Annotated[
        int,
        typer.Option(
            min=1,
            help="With --range: cuts (the published values) change whenever a task has this many new answers; on a "
            "server, 5 by default.",
        ),
    ] = 1,
    late: Annotated[
        float,
        typer.Option(
            help="With --range: share of people whose answers arrive only after 50 more people have answered, such as "
            "0.2."
        ),
    ] = 0.0,
    batch: Annotated[int, typer.Option(help="With --range: the answers of this many people arrive together.")] = 1,
    liars: Annotated[
        float, typer.Option(help="With --range: share of people who always answer 'higher', without noise.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same crowd.")] = 0,
    url: Annotated[
        str | None,
        typer.Option(help="Address of a running server: everybody takes part in a campaign there, with real devices."),
    ] = None,
    token: TokenOption = None,
    distance: Annotated[
        str, typer.Option(help="With --url: protected distance; values up to this far apart are hard to distinguish.")
    ] = "1",
    at_once: Annotated[
        int, typer.Option(min=1, help="With --url: at most this many devices work at the same time.")
    ] = 8,
    over: Annotated[
        float,
        typer.Option(
            min=0,
            help="With --url: devices arrive in random order, at random times within this many seconds; 0 means all at "
            "once.",
        ),
    ] = 10.0,
    ca: CaOption = None,
    insecure_http: InsecureOption = False,
    json: JsonOption = False,
) -> None:
    """Simulate a crowd: conflicting claims, and the truth to compare with.

    With --url the crowd takes part in a new campaign on a running server, opened with the operator's token. Each
    participant joins with a link of their own, checks the promise against the default limits, adds noise with the
    exact sampler, and sends. Then the server's results are compared with the truth, and with results computed from
    scratch from the same claims.
    """
    from sottovoce.privacy.laws import parse_noise_law
    from sottovoce.worlds import careful_floorplan, floorplan, synthetic

    floorplans = {"floorplan": floorplan, "careful-floorplan": careful_floorplan}
    chosen = world or ("floorplan" if url else "synthetic")
    if chosen not in ("synthetic", *floorplans):
        raise BadParameter(
            f"world {chosen!r}: there is no such world; choose synthetic, floorplan or careful-floorplan"
        )
    if url is None and out is None:
        raise BadParameter("folder: it is missing; name one to write to, for example sottovoce simulate crowd")
    if range is not None:
        if url is not None or out is None:
            raise BadParameter("--range: a campaign of comparisons is written to a folder; name one, and omit --url")
        simulate_comparisons(
            out, noise=noise or _USUAL_ANSWERS, range=range, participants=participants, objects=objects, levels=levels,
            spread=spread, error_rate=error_rate, least_answers=least_answers, late=late, batch=batch, liars=liars,
            seed=seed, json=json,
        )  # fmt: skip
        return
    law = parse_noise_law(noise or _USUAL_NOISE) if noise or url else None
    crowd = (
        floorplans[chosen](seed)
        if chosen in floorplans
        else synthetic(participants, objects, error_rate=error_rate, fill=fill, truth_range=(low, high), seed=seed)
    )
    if url is not None:
        width = high - low
        task: dict[str, Any] = (
            {"low": 0, "high": 50, "unit": "m"}
            if chosen in floorplans
            # Readings can lie outside the range of the truths, so the tasks' range is twice as wide.
            else {"low": low - width / 2, "high": high + width / 2}
        )
        connection = {"ca": ca, "insecure_http": insecure_http}
        _in_campaign(
            crowd, url, token, out, {**task, "noise": str(law), "distance": distance}, connection,
            {"at_once": at_once, "over": over, "seed": seed}, json,
        )  # fmt: skip
        return
    assert out is not None
    if law:
        crowd = crowd.with_simulated_noise(law, seed + 1)
    crowd.write(out)
    claims = crowd.claims
    if json:
        counts = {"claims": len(claims), "users": claims.n_users, "objects": claims.n_objects}
        print_json({"out": str(out), **counts, "noise": claims.noise})
    else:
        console.print(
            f"{counted(len(claims), 'claim')} by {counted(claims.n_users, 'user')} about "
            f"{counted(claims.n_objects, 'object')} "
            f"in {out / 'claims.csv'}, truths in {out / 'truth.csv'}",
            highlight=False, soft_wrap=True,
        )  # fmt: skip


def _in_campaign(
    crowd: "World",
    url: str,
    token: str | None,
    out: Path | None,
    terms: dict[str, Any],
    connection: dict[str, Any],
    arrival: dict[str, Any],
    json: bool,
) -> None:
    from functools import partial

    from sottovoce.device import Client
    from sottovoce.lab.crowd import draft_of, run_campaign
    from sottovoce.operators.client import OperatorClient

    draft = draft_of(crowd, title="A simulated crowd", **terms)
    with OperatorClient(url, token, **connection) as operator, progress_bar() as bar:
        sending = bar.add_task("devices send", total=None)
        outcome = run_campaign(
            crowd, operator, draft, out, connect=partial(Client, **connection), **arrival,
            progress=lambda done, total: bar.update(sending, completed=done, total=total),
        )  # fmt: skip
    if json:
        print_json({"out": out and str(out), **outcome.summary()})
        return
    show_outcome(outcome, unit=draft["tasks"][0]["unit"])
    if out:
        console.print(f"\nClaims are in {out / 'claims.csv'}, truths in {out / 'truth.csv'}", highlight=False)


def show_outcome(outcome: "CrowdOutcome", unit: str) -> None:
    """A simulated campaign for people: what was sent, how far off the results are, what was promised."""
    from sottovoce.protocol.problems import CATALOGUE

    sent, shown = outcome.delivery, outcome.shown
    console.print(
        f"{sent.reports} of {counted(sent.participants, 'participant')} delivered {counted(sent.readings, 'reading')} "
        f"to campaign {outcome.campaign} in {sent.seconds:.1f} s, with {counted(sent.retries, 'retry', 'retries')}; "
        f"results {outcome.results_seconds:.1f} s later.",
        highlight=False,
    )
    for code, many in sent.refused.items():
        console.print(
            f"[yellow]{counted(many, 'participant')} did not take part:[/] {CATALOGUE[code].title} ({code})",
            highlight=False,
        )
    error = f"mean error over {counted(len(shown), 'task')}" + (f", {unit}" if unit else "")
    table = plain_table(error, numbers=("without noise", "with noise"))
    for place, row in enumerate(outcome.errors):
        name = f"{row.method}, from the server" if place == 0 else row.method
        table.add_row(name, number(row.before, 3), number(row.after, 3))
    console.print()
    console.print(table)
    withheld = len(outcome.truths) - len(shown)
    console.print(
        f"\nTruths within their 95% intervals: {outcome.within} of {len(shown)} "
        f"({outcome.within / max(1, len(shown)):.0%})"
        + (
            f"; {counted(withheld, 'more task')} {'has' if withheld == 1 else 'have'} too few readings to be shown."
            if withheld
            else "."
        ),
        highlight=False,
    )
    console.print(
        "The server updated its results while reports came in; they agree with those computed from scratch, to within "
        f"{outcome.departure:.1%} of an interval's width."
        if outcome.as_from_scratch
        else f"[red]The server's results differ from those computed from scratch by {outcome.departure:.1%} of an "
        "interval's width[/]; please report this, with the exported claims.",
        highlight=False,
    )
    console.print(f"[bold]What was promised:[/] {promise_words(outcome.results['guarantee'])}", highlight=False)
