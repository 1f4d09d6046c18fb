"""The option ``--method``: its choices are the registered methods.

They are looked up when a command is used, not when it is defined, so that `sottovoce --help` loads no method.
"""

from typing import Annotated, Any

import typer

from sottovoce.cli.command_line import Command

ALL = "all"
_METHODS = "METHODS"  # placeholder for their names in a help text


def _names(incomplete: str) -> list[str]:
    from sottovoce.discovery import METHODS
    from sottovoce.discovery.own import register_installed

    register_installed()
    return [name for name in METHODS if name.startswith(incomplete)]


MethodOption = Annotated[
    str | None,
    typer.Option(
        "--method",
        help=f"How to find the truths: {_METHODS}; all to compare them, or one of your own as FILE.py:CLASS.",
        autocompletion=_names,
    ),
]
OneMethodOption = Annotated[
    str | None,
    typer.Option(
        "--method",
        help=f"How to find the truths: {_METHODS}; or one of your own as FILE.py:CLASS.",
        autocompletion=_names,
    ),
]


def method_name(text: str | None) -> str:
    """The name of the requested method; a method from a file is registered first.

    The name of its class is accepted too, since messages and tables use it: NoiseAware is noise-aware.
    """
    from sottovoce.discovery import DEFAULT, METHODS
    from sottovoce.discovery.own import register_file, register_installed

    register_installed()
    if text is None:
        return DEFAULT
    if ".py:" in text:
        return register_file(text)
    return {_plain(name): name for name in METHODS}.get(_plain(text), text)


def _plain(name: str) -> str:
    return name.casefold().replace("-", "")


class MethodCommand(Command):
    """A command with a `MethodOption`, whose help shows the choices and the default."""

    def get_params(self, ctx: Any) -> list[Any]:
        from sottovoce.discovery import DEFAULT

        params: list[Any] = super().get_params(ctx)
        for option in params:
            if option.name == "method":
                option.help = option.help.replace(_METHODS, ", ".join(_names("")))
                option.default = DEFAULT
        return params
