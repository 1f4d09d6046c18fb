"""How much an answer supports another one, by a function that the caller gives, or by how similar their texts are."""

from collections.abc import Callable
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sottovoce.claims.answers import Answers
from sottovoce.claims.labels import to_numpy
from sottovoce.errors import BadParameter

Floats = NDArray[np.float64]
Similarity: TypeAlias = Literal["string"] | Callable[[Any, Any], float] | None

_MOST_PAIRS = 20_000_000


def check_similarity(similarity: Similarity) -> None:
    if similarity is not None and similarity != "string" and not callable(similarity):
        raise BadParameter(
            f"similarity={similarity!r}: it must be None, 'string', or a function of two answers; choose one of them"
        )


def alike(one: Any, other: Any) -> float:
    """How similar two texts are, from 0 to 1: the share of characters in common runs.

    >>> alike("Port Louis", "Port-Louis")
    0.9
    """
    return SequenceMatcher(None, str(one), str(other), autojunk=False).ratio()


class Support:
    """What each option of an object adds to the others, in proportion to its own votes."""

    def __init__(self, answers: Answers, similarity: Similarity) -> None:
        measure = alike if similarity == "string" else similarity
        assert callable(measure)
        cells = np.diff(answers.offsets)
        pairs = int((cells * (cells - 1)).sum())
        if pairs > _MOST_PAIRS:
            raise BadParameter(
                f"similarity: there are {pairs:,} pairs of answers about the same object, but at most {_MOST_PAIRS:,} "
                "can be compared; leave it out"
            )
        labels, ids = to_numpy(answers.labels).tolist(), answers.cell_labels.tolist()
        known: dict[tuple[int, int], float] = {}
        self._cells = len(ids)
        self._to, self._from = np.empty(pairs, np.int64), np.empty(pairs, np.int64)
        self._value = np.empty(pairs)
        place = 0
        for first, last in pairwise(answers.offsets.tolist()):
            for one in range(first, last):
                for other in range(first, last):
                    if one != other:
                        key = ids[one], ids[other]
                        if key not in known:
                            known[key] = float(measure(labels[key[0]], labels[key[1]]))
                        self._from[place], self._to[place], self._value[place] = one, other, known[key]
                        place += 1

    def added(self, scores: Floats) -> Floats:
        """For each option, the sum of the other options' scores, each times how much it supports this option."""
        weighted: Floats = np.bincount(self._to, scores[self._from] * self._value, minlength=self._cells).astype(
            np.float64
        )
        return weighted
