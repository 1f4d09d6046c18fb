"""The privacy commands, for answers instead of numbers."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from sottovoce.cli.output import console, figures_table, number, print_json, progress_bar
from sottovoce.digits import counted
from sottovoce.errors import BadParameter, UnreadableFile

if TYPE_CHECKING:
    from sottovoce.claims import Claims
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
        raise BadParameter(
            f"choices {choices} and levels {levels}: an answer is either a choice or a level; leave out one of the "
            "two options"
        )
    if levels is not None and ("number" not in law.kinds or law.cells_reported > 1):
        raise BadParameter(
            f"levels {levels} with noise law {law}: comparisons need the law response:EPS, which reports one level; "
            "use response:1"
        )
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
             "sentence": promise.sentence(epsilon=epsilon, compared=levels is not None)}
        )  # fmt: skip
        return
    table = figures_table()
    table.add_row("ε", number(epsilon), "")
    together = unit == "participant" and readings > 1
    table.add_row("δ", number(at_epsilon), f"for {counted(readings, 'answer')} together" if together else "")
    table.add_row("pure ε", "none" if pure is None else number(pure), "the ε that holds without exception")
    table.add_row("true answer", number(channel.hit), "the chance that it is reported")
    others = "the other" if cells == 2 else "each of the others"
    table.add_row(others, number(channel.miss), "the chance that it is reported")
    what = f"{cells} {'choices' if choices is not None else 'levels'}"
    console.print(f"{law}, {what}, for any two answers, per {unit}", highlight=False)
    console.print(table)
    console.print()
    console.print(escape(law.in_words(cells)), highlight=False)
    console.print(escape(promise.sentence(epsilon=epsilon, compared=levels is not None)), highlight=False)


def perturb_choices(claims: "Claims", noise: str, choices: str, out: Path, json: bool) -> None:
    """``sottovoce perturb`` for answers: each user's answers are perturbed together, as their device would do."""
    from sottovoce.privacy.laws import parse_answer_law
    from sottovoce.worlds import devices

    law = parse_answer_law(noise)
    options = _options(choices)
    law.check_cells(len(options))
    assert claims.answers is not None
    # Options get the type of the answers in the file: if those are numbers, the option 1 is a number, too.
    known = {str(label): label for label in claims.answers.label_list()}
    same = {type(label) for label in known.values()}
    claims = claims.with_options([known.get(option, _as(same, option)) for option in options])
    with progress_bar() as progress:
        task = progress.add_task("drawing answers", total=len(claims))
        noisy = devices.perturb_answers(claims, law, lambda done, _: progress.update(task, completed=done))
    noisy.write(out)
    if json:
        print_json({"out": str(out), "noise": str(law), "choices": len(options), "readings": len(noisy)})
        return
    console.print(
        f"{counted(len(noisy), 'answer')} from {counted(noisy.n_users, 'user')}, {counted(len(options), 'option')}, "
        f"noise {law}, in {out}",
        highlight=False, soft_wrap=True,
    )  # fmt: skip


def _options(text: str) -> list[str]:
    """The options in a list, or in a file with one per line."""
    from sottovoce.claims.answers import check_options, spelt_alike

    options = text.split(",")
    if _is_file(text):
        try:
            options = Path(text).read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError as mistake:
            raise UnreadableFile(f"{text}: {mistake}; options must be text in UTF-8, one per line") from None
    options = [option.strip() for option in options if option.strip()]
    if len(options) < 2:
        raise BadParameter(
            f"choices {text!r}: a question has at least 2 options; list them (yes,no), or name a file with one per line"
        )
    for before, option in spelt_alike(options):
        raise BadParameter(
            f"choices {before!r} and {option!r}: options must differ in more than spaces and case; remove one"
        )
    check_options(options)
    return options


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long for a file name, or with a character that file names cannot have
        return False


def _as(kinds: set[type], option: str) -> Any:
    """An option that nobody chose, converted to the type of the others."""
    for kind in kinds & {int, float}:
        try:
            return kind(option)
        except ValueError:
            continue
    return option
