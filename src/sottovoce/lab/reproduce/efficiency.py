"""How long truth discovery takes: on original and perturbed data, and as claims grow. Measured in turns."""

import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce.claims import Claims
from sottovoce.discovery import CRH
from sottovoce.lab.reproduce.experiment import Experiment, Parameters, Setting, Verdict
from sottovoce.lab.reproduce.style import BLUE, GREEN, LINES, VERMILION, LineStyle, panel_title, ticks
from sottovoce.lab.reproduce.tables import Row, Table, column, plain, rounded, where
from sottovoce.privacy.laws import SharedVariance

_NOISE_CLAIMS = 10**5
_CLAIMS_PER_USER, _CLAIMS_PER_OBJECT = 100, 25
_TOLERANCE = 1e-6  # the same for original and perturbed data
_BAR = {"fmt": "o", "ms": 4, "elinewidth": 1, "capsize": 2}


@dataclass(frozen=True)
class Efficiency(Experiment):
    """Time of a whole fit, its iterations, and the time of one, against noise and against the number of claims."""

    exclusive: ClassVar[bool] = True
    size: ClassVar[tuple[float, float]] = (7.2, 5.2)

    def tasks(self, setting: Setting) -> list[Parameters]:
        levels = setting.sized((0.25, 0.5, 1.0, 2.0, 4.0, 8.0), (0.5, 2.0, 8.0))
        sizes = setting.sized((10**4, 10**5, 10**6, 10**7), (10**4, 10**5, 10**6))
        repeats = setting.chosen("runs", 15, 5)
        return [
            {"against": "noise", "levels": levels, "repeats": repeats, "seed": setting.seed},
            *({"against": "claims", "claims": size, "repeats": 5 if size < 10**7 else 3, "seed": setting.seed}
              for size in sizes),
        ]  # fmt: skip

    def run(self, task: Parameters) -> Table:
        rng = np.random.default_rng(task["seed"])
        original = _crowd(_NOISE_CLAIMS if task["against"] == "noise" else task["claims"], rng)
        levels = task["levels"] if task["against"] == "noise" else (1.0,)
        crowds = {0.0: original} | {level: _perturbed(original, level, rng) for level in levels}
        CRH(max_iter=2, tol=0).fit(original)  # compile first
        return [
            {"against": task["against"], "level": level, **_measure(claims)}
            for _ in range(task["repeats"])  # in turns, so that other work on the machine affects all alike
            for level, claims in crowds.items()
        ]

    def collect(self, rows: Table) -> Table:
        groups: dict[tuple[Any, ...], Table] = {}
        for row in rows:
            groups.setdefault((row["against"], row["claims"], row["level"]), []).append(row)
        table = []
        for (against, claims, level), group in groups.items():
            entry: Row = {"against": against, "claims": claims, "noise_level": level, "runs": len(group),
                          "iterations": group[0]["iterations"]}  # fmt: skip
            low, middle, high = np.quantile(column(group, "seconds"), (0.25, 0.5, 0.75)).tolist()
            entry |= {"seconds": middle, "seconds_low": low, "seconds_high": high}
            entry["seconds_per_iteration"] = float(column(group, "seconds_per_iteration").min())
            table.append(rounded(entry))
        return table

    def draw(self, figure: Any, table: Table) -> None:
        (by_noise, iterations), (by_claims, per_iteration) = figure.subplots(2, 2)
        noise, sizes = where(table, against="noise"), where(table, against="claims")
        original, perturbed = noise[0], noise[1:]
        levels = column(perturbed, "noise_level")
        by_noise.axhline(1e3 * original["seconds"], color=BLUE, lw=1.4, label="original data")
        by_noise.axhspan(1e3 * original["seconds_low"], 1e3 * original["seconds_high"], color=BLUE, alpha=0.15, lw=0)
        middle, low, high = (1e3 * column(perturbed, f"seconds{end}") for end in ("", "_low", "_high"))
        by_noise.errorbar(
            levels, middle, yerr=(middle - low, high - middle), color=VERMILION, label="perturbed data", **_BAR
        )
        by_noise.set(xscale="log", xlabel="noise level c = λ1/λ2", ylabel="time of a fit (ms)")
        by_noise.set_ylim(0, 1.5 * 1e3 * max(column(noise, "seconds_high")))
        iterations.axhline(original["iterations"], color=BLUE, lw=1.4, label="original data")
        iterations.plot(levels, column(perturbed, "iterations"), "o", ms=4, color=VERMILION, label="perturbed data")
        iterations.set(xscale="log", xlabel="noise level c = λ1/λ2", ylabel="iterations")
        iterations.set_ylim(0, 1.5 * max(column(noise, "iterations")))
        for axes in (by_noise, iterations):
            ticks(axes, (0.25, 0.5, 1, 2, 4, 8))
            axes.legend(loc="lower right")
        for level, style, label in ((0.0, LINES[0], "original"), (1.0, LINES[1], "perturbed, c = 1")):
            line = where(sizes, noise_level=level)
            by_claims.plot(column(line, "claims"), column(line, "seconds"), label=label, **style.options)
            nanoseconds = 1e9 * column(line, "seconds_per_iteration") / column(line, "claims")
            per_iteration.plot(column(line, "claims"), nanoseconds, label=label, **style.options)
        for row in where(sizes, noise_level=0.0):
            by_claims.annotate(
                f"{row['iterations']} it.", (row["claims"], row["seconds"]), (5, -9), textcoords="offset points",
                ha="left", fontsize=8,
            )  # fmt: skip
        claims = column(where(sizes, noise_level=0.0), "claims")
        per_claim = sizes[0]["seconds"] / sizes[0]["claims"]
        by_claims.plot(claims, claims * per_claim, **LineStyle(GREEN, "", ":").options, label="in proportion")
        by_claims.set(xscale="log", yscale="log", xlabel="claims", ylabel="time of a fit (s)")
        by_claims.set_ylim(sizes[0]["seconds"] / 5, sizes[-1]["seconds"] * 5)
        by_claims.set_xlim(right=5 * sizes[-1]["claims"])
        by_claims.legend(loc="upper left")
        per_iteration.set(xscale="log", xlabel="claims", ylabel="time of an iteration\nper claim (ns)")
        per_iteration.set_ylim(0, 1.8e9 * max(column(sizes, "seconds_per_iteration") / column(sizes, "claims")))
        per_iteration.legend(loc="upper left")
        for axes in (by_claims, per_iteration):
            axes.minorticks_off()
        panel_title(by_noise, 0, "Noise hardly changes the time")
        panel_title(iterations, 1, "nor the iterations")
        panel_title(by_claims, 2, "Time grows with claims")
        panel_title(per_iteration, 3, "The fastest iteration, per claim")

    def note(self, table: Table) -> str:
        runs = table[0]["runs"]
        return (
            f"CRH, tol = {plain(_TOLERANCE)} on both; {_CLAIMS_PER_USER} claims per user, {_CLAIMS_PER_OBJECT} per "
            f"object, λ1 = 1; (a), (b) {_NOISE_CLAIMS:,} claims; medians of {runs} runs, (c), (d) of "
            f"{table[-1]['runs']} or more; bars: quartiles; (d) the fastest; it.: iterations; all measured "
            "in turns, so that other work on the machine slows them alike"
        )

    def choices(self, table: Table) -> list[tuple[str, str, str]]:
        return [
            ("stop threshold", "the same on both", f"{plain(_TOLERANCE)} on both"),
            ("claims", "not given", f"{_NOISE_CLAIMS:,}, and others in (c), (d)"),
            ("noise level c", "varied", "0.25 to 8"),
        ]

    def verdict(self, table: Table) -> Verdict:
        noise = where(table, against="noise")
        original, perturbed = noise[0], noise[1:]
        times = column(perturbed, "seconds") / original["seconds"]
        steps = column(perturbed, "iterations") / original["iterations"]
        sizes = where(table, against="claims", noise_level=0.0)
        first, last = sizes[0], sizes[-1]
        per_claim = [1e9 * row["seconds_per_iteration"] / row["claims"] for row in (first, last)]
        holds = bool(abs(np.log(np.median(times))) < np.log(1.5) and max(steps) <= 1.5)
        return Verdict(
            holds,
            f"On perturbed data, a fit takes {min(times):.2f} to {max(times):.2f} times as long as on original data "
            f"({1e3 * original['seconds']:.2g} ms, {original['iterations']} iterations), and at most "
            f"{int(max(column(perturbed, 'iterations')))} iterations. "
            f"From {first['claims']:,} to {last['claims']:,} claims, the time of a fit grows from "
            f"{1e3 * first['seconds']:.2g} ms to {last['seconds']:.2g} s; one "
            f"iteration takes {per_claim[0]:.1f} and {per_claim[1]:.1f} ns per claim.",
        )


def _crowd(size: int, rng: np.random.Generator) -> Claims:
    """This many claims of users who err with variances from Exponential(1), each object claimed by random users."""
    users, objects = size // _CLAIMS_PER_USER, size // _CLAIMS_PER_OBJECT
    # One user from each of several equal slices of the crowd, so that they differ and are already in order.
    slices = np.arange(_CLAIMS_PER_OBJECT, dtype=np.int32) * (users // _CLAIMS_PER_OBJECT)
    chosen = slices + rng.integers(0, users // _CLAIMS_PER_OBJECT, (objects, _CLAIMS_PER_OBJECT), dtype=np.int32)
    deviations = np.sqrt(rng.exponential(1.0, users))
    values = rng.uniform(0, 10, (objects, 1)) + rng.standard_normal(chosen.shape) * deviations[chosen]
    offsets = np.arange(objects + 1, dtype=np.int64) * _CLAIMS_PER_OBJECT
    return Claims(offsets, chosen.ravel(), values.ravel(), np.arange(users), np.arange(objects))


def _perturbed(claims: Claims, level: float, rng: np.random.Generator) -> Claims:
    """The claims with the noise of the paper at a noise level c = λ1/λ2, where λ1 = 1."""
    law = SharedVariance(1 / level)
    return claims.with_values(law.simulate(claims.values, claims.users, rng), noise=str(law))


def _measure(claims: Claims) -> Row:
    """A whole fit, and the fastest of its iterations."""
    ends = [time.perf_counter()]
    fit = CRH(tol=_TOLERANCE).fit(claims, progress=lambda *_: ends.append(time.perf_counter()))
    seconds = time.perf_counter() - ends[0]
    return {
        "claims": len(claims),
        "seconds": seconds,
        "iterations": fit.n_iter_,
        "seconds_per_iteration": float(np.diff(ends[1:]).min()),
    }


EXPERIMENTS = (
    Efficiency(
        "efficiency",
        "Running time",
        "Truth discovery takes about as long on perturbed data as on original data, whatever the noise level.",
    ),
)
