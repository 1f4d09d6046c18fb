"""A device in a separate process, to be killed at any line or raced against others. Run by test_bad_days.py.

``driver.py kill LINK...``: for each link a new participant joins, releases and sends, and dies by SIGKILL at another
line of the device's code; then the same is done again without dying. Prints how many lines there are.
``driver.py race LINK FILE``: prints that it is ready, waits for a line of input, then joins, releases and sends. Prints
the outcome.
"""

import os
import signal
import sys
from pathlib import Path

from sottovoce import device
from sottovoce.device import Client, ParticipantFile, RetryPolicy, flush, join, release
from sottovoce.device.cuts import fetch_cuts
from sottovoce.protocol import InvitationLink, Problem

HOME = str(Path(device.__file__).parent)
READINGS = {"hall-1": "12.3", "hall-2": "45.6"}


def take_part(link, path):
    with ParticipantFile(path) as file:
        with Client(link.server) as client:
            join(file, link, client, agree=lambda *_: True)
        fetch_cuts(file, "hallways", Client, RetryPolicy(10))  # where readings are compared
        try:
            release(file, "hallways", READINGS)
            outcome = "released"
        except Problem as problem:
            outcome = problem.code
        flush(file, Client, RetryPolicy(10))
    return outcome


def lines_until(last, call):
    """Call, counting the lines of the device's code, and die at the last of them."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        if not frame.f_code.co_filename.startswith(HOME):
            return None
        if event == "line":
            count += 1
            if count == last:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(None)
    return count


def in_child(call):
    """Do this in a forked process; returns its exit status."""
    if child := os.fork():
        return os.waitpid(child, 0)[1]
    try:
        call()
        os._exit(0)
    finally:
        os._exit(1)  # after an exception


def kill(links, folder):
    total = lines_until(0, lambda: take_part(links[0], folder / "whole.db"))
    for number, link in enumerate(links[1:]):
        path, last = folder / f"{number}.db", 1 + number * total // (len(links) - 1)
        status = in_child(lambda link=link, path=path, last=last: lines_until(last, lambda: take_part(link, path)))
        assert os.WTERMSIG(status) == signal.SIGKILL, f"line {last} of {total} was not reached: {status}"
        assert in_child(lambda link=link, path=path: take_part(link, path)) == 0, f"killed at line {last} of {total}"
    print(total)


if __name__ == "__main__":
    mode, *rest = sys.argv[1:]
    if mode == "kill":
        kill([InvitationLink.parse(text) for text in rest[1:]], Path(rest[0]))
    else:
        print("ready", flush=True)
        sys.stdin.readline()
        print(take_part(InvitationLink.parse(rest[0]), Path(rest[1])))
