"""Waiting for a condition, however loaded the machine: never for a fixed time, and giving up only after a long one."""

import time

PATIENCE = 180  # seconds


def until(condition, what):
    """Wait until something is there, and return it."""
    end = time.monotonic() + PATIENCE
    while not (result := condition()):
        assert time.monotonic() < end, f"no {what} within {PATIENCE} s"
        time.sleep(0.05)
    return result
