"""The pages of the docs, run as a reader would run them.

``sh`` and ``bash``
    A script. It must succeed; what it prints is not checked.
``console``
    Commands after ``$ ``, continued after ``> ``; the lines below a command are what it prints. A command without
    such lines must only succeed. One that is shown to print ``Error:`` must fail with exit code 2.
``python``
    All such blocks of a page share their names, as in a notebook. An ``output`` block right below is what is printed.

All blocks of a page run in order in one folder. In what is printed ``...`` stands for anything: within a line, or, on a
line of its own, for any number of lines. ``<!-- not run: REASON -->`` above a block says why it is only to be read.

Words and whole numbers must be those of the page. Figures, which have a decimal point or an exponent, may differ by a
millionth: their last digits depend on the processor. Where new noise is drawn in every run,
``<!-- figures vary by N -->`` above a block says by how much they may differ; blanks between columns may vary then too.

Pages name ports 8470 and 8471; they run with free ones in their place.

``python tests/pages.py [PAGE...]`` writes what really comes out into the pages, and pictures that their commands make
into docs/images.
"""

import json
import math
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import warm

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if ROOT / "docs/_build" not in page.parents),
]
RUN = {"sh", "bash", "console", "python"}
_FENCE = re.compile(r"^(`{3,})([^\s`]*)\s*$")
_NOT_RUN = re.compile(r"<!-- not run: (.+) -->")
_VARY = re.compile(r"<!-- figures vary by (\d+(?:\.\d+)?) -->")
_FIGURE = r"(?<![\w.])[-−+]?\d[\d,]*(?:\.\d+(?:e[-+]?\d+)?|e[-+]?\d+)(?!\w|\.\d)"
_NUMBER = r"[-−+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?"
_PIECES = re.compile(rf"({_FIGURE}|\.\.\.)")
_PORTS = ("8470", "8471")
_PICTURE = re.compile(r"(?:!\[[^\]]*\]\(|\{(?:image|figure)\} )([^)\s]+)")
_WIDTH = "88"  # characters per line, as wide as the site shows without scrolling
_SECONDS = 300


@dataclass(frozen=True)
class Block:
    """A fenced block: the page's lines from ``first`` up to ``last``, without the fences."""

    language: str
    first: int
    last: int
    not_run: str | None
    vary: float  # by how much its figures may differ


@dataclass(frozen=True)
class Step:
    """Something to run, and where the page shows what it prints, if it does."""

    language: str
    code: str
    line: int
    shown: tuple[int, int] | None
    vary: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """The outcome of a step."""

    step: Step
    code: int
    printed: list[str]


def blocks(lines):
    """The fenced blocks of a page, in order."""
    listed, opening, not_run, vary = [], None, None, 0.0
    for number, line in enumerate(lines):
        fence = _FENCE.match(line)
        if opening is None:
            if fence:
                opening = (fence[1], fence[2], number + 1)
            elif line.strip():
                reason, bound = _NOT_RUN.fullmatch(line.strip()), _VARY.fullmatch(line.strip())
                not_run, vary = reason[1] if reason else None, float(bound[1]) if bound else 0.0
        elif fence and not fence[2] and len(fence[1]) >= len(opening[0]):
            listed.append(Block(opening[1], opening[2], number, not_run, vary))
            opening, not_run, vary = None, None, 0.0
    assert opening is None, f"line {opening[2]}: this block has no end"
    return listed


def steps(lines):
    """What a page asks to run, in order."""
    listed = blocks(lines)
    for place, block in enumerate(listed):
        if block.not_run or block.language not in RUN:
            continue
        text = lines[block.first : block.last]
        if block.language == "console":
            yield from _commands(text, block)
            continue
        follower = listed[place + 1] if place + 1 < len(listed) else None
        adjacent = follower and not "".join(lines[block.last + 1 : follower.first - 1]).strip()
        shown = (follower.first, follower.last) if adjacent and follower.language == "output" else None
        yield Step(block.language, "\n".join(text), block.first, shown, follower.vary if shown else 0.0)


def _commands(text, block):
    first = block.first
    starts = [number for number, line in enumerate(text) if line.startswith("$ ")]
    assert starts[:1] == [0], f"line {first + 1}: a console block begins with '$ ' and a command"
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        output = start + 1
        while output < end and text[output].startswith("> "):
            output += 1
        code = "\n".join(line[2:] for line in text[start:output])
        shown = (first + output, first + end) if output < end else None
        yield Step("console", code, first + start, shown, block.vary)


# A Python that keeps its names from block to block: code in, what it printed out, a line of JSON each.
_NOTEBOOK = """
import contextlib, io, json, sys, traceback
lines, replies, names = sys.stdin, sys.stdout, {"__name__": "__main__"}
for line in lines:
    code, printed = 0, io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            exec(compile(json.loads(line), "page", "exec"), names)
        except BaseException:
            code = 1
            traceback.print_exc()
    print(json.dumps([code, printed.getvalue()]), file=replies, flush=True)
"""


def run(page, folder):
    """Run a page in a folder, up to the first step that fails unexpectedly."""
    lines = page.read_text().splitlines()
    environment = {name: entry for name, entry in os.environ.items() if not name.startswith("SOTTOVOCE_")}
    environment |= {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "MPLCONFIGDIR": str(Path(tempfile.gettempdir()) / "sottovoce-docs-fonts"),
        "COLUMNS": _WIDTH,
        "NO_COLOR": "1",
        "PYTHONUTF8": "1",
    }
    environment.pop("FORCE_COLOR", None)
    free = _free_ports()
    with tempfile.TemporaryDirectory() as commands:
        needed, inherited = warm.command_on_path(Path(commands))
        environment |= needed | {"PATH": f"{commands}{os.pathsep}{environment['PATH']}"}
        options = {"cwd": folder, "env": environment, "stdout": subprocess.PIPE}
        with warm.Process(["-c", _NOTEBOOK], stdin=subprocess.PIPE, process_group=0, **options) as notebook:
            options |= {"stderr": subprocess.STDOUT, "encoding": "utf-8", "pass_fds": inherited, "timeout": _SECONDS}
            try:
                for step in steps(lines):
                    typed = step.code
                    for port, other in zip(_PORTS, free, strict=True):
                        typed = typed.replace(port, other)
                    if step.language == "python":
                        notebook.stdin.write(json.dumps(typed) + "\n")
                        notebook.stdin.flush()
                        code, printed = json.loads(notebook.stdout.readline())
                    else:
                        command = ["bash", "-euo", "pipefail", "-c", typed]
                        ran = subprocess.run(command, process_group=notebook.pid, **options)
                        code, printed = ran.returncode, ran.stdout
                    for port, other in zip(_PORTS, free, strict=True):
                        printed = printed.replace(f":{other}", f":{port}")
                    yield Outcome(step, code, _stripped(printed.splitlines()))
            finally:
                os.killpg(notebook.pid, signal.SIGTERM)  # with all that a page which failed has left running


def _free_ports():
    """As many free ports as pages name, below those that the system gives to connections, and with as many digits."""
    ports = []
    for port in random.sample(range(1024, 10_000), 1000):
        with socket.socket() as listener, suppress(OSError):
            listener.bind(("127.0.0.1", port))
            ports.append(str(port))
        if len(ports) == len(_PORTS):
            return ports
    raise AssertionError("no free ports")


def _stripped(lines):
    """Lines without trailing blanks, and without blank lines at the beginning and the end."""
    lines = [line.rstrip() for line in lines]
    while lines and not lines[0]:
        lines = lines[1:]
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines


def shown(outcome, lines):
    """The lines that the page shows for an outcome; None where it shows none."""
    return None if outcome.step.shown is None else _stripped(lines[slice(*outcome.step.shown)])


def expected_code(expected):
    return 2 if expected and expected[0].startswith("Error:") else 0


def same(expected, printed, vary=0.0):
    """Whether a page shows what is printed; figures may vary."""
    if not expected:
        return not printed
    line, *rest = expected
    if line == "...":
        return any(same(rest, printed[place:], vary) for place in range(len(printed) + 1))
    return bool(printed) and _same_line(line, printed[0], vary) and same(rest, printed[1:], vary)


def _same_line(expected, printed, vary):
    if vary:
        expected, printed = " ".join(expected.split()), " ".join(printed.split())
    figures, pattern = [], ""
    for place, piece in enumerate(_PIECES.split(expected)):
        if piece == "...":
            pattern += ".*"
        elif place % 2:
            figures.append(_value(piece))
            pattern += f"({_NUMBER})"
        else:
            pattern += re.escape(piece)
    matched = re.fullmatch(pattern, printed)
    return matched is not None and all(
        math.isclose(_value(other), figure, rel_tol=1e-6, abs_tol=vary)
        for other, figure in zip(matched.groups(), figures, strict=True)
    )


def _value(text):
    return float(text.replace(",", "").replace("−", "-"))


def refreshed(expected, printed, vary=0.0):
    """What the page should show: what is printed, left out where the page leaves out."""
    if same(expected, printed, vary):
        return expected
    if "..." in expected:
        head, tail = expected.index("..."), expected[::-1].index("...")
        return [*printed[:head], "...", *printed[len(printed) - tail :]]
    if len(expected) == len(printed):
        return [old if same([old], [new], vary) else new for old, new in zip(expected, printed, strict=True)]
    return printed


def refresh(page):
    """Run a page and write into it what it prints, and into docs/images what it draws."""
    lines = page.read_text().splitlines()
    with tempfile.TemporaryDirectory() as folder:
        outcomes = list(run(page, Path(folder)))
        for picture in _PICTURE.findall("\n".join(lines)):
            drawn = Path(folder) / Path(picture).name
            if drawn.is_file():
                shutil.copy(drawn, page.parent / picture)
    for outcome in reversed(outcomes):
        expected = shown(outcome, lines)
        if outcome.code != expected_code(expected):
            sys.exit(f"{page}:{outcome.step.line + 1}: exit code {outcome.code}\n" + "\n".join(outcome.printed))
        if expected is not None:
            lines[slice(*outcome.step.shown)] = refreshed(expected, outcome.printed, outcome.step.vary)
    page.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    for name in sys.argv[1:] or PAGES:
        print(name, flush=True)
        refresh(Path(name).resolve())
