"""How long are the hallways? A crowd of walkers measures them, first without noise and then with it.

A script with cells: run it whole (`python examples/hallways.py`), or cell by cell in an editor that supports `# %%`.
It needs matplotlib (the extra `plot`). With a folder as its argument, it reads claims.csv and truth.csv from there
instead of simulating a crowd.
"""

# %% A crowd: 247 walkers, 129 hallways, 740 readings; three walkers in four measured a single hallway
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import sottovoce as sv

folder = sys.argv[1] if len(sys.argv) > 1 and Path(sys.argv[1]).is_dir() else None
world = sv.worlds.read_floorplan(folder) if folder else sv.worlds.floorplan(seed=1)
claims, truths = world.claims, world.truths
print(claims)
print(f"walkers with a single reading: {(claims.claims_per_user == 1).sum()}")

# %% Which method comes closest? Errors in metres, against hallways measured with a tape
methods = [sv.NoiseAware(), sv.CRH(), sv.GTM(), sv.CATD(), sv.Median(), sv.Mean()]
fits = {method.name: method.fit(claims) for method in methods}
for name, fit in fits.items():
    error = np.abs(fit.truths_ - truths).mean()
    print(f"{name:12} error {error:.3f} m, {np.median(fit.effective_users_):4.1f} effective walkers per hallway")

# %% Do the intervals contain the truth?
fit = fits["noise-aware"]
low, high = fit.intervals(level=0.95)
inside = (low <= truths) & (truths <= high)
print(f"{inside.mean():.0%} of the 95% intervals contain the length; half of them are narrower than "
      f"{np.median(high - low):.2f} m")  # fmt: skip

# %% Whose readings count? The noise-aware weights, and how large the walkers' errors really were
figure = Figure(figsize=(11, 4.5), layout="constrained")
left, right = figure.subplots(1, 2)
order = np.argsort(truths)
places = np.arange(len(order))
left.fill_between(places, low[order] - truths[order], high[order] - truths[order], color="#0072B2", alpha=0.25, lw=0,
                  label="95% interval")  # fmt: skip
left.plot(places, (fit.truths_ - truths)[order], ".", color="#0072B2", label="noise-aware")
left.plot(places, (fits["mean"].truths_ - truths)[order], "x", ms=4, color="#E69F00", label="mean")
left.axhline(0, color="#8A8A8A", lw=1)
left.set(xlabel="hallways, from short to long", ylabel="error (m)", title="Estimate minus truth")
left.legend(frameon=False)
several = claims.claims_per_user >= 3
right.plot(np.sqrt(world.error_variances[several]), fit.weights_[several], "o", ms=4, color="#009E73")
right.set(
    xlabel="real error of a walker (m)", ylabel="weight", ylim=(0, None), title="Walkers with three readings or more"
)
figure.savefig("hallways.png", dpi=120)
print("wrote hallways.png")

# %% Now with noise. Which law keeps the promise that we want to make, at the least cost?
plans = sv.plan(
    epsilon=1.0,
    delta=1e-5,
    distance=1.0,  # metres: the promise is for lengths up to a metre apart
    readings=int(claims.claims_per_user.max()),  # it must hold for the busiest walker too
    participants=int(np.median(claims.claims_per_object)),
    pilot=claims,
    error=0.25,  # metres
    simulations=0,
)
for option in plans:
    print(
        f"{option.law.name:9} mean variance {option.mean_variance:10,.1f}, "
        f"predicted error {option.predicted_error:5.2f} m; "
        f"{option.participants_needed:7,} walkers per hallway for 0.25 m"
    )
print(plans[0].sentence())

# %% The same crowd, as the server would see it: readings per hallway are few, so little of the noise averages out
law = plans[0].law
noisy = world.with_simulated_noise(law, seed=2).claims
for method in (sv.NoiseAware(noise=law), sv.CRH(), sv.Mean()):
    print(f"{method.name:12} error {np.abs(method.fit(noisy).truths_ - truths).mean():.2f} m with noise {law}")
