"""Waiting for what must come, however loaded the machine: never for a time, and giving up only after a long one."""

import time

PATIENCE = 180  # seconds


def until(condition, what):
    """Wait until something is there, and give it."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < end, f"no {what} within {PATIENCE} s"
        time.sleep(0.05)
    return found
