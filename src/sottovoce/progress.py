"""How long-running work reports its progress."""

from collections.abc import Callable
from typing import ParamSpec

P = ParamSpec("P")

# A function that is called repeatedly during the work. The type lists its arguments: `Progress[int, int]` gets two
# numbers.
Progress = Callable[P, None]
