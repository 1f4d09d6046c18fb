"""A simulated crowd: claims whose truths are known."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sottovoce.claims import Claims
from sottovoce.claims.labels import label_column
from sottovoce.claims.writing import write_table
from sottovoce.privacy.laws import NoiseLaw
from sottovoce.worlds.building import Building
from sottovoce.worlds.seeds import generator


@dataclass(frozen=True)
class World:
    """Claims whose truths and users' error variances are known, in the order of the claims' objects and users."""

    claims: Claims
    truths: NDArray[np.float64]
    error_variances: NDArray[np.float64]
    building: Building | None = None  # where the objects are, if they have places

    def with_simulated_noise(self, law: NoiseLaw, seed: int | np.random.Generator = 0) -> "World":
        """The same world as the server sees it, with simulated noise on every claim."""
        law.check_size()
        noisy = law.simulate(self.claims.values, self.claims.users, generator(seed))
        return replace(self, claims=self.claims.with_values(noisy, noise=str(law)))

    def write(self, folder: str | Path) -> None:
        """Write ``claims.csv`` and ``truth.csv`` into a folder; for a building also its plan and ``places.geojson``."""
        folder = Path(folder)
        self.write_truths(folder)
        self.claims.write(folder / "claims.csv")
        if self.building is not None:
            self.building.write(folder)

    def write_truths(self, folder: str | Path) -> None:
        """Write ``truth.csv`` into a folder."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        table = pa.table({"object": label_column(self.claims.object_labels), "value": self.truths})
        write_table(table, folder / "truth.csv")
