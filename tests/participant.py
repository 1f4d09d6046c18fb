"""A participant with the real device code, whose clock does not make tests wait."""

from types import SimpleNamespace

from sottovoce.device import Client, ParticipantFile, RetryPolicy, flush, join, release, withdraw


class Participant:
    """The device code with a clock that does not wait: pauses are noted instead of slept."""

    def __init__(self, path, seconds=5.0, clock=None):
        self.file = ParticipantFile(path, **({"clock": clock} if clock else {}))
        self.time = SimpleNamespace(now=0.0)
        self.pauses = []
        self.retries = RetryPolicy(seconds, sleep=self._sleep, clock=lambda: self.time.now, random=lambda: 1.0)

    def _sleep(self, seconds):
        self.pauses.append(seconds)
        self.time.now += seconds

    def join(self, link, agree=lambda manifest, promise: True, **options):
        with Client(link.server) as client:
            return join(self.file, link, client, agree=agree, **options)

    def release(self, readings, campaign="hallways", **options):
        return release(self.file, campaign, readings, **options)

    def flush(self, **options):
        return flush(self.file, Client, self.retries, **options)

    def submit(self, readings, **options):
        self.release(readings, **options)
        return [sent.state for sent in self.flush()]

    def withdraw(self, campaign="hallways"):
        return withdraw(self.file, campaign, Client, self.retries)
