"""How long work says how far it has come."""

from collections.abc import Callable
from typing import ParamSpec

P = ParamSpec("P")

# Called again and again while work goes on. With what is said where it is taken: `Progress[int, int]` gets two numbers.
Progress = Callable[P, None]
