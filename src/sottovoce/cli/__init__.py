"""The command line: one file per group of commands, no logic of its own."""

from sottovoce.cli.app import main

__all__ = ["main"]
