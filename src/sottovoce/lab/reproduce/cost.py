"""What privacy costs: perturbing readings, beside a cryptographic way to the same weighted sum (Paillier)."""

import time
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np

from sottovoce.lab.reproduce.experiment import Experiment, Parameters, Setting, Verdict
from sottovoce.lab.reproduce.style import BLUE, VERMILION, legend_above, panel_title
from sottovoce.lab.reproduce.tables import Table, column, rounded, where
from sottovoce.privacy.laws import FreshVariance
from sottovoce.privacy.sampler import Sampler

_KEY_BITS = 2048
_REPORTED_BYTES = 8  # of a reading in grid steps
_LOOKS = {
    "perturbation": ("perturbation, exact sampler", BLUE, "o", "-"),
    "paillier": (f"Paillier, {_KEY_BITS} bits", VERMILION, "s", (0, (5, 1.5))),
}
_WANTED = (4500, 10**6)  # 150 users × 30 objects, and a large campaign


@dataclass(frozen=True)
class Cost(Experiment):
    """Time and bytes of one private weighted sum over all readings, measured on small sizes and scaled up."""

    of_the_paper: ClassVar[bool] = False
    alone: ClassVar[bool] = True
    size: ClassVar[tuple[float, float]] = (7.2, 3.2)

    def missing(self) -> str | None:
        if find_spec("phe") is None:
            return "the comparison needs the package phe (Paillier encryption): install it with pip install phe"
        return None

    def tasks(self, setting: Setting) -> list[Parameters]:
        return [
            {"way": "perturbation", "sizes": setting.sized((250, 500, 1000, 2000, 4500), (250, 1000))},
            {"way": "paillier", "sizes": setting.sized((4, 8, 16, 24), (2, 4))},
        ]

    def run(self, task: Parameters) -> Table:
        rng = np.random.default_rng(0)
        measure = _perturb if task["way"] == "perturbation" else _encrypt()
        gmp = find_spec("gmpy2") is not None  # with it phe's arithmetic is several times as fast
        measure(rng.uniform(0, 10, 2), np.ones(2))  # whatever is done once
        rows = []
        for size in task["sizes"]:
            values, weights = rng.uniform(0, 10, size), rng.uniform(0.5, 2, size)
            rows.append({"way": task["way"], "gmp": gmp, "readings": size, **measure(values, weights)})
        return rows

    def collect(self, rows: Table) -> Table:
        table = [{**rounded(row), "measured": True} for row in rows]
        for way in _LOOKS:
            points = where(rows, way=way)
            readings = column(points, "readings")
            for wanted in _WANTED:
                if wanted <= readings.max():
                    continue
                entry: dict[str, Any] = {"way": way, "gmp": points[0]["gmp"], "readings": wanted}
                for part in ("seconds_users", "seconds_server", "bytes"):
                    slope, start = np.polyfit(readings, column(points, part), 1)
                    entry[part] = float(max(start, 0.0) + slope * wanted)
                table.append({**rounded(entry), "measured": False})
        return table

    def draw(self, figure: Any, table: Table) -> None:
        seconds, size = figure.subplots(1, 2)
        for way, (label, colour, marker, dashes) in _LOOKS.items():
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
        panel_title(seconds, 0, "Time of one weighted sum")
        panel_title(size, 1, "Bytes sent")
        legend_above(figure, seconds, 2)

    def note(self, table: Table) -> str:
        return (
            "one sum Σ w·x; perturbation: exact fresh noise (ε = 1 for Δ = 1) in pure Python, 8 bytes a reading; "
            f"Paillier: encrypt, multiply by the weight, add, decrypt (phe {'with' if table[-1]['gmp'] else 'without'} "
            "gmpy2); it hides readings from a server without the key, but its sum carries no noise"
        )

    def verdict(self, table: Table) -> Verdict:
        parts = []
        for wanted in _WANTED:
            (ours,), (theirs,) = (where(table, way=way, readings=wanted) for way in _LOOKS)
            parts.append(
                f"{wanted:,} readings: {_duration(_total_seconds(ours))} and {_size(ours['bytes'])} against "
                f"{_duration(_total_seconds(theirs))} and {_size(theirs['bytes'])} "
                f"({_total_seconds(theirs) / _total_seconds(ours):,.0f} times the time, "
                f"{theirs['bytes'] / ours['bytes']:.0f} times the bytes)"
            )
        ratio = min(
            _total_seconds(where(table, way="paillier", readings=wanted)[0])
            / _total_seconds(where(table, way="perturbation", readings=wanted)[0])
            for wanted in _WANTED
        )
        return Verdict(ratio > 1, f"One weighted sum by perturbation against Paillier, {'; '.join(parts)}.")


def _perturb(values: Any, weights: Any) -> dict[str, float]:
    """Exact noise on the devices, a weighted sum on the server."""
    sampler = Sampler(FreshVariance(0.5), Fraction(1, 100))
    exact = [Fraction(round(value * 100), 100) for value in values.tolist()]
    start = time.perf_counter()
    steps = [sampler.perturb([value])[0] for value in exact]
    sent = time.perf_counter()
    float(np.asarray(steps, np.float64) @ weights / weights.sum())
    done = time.perf_counter()
    return {"seconds_users": sent - start, "seconds_server": done - sent, "bytes": float(_REPORTED_BYTES * len(steps))}


def _encrypt() -> Any:
    """Paillier with one key pair: making it is not counted."""
    from phe import paillier  # type: ignore[import-untyped]

    public, private = paillier.generate_paillier_keypair(n_length=_KEY_BITS)

    def measure(values: Any, weights: Any) -> dict[str, float]:
        start = time.perf_counter()
        sent = [public.encrypt(value) for value in values.tolist()]
        received = time.perf_counter()
        total = sum(number * weight for number, weight in zip(sent, weights.tolist(), strict=True))
        private.decrypt(total)
        done = time.perf_counter()
        size = sum((number.ciphertext().bit_length() + 7) // 8 for number in sent)
        return {"seconds_users": received - start, "seconds_server": done - received, "bytes": float(size)}

    return measure


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
        "Cost beside cryptography",
        "Perturbation is far cheaper than encryption (the paper argues it and does not measure it).",
    ),
)
