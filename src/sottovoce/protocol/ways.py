"""The largest ε over all ways to choose the tasks that a participant answers.

Parts whose law draws once per reading are *separate*: each of their readings has its own losses, and a reading that may
belong to any of several parts reveals no more than the worst of them. So one sum of losses bounds the ε of many ways. A
part whose readings share a draw counts with as many readings as it has in any of these ways. Where a bound is too
large, its ways are divided, those with the largest bound first, until the largest ε is known closely enough or the
search has taken too long.
"""

import heapq
import math
from collections.abc import Mapping, Sequence

from sottovoce.errors import BadParameter
from sottovoce.privacy.losses import LARGEST_LOSS, MOST_DOTS, Losses, connected, losses_of, worst_of
from sottovoce.protocol.parts import Part

_ROUGHLY, _CLOSE = 0.1, 2e-3  # relative errors of ε that are accepted: in the rough search, and in the final one
_NEGLIGIBLE = 1e-4  # share of δ for losses that are too large to be counted
# How many values of δ are connected: for one part, the second times √ln(1/δ), but at least the first; for all parts
# together, at most the third; for each of very many parts, at least the last. This costs about 1/2000 of the ε.
_USUAL_DOTS, _DOTS, _ALL_DOTS, _FEWEST_DOTS = 96, 18, 2400, 24
_ROUGH_STEP, _STEP = 1.15, 1.1  # ratio of a loss to the one before: in the rough search, and beyond an ε that holds
_AT_LEAST = 0.7  # ε is expected to be at least this share of a rough bound
_BEYOND, _FAR = 6.0, 80.0  # losses this many times as large as such an ε, or this far above it, count as infinite
# Work, in passes over a few thousand numbers: of one sum of losses, and at most of a whole search.
_SUM, _MOST_WORK = 100, 90_000

_Counts = tuple[int, ...]  # numbers of tasks, by part
_Layer = tuple[_Counts, int]  # places of parts, and how many readings may belong to any of them
_Spread = tuple[Sequence[float], float]  # where the δ of a shared draw are connected, and the step of its losses


class Ways:
    """Ways to choose ``most`` tasks, or all if there are fewer, from parts with these numbers of tasks."""

    def __init__(self, parts: Mapping[Part, int], most: int, delta: float) -> None:
        self._total, self._delta = min(most, sum(parts.values())), delta
        self._negligible = _NEGLIGIBLE * delta / self._total
        self._dots = max(_USUAL_DOTS, math.ceil(_DOTS * math.sqrt(-math.log(delta))))
        dots = max(_FEWEST_DOTS, min(self._dots, _ALL_DOTS // len(parts)))
        self._shared = [part for part in parts if part.noised_together]
        ones = {
            part: losses_of(part.guarantee(1, "participant"), dots, self._negligible)
            for part in parts
            if not part.noised_together
        }
        separate = sorted(ones, key=lambda part: -ones[part].rough_epsilon(self._total, delta))
        self._ones = [ones[part] for part in separate]
        self._tasks = tuple(parts[part] for part in (*self._shared, *separate))
        self._all = self._narrowed((0,) * len(self._tasks), self._tasks)
        self._worst: dict[_Counts, Losses] = {}
        self._sums: dict[tuple[_Layer, ...], Losses] = {}
        self._drawn: dict[tuple[int, int], Losses] = {}
        self._spreads: Sequence[_Spread] = ()  # of each shared draw
        self._work = 0

    def largest_epsilon(self) -> float:
        """An upper bound, close to the largest ε."""
        if not self._shared:
            return self._searched(math.inf, _CLOSE)
        bound = self._sum_of_each()
        if not bound:
            return 0.0
        # A rough search first: it shows where computing further values of δ is worth the time.
        top = min(2 * bound, LARGEST_LOSS)
        roughly = _spread(0.0, top / 64, top / 64, top, _ROUGH_STEP), top / 64
        bound = self._searched(bound, _ROUGHLY, [roughly] * len(self._shared))
        if not 0 < bound < math.inf:
            return bound
        return self._searched(bound, _CLOSE, [self._closely(place, bound) for place in range(len(self._shared))])

    def _closely(self, place: int, bound: float) -> _Spread:
        """The losses of a shared draw that matter: from where they can reach the bound with all others, up to it."""
        pures = [
            math.inf if (pure := part.guarantee(count, "participant").pure_epsilon) is None else pure
            for part, count in zip(self._shared, self._all[1], strict=False)
        ]
        others = self._most_of_others + sum(pures[:place] + pures[place + 1 :])
        dense = min(bound, pures[place])
        low = max(0.0, min(_AT_LEAST * bound - others, _AT_LEAST * dense))
        step = (dense - low) / max(self._dots * 2 // 3, min(3 * (dense - low), MOST_DOTS))
        return _spread(low, step, dense, min(_BEYOND * bound, bound + _FAR, LARGEST_LOSS), _STEP), step

    def _searched(self, most: float, close: float, spreads: Sequence[_Spread] = ()) -> float:
        """The largest ε, at most ``most``, and with a relative error of at most ``close`` if there is enough time."""
        self._spreads, self._work = spreads, _MOST_WORK if close == _CLOSE else _MOST_WORK // 3
        self._drawn.clear()
        low, high = self._all
        boxes, largest = [(-self._epsilon(low, high, most), low, high)], 0.0
        while True:
            bound, low, high = heapq.heappop(boxes)
            if -bound > largest * (1 + close) and low != high:
                way = self._first_way(low, high)
                largest = max(largest, self._epsilon(way, way, -bound))
            if -bound <= largest * (1 + close) or low == high or self._work < 0:
                return max(-bound, largest)
            for half in self._halves(low, high):
                heapq.heappush(boxes, (-self._epsilon(*half, -bound), *half))

    def _epsilon(self, low: _Counts, high: _Counts, most: float) -> float:
        """An upper bound on the ε of all ways with numbers of tasks from ``low`` to ``high``, and at most ``most``."""
        laws = [self._shared_losses(place, high[place]) for place in range(len(self._shared)) if high[place]]
        layers = self._layers(low, high)
        laws += [self._sum(layers)] if layers else []
        total, *others = (law.within(-_FAR, most + _FAR) for law in laws)
        for other in others:
            self._work -= _SUM
            total = total.plus(other, self._negligible)
        return min(most, total.epsilon(self._delta))

    def _layers(self, low: _Counts, high: _Counts) -> tuple[_Layer, ...]:
        """The readings of separate parts.

        Of the readings that may belong to any part, at most as many belong to the first part as it has tasks; the rest
        belong to any of the other parts, and so on.
        """
        first, left = len(self._shared), self._total - sum(low)
        layers: list[_Layer] = [((place,), low[place]) for place in range(first, len(low)) if low[place]]
        free = [place for place in range(first, len(low)) if high[place] > low[place]]
        for index, place in enumerate(free):
            count = min(left, high[place] - low[place])
            if count:
                layers.append((tuple(free[index:]), count))
            left -= count
        return tuple(layers)

    def _sum(self, layers: tuple[_Layer, ...]) -> Losses:
        """The losses of all these readings. Ways that have the first layers in common share their sum."""
        if layers not in self._sums:
            *before, (places, count) = layers
            last = self._worst_of(places).times(count, self._negligible)
            self._work -= _SUM * (1 + bool(before))
            self._sums[layers] = self._sum(tuple(before)).plus(last, self._negligible) if before else last
        return self._sums[layers]

    def _worst_of(self, places: _Counts) -> Losses:
        """The losses of a reading of any of these parts."""
        if places not in self._worst:
            one, *others = places
            law = self._ones[one - len(self._shared)]
            self._work -= _SUM * bool(others)
            self._worst[places] = worst_of(law, self._worst_of(tuple(others))) if others else law
        return self._worst[places]

    def _shared_losses(self, place: int, count: int) -> Losses:
        """The losses of this many readings that share a draw."""
        if (place, count) not in self._drawn:
            guarantee = self._shared[place].guarantee(count, "participant")
            ends, step = self._spreads[place]
            self._drawn[place, count] = connected(guarantee, ends, step, self._negligible)
            self._work -= _SUM + int(guarantee.effort(len(ends), self._negligible))
        return self._drawn[place, count]

    @property
    def _layers_of_others(self) -> tuple[_Layer, ...]:
        """The largest number of readings of separate parts that any way has."""
        low, high = self._all
        return self._layers((*low[: len(self._shared)], *(0,) * len(self._ones)), high)

    @property
    def _most_of_others(self) -> float:
        """About the largest loss of these readings."""
        layers = self._layers_of_others
        return self._sum(layers).top if layers else 0.0

    def _sum_of_each(self) -> float:
        """A looser bound on the ε of all ways: the sum of the ε of each shared draw and of all other readings."""
        share, layers = self._delta / (len(self._shared) + 1), self._layers_of_others
        try:
            return sum(
                part.guarantee(count, "participant").epsilon(share)
                for part, count in zip(self._shared, self._all[1], strict=False)
            ) + (self._sum(layers).epsilon(share) if layers else 0.0)
        except BadParameter:  # there is no ε for a share of δ, but there may be one for all of it
            return math.inf

    def _narrowed(self, low: _Counts, high: _Counts) -> tuple[_Counts, _Counts]:
        """These bounds, tightened to the numbers that ways between them can have."""
        pairs = [*zip(low, high, strict=True)]
        missing, spare = self._total - sum(high), self._total - sum(low)
        return tuple(max(one, missing + two) for one, two in pairs), tuple(min(two, spare + one) for one, two in pairs)

    def _first_way(self, low: _Counts, high: _Counts) -> _Counts:
        """The way with as many tasks as possible in the first parts."""
        way, left = [], self._total - sum(low)
        for one, two in zip(low, high, strict=True):
            way.append(min(two, one + left))
            left -= way[-1] - one
        return tuple(way)

    def _halves(self, low: _Counts, high: _Counts) -> list[tuple[_Counts, _Counts]]:
        """The ways in two halves, by the part whose number varies most; parts with shared draws come first."""
        spans = [two - one for one, two in zip(low, high, strict=True)]
        shared = spans[: len(self._shared)]
        place = spans.index(max(shared) if any(shared) else max(spans))
        middle = (low[place] + high[place]) // 2
        below, above = (*high[:place], middle, *high[place + 1 :]), (*low[:place], middle + 1, *low[place + 1 :])
        return [self._narrowed(low, below), self._narrowed(above, high)]


def _spread(low: float, first: float, dense: float, top: float, step: float) -> list[float]:
    """0, then evenly spaced values from ``low`` to ``dense``, then values in growing steps up to ``top``."""
    even = math.ceil((min(dense, top) - low) / first)
    ends = [low + first * place for place in range(even + 1)]
    while ends[-1] * step < top:
        ends.append(ends[-1] * step)
    return [*([0.0] if low else []), *(end for end in ends if end < top), top]
