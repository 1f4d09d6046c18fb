"""Real sets of answers with known truths, as the lab reads them."""

import hashlib
from pathlib import Path

import numpy as np

from sottovoce.claims import Claims
from sottovoce.discovery.result import known_truths
from sottovoce.errors import BadRow, UnreadableFile
from sottovoce.worlds import ChoiceWorld

_FILES = ("claims.csv", "truth.csv")


def sets_of_answers(folder: str | Path) -> list[Path]:
    """The folders in this one that hold a set of answers: ``claims.csv`` and ``truth.csv``."""
    folder = Path(folder)
    found = sorted(path for path in folder.glob("*/") if all((path / name).is_file() for name in _FILES))
    if not found:
        raise UnreadableFile(
            f"{folder}: it holds no set of answers; make a folder in it for each set, with {' and '.join(_FILES)}"
        )
    return found


def answers_digest(folder: str | Path) -> str:
    """SHA-256 of the files that `read_answers` would read."""
    return hashlib.sha256(b"".join((Path(folder) / name).read_bytes() for name in _FILES)).hexdigest()


def read_answers(folder: str | Path) -> ChoiceWorld:
    """A set of real answers; users' qualities come from the known truths, shrunk a little towards the usual one."""
    claims_path, truth_path = (Path(folder) / name for name in _FILES)
    claims = Claims.read(claims_path, kind="choice")
    known = known_truths(truth_path, "choice")
    assert claims.answers is not None
    options = claims.answers.label_list()
    claims = claims.with_options(options)
    place = {str(option): number for number, option in enumerate(options)}
    # No method can find a truth that nobody chose, so its question is left out.
    truths = np.array([place.get(str(known.get(str(label))), -1) for label in claims.object_labels.tolist()])
    if not (truths >= 0).any():
        raise BadRow(f"{truth_path}: none of the answered questions has a truth in this file; add the truths")
    about = truths[claims.objects]
    hits = np.bincount(claims.users, (about >= 0) & (claims.values == about), claims.n_users)
    counts = np.bincount(claims.users, about >= 0, claims.n_users)
    right = (hits + 1 + 1 / len(options)) / (counts + 2)
    return ChoiceWorld(claims, len(options), truths, right)
