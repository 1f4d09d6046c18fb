"""Waits for a condition, however loaded the machine is: never for a fixed time, and for long before giving up."""

import time

PATIENCE = 180  # seconds


def until(condition, what):
    """Wait until something is there, and return it."""
    end = time.monotonic() + PATIENCE
    while not (result := condition()):
        assert time.monotonic() < end, f"no {what} within {PATIENCE} s"
        time.sleep(0.05)
    return result
