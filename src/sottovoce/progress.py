"""How long-running work reports its progress."""

from collections.abc import Callable
from typing import ParamSpec

P = ParamSpec("P")

# Called repeatedly during the work. The function that takes it says with what: `Progress[int, int]` gets two numbers.
Progress = Callable[P, None]
