"""``sottovoce simulate``: a crowd whose truths are known."""

from pathlib import Path
from typing import Annotated

import typer

from sottovoce.cli.output import JsonOption, console, print_json


def simulate(
    out: Annotated[Path, typer.Argument(help="Folder for claims.csv and truth.csv.")],
    participants: Annotated[int, typer.Option(help="Users in the crowd (S).")] = 150,
    objects: Annotated[int, typer.Option(help="Objects they measure (N).")] = 30,
    error_rate: Annotated[float, typer.Option(help="Rate λ1 of the users' error variances.")] = 1.0,
    fill: Annotated[float, typer.Option(help="Chance that a user measures an object.")] = 1.0,
    low: Annotated[float, typer.Option(help="Smallest truth.")] = 0.0,
    high: Annotated[float, typer.Option(help="Largest truth.")] = 10.0,
    noise: Annotated[str | None, typer.Option(help="Noise law, such as shared:0.5; none by default.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same crowd.")] = 0,
    json: JsonOption = False,
) -> None:
    """Simulate a crowd: conflicting claims, and the truth to compare with."""
    from sottovoce.privacy.laws import parse_law
    from sottovoce.worlds import synthetic

    law = parse_law(noise) if noise else None
    world = synthetic(participants, objects, error_rate=error_rate, fill=fill, truth_range=(low, high), seed=seed)
    if law:
        world = world.with_simulated_noise(law, seed + 1)
    world.write(out)
    claims = world.claims
    if json:
        counts = {"claims": len(claims), "users": claims.n_users, "objects": claims.n_objects}
        print_json({"out": str(out), **counts, "noise": claims.noise})
    else:
        console.print(
            f"{len(claims):,} claims by {claims.n_users:,} users about {claims.n_objects:,} objects "
            f"in {out / 'claims.csv'}, truths in {out / 'truth.csv'}",
            highlight=False, soft_wrap=True,
        )  # fmt: skip
