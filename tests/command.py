"""Running the command line as a user does."""

import csv
import io
import os
import subprocess
import sys

import pytest

import warm
from sottovoce.cli import main, output


def run(*arguments, input="", env=None, cwd=None):
    """Run ``sottovoce …`` in this process: importing everything again would take most of the time."""
    typed, out, err = (io.TextIOWrapper(io.BytesIO(text), encoding="utf-8") for text in (input.encode(), b"", b""))
    arguments = [str(argument) for argument in arguments]
    with pytest.MonkeyPatch.context() as patch:
        for name, entry in {"argv": ["sottovoce", *arguments], "stdin": typed, "stdout": out, "stderr": err}.items():
            patch.setattr(sys, name, entry)
        if env is not None:
            for name in os.environ.keys() - env.keys():
                patch.delenv(name)
        for name, entry in {"COLUMNS": "80", **(env or {})}.items():  # otherwise as wide as the terminal of the tests
            patch.setenv(name, entry)
        for console in (output.console, output.notes):  # which read the environment when they were imported
            patch.setattr(console, "width", int(os.environ["COLUMNS"]))
        if cwd is not None:
            patch.chdir(cwd)
        with pytest.raises(SystemExit) as end:
            main()
    printed = []
    for stream in (out, err):
        stream.flush()
        printed.append(stream.buffer.getvalue().decode())
    return subprocess.CompletedProcess(arguments, end.value.code or 0, *printed)


def run_process(*arguments, **options):
    """The same in a separate process."""
    return warm.run(["-m", "sottovoce", *arguments], **options)


def rows_of(path):
    with path.open() as file:
        return list(csv.DictReader(file))
