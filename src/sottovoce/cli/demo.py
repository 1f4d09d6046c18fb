"""``sottovoce demo``: the whole idea, with a real server and real devices."""

from pathlib import Path
from typing import Annotated

import typer

from sottovoce.cli.demo_questions import show_questions
from sottovoce.cli.output import JsonOption, console, plain_table, print_json, progress_bar
from sottovoce.cli.simulate import show_outcome

_ROWS = 8  # of the table of errors


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the data and the pictures.")] = Path("demo"),
    seed: Annotated[
        int,
        typer.Option(min=0, help="The same seed gives the same building and walkers; new noise is drawn each time."),
    ] = 1,
    whole_range: Annotated[
        bool,
        typer.Option(
            "--whole-range",
            help="Show another campaign instead, which protects readings over the whole range: devices only say "
            "whether a reading is above a published value, and these values close in on the truth.",
        ),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Show the idea: a server asks, devices answer with noise, and the crowd still tells the truth.

    A campaign server runs on this machine while the demo lasts, on a free port, with its database in a temporary
    folder. In a second campaign, simulated people answer questions with two choices.
    """
    from sottovoce.lab.demo import DISTANCE, LEAST_CLAIMS, run_demo
    from sottovoce.lab.demo_questions import run_questions

    if whole_range:
        _show_whole_range(out, seed, json)
        return
    if not json:
        console.print(
            "247 people walk through a building and measure its 129 hallway segments by counting steps. A server on "
            "this machine asks for the lengths. Each walker's device checks what is asked and promised, adds noise to "
            "every reading, stores the result, and sends it. The server never sees what was measured.\n",
            highlight=False,
        )
    with progress_bar() as bar:
        sending = bar.add_task("devices send", total=None)
        outcome = run_demo(out, seed, lambda done, total: bar.update(sending, completed=done, total=total))
        answering = bar.add_task("devices answer", total=None)
        second = run_questions(out, seed, lambda done, total: bar.update(answering, completed=done, total=total))
    if json:
        print_json({"out": str(out), **outcome.summary(), "questions": second.summary()})
        return
    show_outcome(outcome, unit="metres")
    ours = outcome.errors[0]
    console.print(
        f"\n[bold]What is lost:[/] the server's results are {ours.after:.2f} m off on average; without noise, they "
        f"would be {ours.before:.2f} m off. In this demo, the server shows hallways with at least {LEAST_CLAIMS} "
        "readings; the default is 5.\n"
        "[bold]What no interval can show:[/] walkers like these overestimate the length of their steps, and sometimes "
        "count steps twice. An error that nearly all readings of a hallway share looks like part of its length; a few "
        "hallways measured with a tape would reveal it.\n"
        f"[bold]What is not promised:[/] readings more than {DISTANCE} m apart are easier to distinguish, and what all "
        "readings of one walker have in common, such as the length of a stride, becomes clearer with every reading "
        "sent.",
        highlight=False,
    )
    show_questions(second)
    console.print(
        f"\nData and pictures are in {out}/: claims.csv, truth.csv, demo.png; the plan of the building in plan.svg, "
        "the places of its hallways in places.geojson, and the results drawn on the plan in plan.png; the answers in "
        "answers.csv, and the true ones in answers-truth.csv",
        highlight=False, soft_wrap=True,
    )  # fmt: skip
    console.print(f"Next: sottovoce discover {out}/claims.csv --truth {out}/truth.csv", highlight=False)


def _show_whole_range(out: Path, seed: int, json: bool) -> None:
    from sottovoce.lab.whole_range import HIGH, LOW, run_whole_range

    if not json:
        console.print(
            "300 people measure six hallways. A server on this machine publishes a few lengths for each, and every "
            "device says only whether its reading is longer than one of them; in 27 of 100 cases it says the "
            f"opposite. So the promise holds for any two readings from {LOW} to {HIGH} m. People answer one "
            "after another, and the published lengths follow their answers.\n",
            highlight=False,
        )
    with progress_bar() as bar:
        sending = bar.add_task("devices answer", total=None)
        outcome = run_whole_range(out, seed, lambda done, total: bar.update(sending, completed=done, total=total))
    if json:
        print_json({"out": str(out), **outcome.summary()})
        return
    table = plain_table(numbers=("people", "comparisons", "noise as wide as the range"))
    moments = outcome.moments
    for place in sorted({round(share * (len(moments) - 1) / _ROWS) for share in range(_ROWS + 1)}):
        moment = moments[place]
        table.add_row(f"{moment.people:,}", f"{moment.error:.2f} m", f"{moment.wide_error:.2f} m")
    console.print(
        "Mean error of the published results, and of results from readings with noise that keeps the same promise:",
        highlight=False,
    )
    console.print(table)
    last = moments[-1]
    console.print(
        f"\n{outcome.within} of {len(outcome.truths)} truths lie within their 95% intervals. With the same readings "
        f"and the same promise, results from noisy readings are {last.wide_error / last.error:,.0f} times as far off.\n"
        "[bold]What it takes:[/] many people. About a hundred answers per task are needed to find the truth at all. "
        "Noise for a small distance needs fewer people, but promises less.\n"
        "[bold]What it aims at:[/] the median of the crowd's readings, which is not their mean if they err mostly in "
        "one direction.",
        highlight=False,
    )
    console.print(f"\nData and picture are in {out}/: comparisons.csv, truth.csv, whole-range.png", highlight=False)
    console.print(
        f"Next: sottovoce discover {out}/comparisons.csv --range {LOW}:{HIGH} --truth {out}/truth.csv", highlight=False
    )
