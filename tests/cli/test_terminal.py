"""The command line in a real terminal."""

import os
import re
import struct
from contextlib import suppress

import pytest

import warm

termios = pytest.importorskip("termios", reason="there are no pseudo-terminals here")
COLUMNS = 80
HIDE, SHOW, ERASE = "\x1b[?25l", "\x1b[?25h", "\x1b[2K"


def in_terminal(*arguments):
    """Everything that a command writes to a terminal, and its exit code."""
    import fcntl

    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    with os.fdopen(theirs, "w") as terminal:
        command = warm.Process(
            ["-m", "sottovoce", *map(str, arguments)], stdout=terminal, stderr=terminal, env=environment
        )
    written = b""
    with suppress(OSError):  # of a terminal that nobody writes to any more
        while part := os.read(ours, 1 << 16):
            written += part
    os.close(ours)
    return command.wait(), written.decode()


def test_a_progress_bar_ends_and_leaves_nothing_behind():
    code, written = in_terminal("audit", "--noise", "fresh:0.5", "--samples", "1000")
    assert code == 0
    bar, _, rest = written.rpartition(SHOW)
    assert "auditing fresh:0.5" in bar
    assert bar.startswith(HIDE)
    assert bar.endswith(ERASE)  # the last that happens to its line
    assert "auditing" not in rest
    assert "No leak found" in rest
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", rest)
    assert max(map(len, plain.splitlines())) <= COLUMNS


def test_a_mistake_restores_the_cursor(tmp_path):
    (tmp_path / "claims.csv").write_text("user,object,value\na,x,1\nb,x,tall\n")
    code, written = in_terminal("discover", tmp_path / "claims.csv")
    assert code == 2
    assert written.count(HIDE) == written.count(SHOW) == 1
    assert "'tall'" in written.rpartition(SHOW)[2]


def test_a_pipe_gets_no_progress_bar():
    ran = warm.run(["-m", "sottovoce", "audit", "--noise", "fresh:0.5", "--samples", "1000"])
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "auditing" not in ran.stdout
    assert "\x1b" not in ran.stdout


def test_a_long_path_in_a_mistake_stays_in_one_piece(tmp_path):
    missing = tmp_path / ("a" * COLUMNS) / "claims.csv"
    code, written = in_terminal("discover", missing)
    assert code == 2
    assert str(missing) in written
