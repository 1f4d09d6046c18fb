"""Metrics for Prometheus: counts and times, never a token, a reading or an address."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """A separate registry, so that two servers in one process are counted separately."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "sottovoce_requests", "HTTP requests", ["route", "method", "status"], registry=self.registry
        )
        self.request_seconds = Histogram(
            "sottovoce_request_seconds",
            "Time to respond, in seconds",
            ["route"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.batch_reports = Histogram(
            "sottovoce_batch_reports", "Reports stored per commit", registry=self.registry,
            buckets=(0, 1, 2, 5, 10, 20, 50, 100, 200, 500),
        )  # fmt: skip
        self.commit_seconds = Histogram(
            "sottovoce_commit_seconds", "Time per commit, in seconds", buckets=_SECONDS, registry=self.registry
        )
        self.queue_depth = Gauge("sottovoce_queue_depth", "Reports waiting to be stored", registry=self.registry)
        self.reports = Counter("sottovoce_reports", "Reports by verdict", ["verdict"], registry=self.registry)
        self.result_seconds = Histogram(
            "sottovoce_result_seconds", "Time to compute results, in seconds", buckets=_SECONDS, registry=self.registry
        )
