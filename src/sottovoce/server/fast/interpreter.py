"""The interpreter's own settings.

Gain of switching often: other clients wait 4 to 8 ms instead of 11 to 17 ms while somebody's large request is being
parsed (`bench/strangers.py`, six kinds of request in turns); 8 % in reports per second, the median of eight runs
between -12 % and 30 %. Gain of collecting rarely: 25 %, the median of eight runs between nothing and 52 %.
"""

import gc
import sys

_SWITCH_SECONDS = 0.001
_COLLECTIONS = (20_000, 20, 20)  # reports come and go by the thousand, and none of them is a reference cycle


def switch_often() -> None:
    """Switch threads often.

    The event loop and the writer need the interpreter's lock after every system call; by default each might wait 5 ms
    for a thread that parses a request.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)


def collect_rarely() -> None:
    """Exclude everything loaded at the start from collection: otherwise every collection would walk through it."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTIONS)
