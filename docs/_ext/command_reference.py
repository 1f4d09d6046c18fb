"""The reference of the command line, generated from the commands themselves, so that no option is missing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from filling import fill_placeholder
from sphinx.application import Sphinx

from sottovoce import cli
from sottovoce.cli.app import app as command_line

PLACEHOLDER = "<!-- the commands are inserted here when the site is built -->"


def reference() -> str:
    """Every command with its arguments and options, in Markdown."""
    top = typer.main.get_command(command_line)
    return "\n".join(_lines(top, top.make_context("sottovoce", [], resilient_parsing=True)))


def commands(command: Any, context: Any) -> Iterator[tuple[Any, Any]]:
    """A command and all its subcommands, each with the context that contains its full name."""
    yield command, context
    for name, subcommand in getattr(command, "commands", {}).items():
        if not subcommand.hidden:
            yield from commands(subcommand, subcommand.make_context(name, [], parent=context, resilient_parsing=True))


def _lines(top: Any, top_context: Any) -> Iterator[str]:
    for command, context in commands(top, top_context):
        depth = context.command_path.count(" ")
        if command is not top:
            yield f"{'#' * (1 + depth)} {context.command_path}\n"
        yield f"```text\n{command.get_usage(context).strip()}\n```\n"
        if command.help:
            yield f"{command.help}\n"
        for parameter in command.get_params(context):
            record = parameter.get_help_record(context)
            if record and "--help" not in parameter.opts:
                yield f"`{record[0].strip()}`\n: {_escape(record[1])}\n"


def _escape(text: str) -> str:
    return text.replace("[", "\\[").replace("*", "\\*").replace("<", "\\<")


def setup(app: Sphinx) -> dict[str, Any]:
    return fill_placeholder(app, PLACEHOLDER, reference, [*Path(cli.__file__).parent.glob("*.py")])
