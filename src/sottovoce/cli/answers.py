"""What the privacy commands do where answers, and not numbers, are perturbed."""

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from sottovoce.cli.output import console, number, print_json
from sottovoce.errors import BadParameter

if TYPE_CHECKING:
    from sottovoce.privacy.laws import Unit


def show_answer_guarantee(
    noise: str,
    choices: int | None,
    levels: int | None,
    readings: int,
    unit: "Unit",
    epsilon: float | None,
    delta: float | None,
    json: bool,
) -> None:
    """``sottovoce guarantee`` for answers: choices, or the levels of a comparison."""
    from sottovoce.privacy.laws import parse_answer_law

    law = parse_answer_law(noise)
    if choices is not None and levels is not None:
        raise BadParameter(f"choices {choices} and levels {levels}: an answer is one or the other; leave one out")
    if levels is not None and ("number" not in law.kinds or law.cells_reported > 1):
        raise BadParameter(f"levels {levels} with noise law {law}: a comparison reports one level; use response:1")
    cells = choices if choices is not None else levels
    assert cells is not None
    promise = law.guarantee(cells, readings, unit)
    pure, channel = promise.pure_epsilon, law.channel(cells)
    if epsilon is None:
        epsilon = promise.epsilon(delta or 0.0)
    at_epsilon = promise.delta(epsilon)
    if json:
        print_json(
            {"noise": str(law), "choices" if choices is not None else "levels": cells, "readings": readings,
             "unit": unit, "epsilon": epsilon, "delta": at_epsilon, "pure_epsilon": pure,
             "chance_of_truth": channel.hit, "chance_of_another": channel.miss, "words": law.in_words(cells),
             "sentence": promise.sentence(epsilon=epsilon)}
        )  # fmt: skip
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column(style="dim")
    table.add_row("ε", number(epsilon), "")
    table.add_row("δ", number(at_epsilon), f"exact for {readings} answers" if unit == "participant" else "")
    table.add_row("pure ε", "none" if pure is None else number(pure), "the ε that holds without exception")
    table.add_row("true answer", number(channel.hit), "the chance that it is reported")
    table.add_row("any other", number(channel.miss), "the chance that this one is reported")
    what = f"{cells} {'choices' if choices is not None else 'levels'}"
    console.print(f"{law}, {what}, any two answers, level of a {unit}", highlight=False)
    console.print(table)
    console.print()
    console.print(escape(law.in_words(cells)), highlight=False)
    console.print(escape(promise.sentence(epsilon=epsilon)), highlight=False)
