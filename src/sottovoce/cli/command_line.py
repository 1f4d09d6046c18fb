"""Typer commands whose help shows what to type, as in the guides: flags without a value, arguments in capitals."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

Function = TypeVar("Function", bound=Callable[..., Any])


def _as_typed(params: list[Any]) -> list[Any]:
    for param in params:
        if param.metavar is not None:
            continue
        if param.param_type_name == "argument":
            param.metavar = param.name.upper()
        elif param.is_flag:
            param.metavar = ""
        elif param.type_descriptor.is_list:
            param.metavar = f"<{param.bare_type().removeprefix('list[').removesuffix(']').lower()}>"
        elif param.type_descriptor.is_ranged:
            param.metavar = f"<{param.type_descriptor.ranged_type_name}>"  # Typer adds the range itself
    return params


class Command(TyperCommand):
    """A command of `CommandLine`."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _as_typed(super().get_params(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]


class CommandGroup(TyperGroup):
    """A group of commands of `CommandLine`."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _as_typed(super().get_params(ctx))


class CommandLine(typer.Typer):
    """A Typer application with these commands; without a command, it shows its help."""

    def __init__(self, **options: Any) -> None:
        super().__init__(cls=CommandGroup, no_args_is_help=True, **options)

    def command(
        self, name: str | None = None, *, cls: type[TyperCommand] | None = Command, **options: Any
    ) -> Callable[[Function], Function]:
        """Add a command, described by its docstring, whose paragraphs are wrapped at the width of the terminal."""

        def add(function: Function) -> Function:
            paragraphs = (inspect.getdoc(function) or "").split("\n\n")
            text = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
            add_command: Callable[[Function], Function] = super(CommandLine, self).command(
                name, cls=cls, **{"help": text, **options}
            )
            return add_command(function)

        return add
