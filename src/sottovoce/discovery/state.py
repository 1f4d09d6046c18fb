"""The state after an iteration, from which a later run can continue, after an interruption or with new claims.

A checkpoint is such a state in a file: an Arrow table of one row whose cells are the arrays.
"""

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sottovoce.claims.labels import common_labels, label_column, to_numpy
from sottovoce.claims.writing import arrow_file, room_on_disk, whole_file
from sottovoce.errors import UnreadableFile

Floats = NDArray[np.float64]
Common = tuple[NDArray[np.intp], NDArray[np.intp]]  # positions of common labels, in each of two fits

_FORMAT = b"sottovoce.checkpoint"
# Runs shorter than this write nothing until they are done.
_SECONDS_BETWEEN = 1.0


@dataclass(frozen=True, eq=False)
class State:
    """Arrays by object and by user, with their labels, and whatever else a method has estimated."""

    method: str
    objects: NDArray[Any]
    users: NDArray[Any]
    by_object: dict[str, Floats]
    by_user: dict[str, Floats] = field(default_factory=dict)
    learnt: dict[str, Any] = field(default_factory=dict)  # numbers and short texts
    iteration: int = 0

    def common_objects(self, labels: NDArray[Any]) -> Common:
        return common_labels(labels, self.objects)

    def common_users(self, labels: NDArray[Any]) -> Common:
        return common_labels(labels, self.users)


class Checkpoint:
    """A file with the state of a run: written after iterations, at most once a second, and when the run ends or
    fails.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.iteration = 0  # the last one that this run has written
        self._state: State | None = None
        self._labels: list[pa.Array] | None = None
        self._written = time.monotonic()

    def take(self, state: State) -> None:
        """Keep the state after an iteration, and write it unless one was written less than a second ago."""
        self._state = state
        if time.monotonic() - self._written >= _SECONDS_BETWEEN:
            self.write()

    def write(self) -> None:
        """Write the newest state, unless it has been written already."""
        state, self._state = self._state, None
        if state is None:
            return
        if self._labels is None:
            self._labels = [label_column(state.objects), label_column(state.users)]
        arrays = {"objects": self._labels[0], "users": self._labels[1]}
        arrays |= {f"object {name}": pa.array(entry) for name, entry in state.by_object.items()}
        arrays |= {f"user {name}": pa.array(entry) for name, entry in state.by_user.items()}
        cells = {
            name: pa.LargeListArray.from_arrays(pa.array([0, len(entry)], pa.int64()), entry)
            for name, entry in arrays.items()
        }
        metadata = {"method": state.method, "iteration": state.iteration, "learnt": state.learnt}
        batch = pa.record_batch(cells).replace_schema_metadata({_FORMAT: json.dumps(metadata)})
        with room_on_disk(self.path), whole_file(self.path) as temporary:
            temporary.write_bytes(arrow_file(batch))
        self._written, self.iteration = time.monotonic(), state.iteration

    def read(self) -> State:
        """The state of an earlier run."""
        if not self.path.is_file():
            raise UnreadableFile(
                f"{self.path}: there is no checkpoint to resume from; start without resuming, or name the right file"
            )
        try:
            with pa.memory_map(str(self.path)) as mapped:
                batch = pa.ipc.open_file(mapped).get_batch(0)
                metadata = json.loads((batch.schema.metadata or {})[_FORMAT])
                arrays = {name: to_numpy(batch.column(name)[0].values).copy() for name in batch.schema.names}
        except (pa.ArrowInvalid, KeyError, ValueError, OSError) as error:
            raise UnreadableFile(
                f"{self.path}: this is not a checkpoint, or it is damaged ({error}); start without resuming"
            ) from error
        kinds: dict[str, dict[str, Floats]] = {"object": {}, "user": {}}
        labels = arrays.pop("objects"), arrays.pop("users")
        for name, entry in arrays.items():
            kind, _, what = name.partition(" ")
            kinds[kind][what] = entry
        return State(
            metadata["method"], *labels, kinds["object"], kinds["user"], metadata["learnt"], metadata["iteration"]
        )
