"""What ``sottovoce demo`` prints about its second part, the questions."""

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from sottovoce.cli.output import console

if TYPE_CHECKING:
    from sottovoce.lab.demo_questions import QuestionsOutcome


def show_questions(outcome: "QuestionsOutcome") -> None:
    """The crowd's answers beside the true ones, and how many answers were right before and after randomising."""
    sent = outcome.delivery
    console.print(
        f"\n[bold]Second part: answers instead of numbers.[/] {sent.reports} people said for each of "
        f"{len(outcome.truths)} doors whether it is wide enough for a wheelchair. {outcome.given:.0%} of their answers "
        "were right. In 27 of 100 cases the device sent the other answer on purpose, so nobody can be sure of any "
        f"person's answer. Of the answers that the server received, {outcome.sent:.0%} were right.",
        highlight=False,
    )
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("question", "the crowd's answer", "chance", "majority", "true answer"):
        table.add_column(heading, justify="right" if heading == "chance" else "left")
    for entry in outcome.shown:
        table.add_row(
            escape(entry["task"]), entry["truth"], f"{entry['chance']:.0%}", entry["majority"],
            outcome.truths[entry["task"]],
        )  # fmt: skip
    console.print()
    console.print(table)
    console.print(f"\n{outcome.right} of the crowd's {len(outcome.shown)} answers are right.", highlight=False)
