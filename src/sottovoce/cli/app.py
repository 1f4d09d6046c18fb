"""The command ``sottovoce``: its commands, its version, and how mistakes are reported."""

import os
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from sottovoce import __version__
from sottovoce.cli import (
    audit,
    backup,
    bench,
    campaign,
    claims,
    compare,
    demo,
    device,
    discover,
    explain,
    ledger,
    noise_plans,
    privacy,
    reproduce,
    serve,
    simulate,
    theorem,
)
from sottovoce.cli.command_line import CommandLine
from sottovoce.cli.methods import MethodCommand
from sottovoce.errors import SottovoceError

_SHOWN = 500  # characters of a line of an error, from its beginning and from its end
_MOST_LINES = 25

app = CommandLine(
    name="sottovoce",
    help="Private truth discovery for crowd sensing: a crowd tells the truth without any single voice being heard.",
    pretty_exceptions_enable=False,
)


def _version(requested: bool) -> None:
    if requested:
        print(f"sottovoce {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options that come before a command."""


# Grouped by what people want to do.
ANALYSE, PRIVACY, CAMPAIGN, PARTICIPANT, RESEARCH = (
    "Analyse claims", "Privacy", "Run a campaign", "Take part", "Research",
)  # fmt: skip
for analysing in (discover.discover, explain.explain):
    app.command(cls=MethodCommand, rich_help_panel=ANALYSE)(analysing)
for group, commands in {
    PRIVACY: (noise_plans.plan, privacy.guarantee, privacy.perturb, audit.audit),
    CAMPAIGN: (serve.serve, backup.backup, backup.restore),
    PARTICIPANT: (device.join, device.submit, ledger.ledger, ledger.limits, device.withdraw),
    RESEARCH: (demo.demo, simulate.simulate, compare.compare, reproduce.reproduce, theorem.theorem, bench.bench),
}.items():
    for command in commands:
        app.command(rich_help_panel=group)(command)
app.add_typer(claims.app, name="claims", rich_help_panel=ANALYSE)
app.add_typer(campaign.app, name="campaign", rich_help_panel=CAMPAIGN)


def main() -> None:
    """Run the command; a mistake in the input ends it with exit code 2 and one clear sentence."""
    # NumPy and SciPy read this when they are loaded, later on. Matrices are tiny here: more threads would only wait.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        app()
    except SottovoceError as mistake:
        _print_error(str(mistake))
        sys.exit(2)
    except (OverflowError, ZeroDivisionError, MemoryError) as mistake:
        _print_error(
            f"{str(mistake) or type(mistake).__name__}: a number is beyond what this machine can compute "
            "or hold; use a less extreme number"
        )
        sys.exit(2)
    except BrokenPipeError:  # the reader of our output, such as `head`, has closed it
        sys.stderr.close()
        sys.exit(1)
    except OSError as mistake:
        what = f"{mistake.filename2 or mistake.filename}: {mistake.strerror}" if mistake.filename else str(mistake)
        _print_error(
            f"{what}; check that the file or folder exists, is complete, and can be read or written, and that the disk "
            "is not full"
        )
        sys.exit(2)


def _print_error(mistake: str) -> None:
    lines = mistake.splitlines()[:_MOST_LINES]
    # The value may be very long; the rule and the fix come last.
    lines = [line if len(line) <= 2 * _SHOWN else f"{line[:_SHOWN]} … {line[-_SHOWN:]}" for line in lines]
    mistake = "\n".join(lines)
    console = Console(stderr=True)
    # A path that is longer than a line stays in one piece, so that it can be copied.
    is_long = max(map(len, mistake.split()), default=0) >= console.width
    console.print(f"[bold red]Error:[/] {escape(mistake)}", highlight=False, soft_wrap=is_long)
