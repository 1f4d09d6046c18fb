"""People, each with their own browser."""

from contextlib import contextmanager


@contextmanager
def at_browsers(somebody):
    """Make as many as are needed; no error on their pages goes unnoticed."""
    made = []

    def make(**options):
        made.append(somebody(**options))
        return made[-1]

    yield make
    for one in made:
        one.context.close()
        assert not one.faults
