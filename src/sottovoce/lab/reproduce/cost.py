"""What privacy costs: perturbing readings once, beside truth discovery on encrypted readings (Paillier).

On encrypted readings every iteration of truth discovery is a round trip: users weigh what they measured, encrypt it and
send it; the sums are decrypted and go back. Perturbed readings are sent once, and the server iterates alone. The
two are measured in turns, so that other work on the machine slows both.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.claims import Claims
from sottovoce.lab.reproduce.encrypted import KEY_BITS, EncryptedTruthDiscovery, RunCost
from sottovoce.lab.reproduce.experiment import Experiment, Parameters, Setting, Verdict, fitted
from sottovoce.lab.reproduce.style import BLUE, VERMILION, legend_above, panel_title
from sottovoce.lab.reproduce.tables import Table, column, rounded, where
from sottovoce.privacy.laws import FreshVariance
from sottovoce.privacy.sampler import Sampler

_REPORTED_BYTES = 8  # of a reading in grid steps
_STYLES = {
    "perturbation": ("perturbation, exact sampler", BLUE, "o", "-"),
    "paillier": (f"Paillier, {KEY_BITS} bits", VERMILION, "s", (0, (5, 1.5))),
}
_ITERATIONS = 5  # of truth discovery, as many as CRH takes on 150 × 30 readings
_READINGS_PER_DEVICE = 30
_SIZES = (4500, 10**6)  # readings: 150 users × 30 objects, and a large campaign


@dataclass(frozen=True)
class Cost(Experiment):
    """Time and bytes of private truth discovery over all readings, measured on small sizes and scaled up."""

    of_the_paper: ClassVar[bool] = False
    exclusive: ClassVar[bool] = True
    size: ClassVar[tuple[float, float]] = (7.2, 3.2)

    def missing(self) -> str | None:
        if find_spec("phe") is None:
            return "the comparison needs the package phe (Paillier encryption); install it with pip install phe"
        return None

    def tasks(self, setting: Setting) -> list[Parameters]:
        return [
            {
                "objects": setting.sized(_READINGS_PER_DEVICE, 6),
                "perturbing": setting.sized((10, 20, 40, 80, 150), (40, 150)),
                "encrypting": setting.sized((2, 3, 4, 5, 6), (2, 3)),
            }
        ]

    def run(self, task: Parameters) -> Table:
        rng = np.random.default_rng(0)
        encrypted = EncryptedTruthDiscovery(_ITERATIONS)
        ways: dict[str, Callable[[Any], RunCost]] = {
            "perturbation": _perturb,
            "paillier": lambda readings: encrypted.run(readings)[1],
        }
        gmp = find_spec("gmpy2") is not None  # with it phe's arithmetic is several times as fast
        _perturb(rng.uniform(0, 10, (1, 2)))  # warm up
        rows = []
        for sizes in zip(task["perturbing"], task["encrypting"], strict=True):
            for (way, measure), devices in zip(ways.items(), sizes, strict=True):
                truths, deviations = rng.uniform(0, 10, task["objects"]), rng.uniform(0.2, 1, (devices, 1))
                readings = truths + rng.standard_normal((devices, task["objects"])) * deviations
                cost = asdict(measure(readings))
                rows.append({"way": way, "gmp": gmp, "objects": task["objects"], "readings": readings.size, **cost})
        return rows

    def collect(self, rows: Table) -> Table:
        table = [{**rounded(row), "measured": True} for row in rows]
        for way in _STYLES:
            points = where(rows, way=way)
            shared = {"way": way, "gmp": points[0]["gmp"], "objects": points[0]["objects"]}
            readings = column(points, "readings")
            for wanted in _SIZES:
                if wanted in readings:
                    continue
                entry: dict[str, Any] = {**shared, "readings": wanted}
                for part in ("seconds_users", "seconds_server", "bytes"):
                    slope, start = np.polyfit(readings, column(points, part), 1)
                    entry[part] = float(max(start, 0.0) + slope * wanted)
                table.append({**rounded(entry), "measured": False})
        return table

    def draw(self, figure: Any, table: Table) -> None:
        seconds, size = figure.subplots(1, 2)
        for way, (label, colour, marker, dashes) in _STYLES.items():
            points = sorted(where(table, way=way), key=lambda row: row["readings"])
            measured = [row for row in points if row["measured"]]
            scaled = [measured[-1], *(row for row in points if not row["measured"])]
            for axes, of in ((seconds, _total_seconds), (size, lambda row: row["bytes"])):
                axes.plot(
                    column(measured, "readings"), [of(row) for row in measured], color=colour, marker=marker, ms=4.5,
                    ls=dashes, lw=1.3, label=f"{label}: measured",
                )  # fmt: skip
                axes.plot(
                    column(scaled, "readings"), [of(row) for row in scaled], color=colour, marker=marker, ms=4.5,
                    mfc="white", ls=":", lw=1.1, label="scaled by its growth", markevery=slice(1, None),
                )  # fmt: skip
        seconds.set(xscale="log", yscale="log", xlabel="readings", ylabel="time, users and server (s)")
        size.set(xscale="log", yscale="log", xlabel="readings", ylabel="sent to the server (bytes)")
        for axes in (seconds, size):
            axes.minorticks_off()
        panel_title(seconds, 0, f"Time of {_ITERATIONS} iterations")
        panel_title(size, 1, "Bytes sent")
        legend_above(figure, seconds, 2)

    def note(self, table: Table) -> str:
        return (
            f"{_ITERATIONS} iterations, {table[-1]['objects']} readings per device; perturbation: exact fresh noise "
            f"(ε = 1 for Δ = 1) once, in pure Python, 8 bytes per reading; Paillier: in every iteration devices "
            f"encrypt w·x, w and their loss, the server adds, sums are decrypted (phe "
            f"{'with' if table[-1]['gmp'] else 'without'} gmpy2); it hides readings from a server without the key, but "
            "its sums carry no noise; the network's delays are not counted; both measured in turns"
        )

    def verdict(self, table: Table) -> Verdict:
        parts = []
        for wanted in _SIZES:
            (ours,), (theirs,) = (where(table, way=way, readings=wanted) for way in _STYLES)
            parts.append(
                f"{wanted:,} readings take {_duration(_total_seconds(ours))} and {_size(ours['bytes'])}, compared with "
                f"{_duration(_total_seconds(theirs))} and {_size(theirs['bytes'])} "
                f"({_total_seconds(theirs) / _total_seconds(ours):,.0f} times the time, "
                f"{theirs['bytes'] / ours['bytes']:.0f} times the bytes)"
            )
        (ours,), (theirs,) = (where(table, way=way, readings=_SIZES[0]) for way in _STYLES)
        noise, encryption = (row["seconds_users"] / _SIZES[0] * _READINGS_PER_DEVICE for row in (ours, theirs))
        return Verdict(
            None,
            f"{_ITERATIONS} iterations on readings perturbed once (one message per device) and with Paillier (a round "
            f"trip per iteration), for all devices and the server together: {'; '.join(parts)}. One device with "
            f"{_READINGS_PER_DEVICE} readings spends {_duration(noise)} on noise or {_duration(encryption)} on "
            f"encryption; all {_SIZES[0] // _READINGS_PER_DEVICE} devices together spend "
            f"{_duration(ours['seconds_users'])} or {_duration(theirs['seconds_users'])}.",
        )


def _perturb(readings: NDArray[np.float64]) -> RunCost:
    """Exact noise on the devices, once; then the server's iterations."""
    sampler = Sampler(FreshVariance(0.5), Fraction(1, 100))
    exact = [Fraction(round(value * 100), 100) for value in readings.ravel().tolist()]
    start = time.perf_counter()
    steps = [sampler.perturb([value])[0] for value in exact]
    sent = time.perf_counter()
    claims = Claims.from_matrix(np.asarray(steps, np.float64).reshape(readings.shape) / 100)
    fitted("crh", claims, max_iter=_ITERATIONS, tol=0)
    done = time.perf_counter()
    return RunCost(sent - start, done - sent, float(_REPORTED_BYTES * len(steps)))


def _total_seconds(row: dict[str, Any]) -> float:
    return float(row["seconds_users"] + row["seconds_server"])


def _duration(seconds: float) -> str:
    for unit, length in (("h", 3600.0), ("min", 60.0), ("s", 1.0)):
        if seconds >= length:
            return f"{seconds / length:.2g} {unit}" if seconds / length < 10 else f"{seconds / length:,.0f} {unit}"
    return f"{1e3 * seconds:.3g} ms"


def _size(count: float) -> str:
    for unit, length in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= length:
            return f"{count / length:.3g} {unit}"
    return f"{count:.0f} B"


EXPERIMENTS = (
    Cost(
        "cost",
        "Cost compared with cryptography",
        "What does truth discovery cost on perturbed and on encrypted readings?",
    ),
)
