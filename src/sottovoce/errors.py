"""One exception per kind of mistake, each derived from the built-in exception that a caller would catch.

Every message gives the value, the rule and the fix, in that order.
"""

import sys
import warnings


class SottovoceError(Exception):
    """Any mistake that this package reports; the command line turns it into exit code 2."""


class BadParameter(SottovoceError, ValueError):
    """An option or argument with an invalid value."""


class NotFitted(SottovoceError, ValueError, AttributeError):
    """A result that was requested before there is one."""


class MissingColumn(SottovoceError, KeyError):
    """A table that lacks a required column."""

    def __str__(self) -> str:  # KeyError would show the repr of the message
        return str(self.args[0])


class NoClaims(SottovoceError, ValueError):
    """A table, file or matrix without a single claim."""


class BadRow(SottovoceError, ValueError):
    """A row that is not a claim: a value that is not a finite number, or a label that is missing."""


class DuplicateClaim(SottovoceError, ValueError):
    """A user who claims the same object twice."""


class UnreadableFile(SottovoceError, OSError):
    """A file that does not exist, or that is not in a readable format."""


class MissingExtra(SottovoceError, ImportError):
    """An optional dependency that is not installed."""


class ClusterError(SottovoceError, RuntimeError):
    """A cluster that cannot be reached, or work that failed on it."""


class ConvergenceWarning(UserWarning):
    """The truths were still moving when the iterations ran out."""


class UnwiseChoice(UserWarning):
    """Allowed, but there is a better choice."""


def warn(message: str, kind: type[Warning]) -> None:
    """Warn, pointing at the line of the caller's code, however deep in this package the warning arises."""
    frame, depth = sys._getframe(1), 2
    # By module, not by file: code that dataclasses generate belongs to a module but not to a file.
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "sottovoce":
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, kind, stacklevel=depth)
