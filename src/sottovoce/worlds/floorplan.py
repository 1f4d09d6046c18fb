"""The indoor floorplan: walkers with phones measure the hallways of a building by counting their steps.

Such crowds are sparse: most walkers pass through one hallway, a few nearly everywhere. `floorplan` errs as much as
the published measurements do; in `careful_floorplan` everybody knows their stride and nobody loses count.
"""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from sottovoce.claims import Claims
from sottovoce.claims.labels import texts
from sottovoce.claims.reading import read_file, read_frame
from sottovoce.digits import counted
from sottovoce.errors import BadRow, UnreadableFile
from sottovoce.worlds.building import Building
from sottovoce.worlds.seeds import generator
from sottovoce.worlds.world import World

Floats = NDArray[np.float64]

SEGMENTS, WALKERS, READINGS = 129, 247, 740
_PASSERS_BY = 183  # they walk one segment
_BUSIEST = (101, 115)  # segments of the walker with the most
_FEWEST, _MOST = 4, 10  # readings of a segment
_MODULE = 0.9  # metres; hallways are 4 to 12 of them long

# Chosen so that the crowd errs as the published one does: mean squared error 17 m², bias +1.7 m, a tenth of the walkers
# with a mean square of 96 m² or more, and an error of 1.55 m for CRH and 1.38 m for the median.
_STRIDE_BIAS, _STRIDE_SPREAD = 0.08, 0.25  # of the logarithm of believed over real
_WILD = 0.21  # of those who walk once
_WILD_FACTOR = (2.2, 3.1)  # steps counted for each one taken
_LAPSES = 0.12  # of the readings, on average
_DOUBLE = 0.7  # of the lapses; the others miss steps

# Share of the steps that a phone misses, and how uneven its count is (variance per step).
_PHONES = np.array([(0.0, 0.005), (0.005, 0.01), (0.015, 0.02), (-0.005, 0.04)])
_PHONE_SHARES = (0.4, 0.3, 0.2, 0.1)

_TIDY = ("claims.csv", "truth.csv")
_PUBLISHED = ("step_dataset.txt", "step_ground_truth.txt")


@dataclass(frozen=True)
class Walkers:
    """People who measure by walking. Distance = step length as they believe it × steps as their phone counts them."""

    stride: Floats  # metres
    believed_stride: Floats  # metres
    phone: NDArray[np.intp]  # which model
    fatigue: Floats  # share by which the stride shortens over a hundred segments
    factor: Floats  # steps counted for each one taken: 1, except for a few wild walkers
    lapses: Floats  # share of the readings in which some steps are missed or counted twice

    @classmethod
    def draw(cls, walks_once: NDArray[np.bool_], rng: np.random.Generator) -> "Walkers":
        """Random walkers who misjudge their strides, mostly as too long; some who walk only once are far off."""
        many = len(walks_once)
        stride = _strides(many, rng)
        believed: Floats = stride * np.exp(rng.normal(_STRIDE_BIAS, _STRIDE_SPREAD, many))
        wild = walks_once & (rng.random(many) < _WILD)
        return cls(
            stride,
            np.where(wild, stride, believed).astype(np.float64).round(2),
            rng.choice(len(_PHONES), many, p=_PHONE_SHARES),
            rng.uniform(0, 0.05, many),
            np.where(wild, rng.uniform(*_WILD_FACTOR, many), 1.0),
            np.where(wild, 0.0, rng.uniform(0, 2 * _LAPSES, many)),
        )

    @classmethod
    def draw_careful(cls, many: int, rng: np.random.Generator) -> "Walkers":
        """Random walkers who know their strides; about one in fifteen only guessed."""
        stride = _strides(many, rng)
        guessed = rng.random(many) < 1 / 15
        believed = stride * np.exp(rng.normal(0, np.where(guessed, 0.09, 0.022)))
        phone = rng.choice(len(_PHONES), many, p=_PHONE_SHARES)
        return cls(stride, np.round(believed, 2), phone, rng.uniform(0, 0.05, many), np.ones(many), np.zeros(many))

    def measure(
        self, walker: NDArray[np.intp], lengths: Floats, walked: NDArray[np.intp], rng: np.random.Generator
    ) -> Floats:
        """Distances in metres that walkers report for hallways of these lengths.

        ``walked`` is how many segments each has walked before: it shortens the stride, but not the believed stride.
        """
        steps = lengths / (self.stride[walker] * (1 - self.fatigue[walker] * walked / 100))
        missed, unevenness = _PHONES[self.phone[walker]].T
        counted = steps * (1 - missed) + rng.normal(0, np.sqrt(unevenness * steps))
        if self.lapses.any():
            lapse = rng.random(len(walker)) < self.lapses[walker]
            twice, never = rng.uniform(0.2, 1.0, len(walker)), rng.uniform(0.1, 0.6, len(walker))
            slip = np.where(rng.random(len(walker)) < _DOUBLE, twice, -never)
            counted = counted * np.where(lapse, 1 + slip, 1.0)
        counted = np.round(counted * self.factor[walker])
        return np.asarray(self.believed_stride[walker] * np.maximum(counted, 1))


def _strides(many: int, rng: np.random.Generator) -> Floats:
    return np.clip(rng.normal(0.72, 0.07, many), 0.5, 0.95)


def floorplan(seed: int | np.random.Generator = 0) -> World:
    """129 hallway segments of 3.6 to 10.8 m measured by 247 walkers, who err as those of the published set do.

    740 readings: 183 walkers walk exactly one segment, the busiest more than a hundred, and each segment has 4 to 10
    readings. A walker misjudges all strides by one factor, mostly as too long; steps are missed or counted twice; a few
    report two or three times the length. A walker's error variance is the mean square of their readings' errors.

    >>> floorplan(seed=1).claims
    Claims(740 claims, 247 users, 129 objects)
    """
    rng = generator(seed)
    lengths: Floats = np.round(_MODULE * rng.integers(4, 13, SEGMENTS).astype(np.float64), 1)
    per_walker = _segments_per_walker(rng)
    walkers = Walkers.draw(per_walker == 1, rng)
    return _measured(lengths, walkers, per_walker, rng)


def careful_floorplan(seed: int | np.random.Generator = 0) -> World:
    """A crowd like that of `floorplan`, but with hallways of 2.5 to 40 m and walkers who do not misjudge or miscount.

    They are far more accurate than the published measurements: errors are 0.5 m instead of 4 m, and no bias is shared.
    """
    rng = generator(seed)
    lengths: Floats = np.clip(rng.lognormal(np.log(9.0), 0.55, SEGMENTS), 2.5, 40.0).round(1)
    walkers = Walkers.draw_careful(WALKERS, rng)
    return _measured(lengths, walkers, _segments_per_walker(rng), rng)


def _measured(lengths: Floats, walkers: Walkers, per_walker: NDArray[np.intp], rng: np.random.Generator) -> World:
    walker, segment = _walks(per_walker, _readings_per_segment(rng), rng)
    metres = walkers.measure(walker, lengths[segment], _places_within(walker), rng)
    claims = Claims.from_arrays(
        np.array([f"walker-{number + 1:03d}" for number in range(WALKERS)])[walker],
        np.array([f"hall-{number + 1:03d}" for number in range(SEGMENTS)])[segment],
        metres,
    )
    building = Building.of(list(map(str, claims.object_labels.tolist())), lengths.tolist())
    return replace(_world(claims, lengths), building=building)


def read_floorplan(folder: str | Path) -> World:
    """A world from files: tidy ``claims.csv`` and ``truth.csv``, or the published pair.

    The published measurements are in their authors' repository, github.com/houpingx/ETCIBoot, for academic and
    educational use only and not to be redistributed. The pair is ``step_dataset.txt`` (segment, metres, user) and
    ``step_ground_truth.txt`` (segment, metres), columns separated by tabs. Repeated readings of one segment by one user
    are averaged.
    """
    claims_path, truth_path = _files(Path(folder))
    if claims_path.name == _TIDY[0]:
        claims = Claims.read(claims_path, duplicates="mean")
        truths = read_file(truth_path, ("object",), "value", skip_bad=False)
    else:
        claims = Claims.from_frame(_read_tabs(claims_path, ["object", "value", "user"]), duplicates="mean")
        truths = read_frame(_read_tabs(truth_path, ["object", "value"]), ("object",), "value", skip_bad=False)
    (ids,), (labels,) = truths.ids, truths.labels
    names = texts(labels)
    truth_of = dict(zip((names[place] for place in ids.tolist()), truths.values.tolist(), strict=True))
    missing = [label for label in map(str, claims.object_labels.tolist()) if label not in truth_of]
    if missing:
        raise BadRow(
            f"{truth_path}: no truth for {counted(len(missing), 'object')} with claims, such as {missing[0]!r}, "
            "but every object needs one; add them, or leave their claims out"
        )
    return _world(claims, np.array([truth_of[str(label)] for label in claims.object_labels.tolist()]))


def floorplan_digest(folder: str | Path) -> str:
    """SHA-256 of the files that `read_floorplan` would read, which identifies the data."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in _files(Path(folder)))).hexdigest()


def _world(claims: Claims, truths: Floats) -> World:
    squares = (claims.values - truths[claims.objects]) ** 2
    return World(claims, truths, np.bincount(claims.users, squares) / claims.claims_per_user)


def _segments_per_walker(rng: np.random.Generator) -> NDArray[np.intp]:
    """How many segments each walker walks: most walk one, a few very many; the total is always the same."""
    regulars = WALKERS - _PASSERS_BY - 1
    busiest = int(rng.integers(_BUSIEST[0], _BUSIEST[1] + 1))
    left = READINGS - _PASSERS_BY - busiest - 2 * regulars
    eagerness = rng.pareto(1.5, regulars) + 0.2
    many = 2 + _shared_out(left, eagerness, np.full(regulars, busiest // 2), rng)
    return np.asarray(rng.permutation(np.concatenate([np.ones(_PASSERS_BY, np.intp), many, [busiest]])))


def _readings_per_segment(rng: np.random.Generator) -> NDArray[np.intp]:
    room = np.full(SEGMENTS, _MOST - _FEWEST)
    return _FEWEST + _shared_out(READINGS - _FEWEST * SEGMENTS, rng.gamma(2.0, size=SEGMENTS), room, rng)


def _shared_out(total: int, shares: Floats, room: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """This many units dealt out at random in proportion to shares; nobody gets more than they have room for."""
    got = np.zeros(len(shares), np.intp)
    while total:
        open_shares = np.where(got < room, shares, 0.0)
        got += rng.multinomial(total, open_shares / open_shares.sum())
        total = int(np.maximum(got - room, 0).sum())
        got = np.minimum(got, room)
    return got


def _walks(
    per_walker: NDArray[np.intp], per_segment: NDArray[np.intp], rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Who walks where, so that both counts come out exactly (Gale and Ryser).

    The busiest choose first, each where the most readings are still missing; ties are broken at random.
    """
    wanted = per_segment.copy()
    walker, segment = [], []
    for person in np.argsort(-per_walker, kind="stable"):
        chosen = np.argsort(rng.random(len(wanted)) - wanted)[: per_walker[person]]
        wanted[chosen] -= 1
        walker.append(np.full(len(chosen), person))
        segment.append(rng.permutation(chosen))
    return np.concatenate(walker), np.concatenate(segment)


def _places_within(walker: NDArray[np.intp]) -> NDArray[np.intp]:
    """How many entries of the same walker precede each entry; the entries of a walker are consecutive."""
    starts = np.flatnonzero(np.diff(walker, prepend=-1))
    return np.arange(len(walker)) - np.repeat(starts, np.diff(starts, append=len(walker)))


def _files(folder: Path) -> tuple[Path, Path]:
    for pair in (_TIDY, _PUBLISHED):
        if all((folder / name).is_file() for name in pair):
            return folder / pair[0], folder / pair[1]
    raise UnreadableFile(
        f"{folder}: a floorplan is {' and '.join(_TIDY)}, or {' and '.join(_PUBLISHED)}, and neither pair is there; "
        "give another folder"
    )


def _read_tabs(path: Path, names: list[str]) -> pa.Table:
    with path.open("rb") as file:
        first = file.readline().split(b"\t")
    heading = len(first) == len(names) and not _is_number(first[names.index("value")])
    try:
        return pa.csv.read_csv(
            path,
            pa.csv.ReadOptions(column_names=names, skip_rows=int(heading)),
            pa.csv.ParseOptions(delimiter="\t"),
            pa.csv.ConvertOptions(column_types={"value": pa.float64()}),
        )
    except pa.ArrowInvalid as error:
        raise BadRow(
            f"{path}: its columns must be {', '.join(names)}, separated by tabs ({error}); correct it"
        ) from error


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
