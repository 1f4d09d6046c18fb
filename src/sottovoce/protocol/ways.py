"""The largest ε over all ways to choose the tasks that a participant answers.

Parts whose law draws for each reading anew are *separate*: each of their readings has losses of its own, and a reading
of unknown kind reveals no more than the worst of all that it can be. So one sum of losses bounds the ε of many ways. A
part whose readings share a draw counts as often as any of these ways has it. Where a bound is too large, its ways are
divided, those with the largest bound first, until the largest ε is known well enough or has been sought long enough.
"""

import heapq
import math
from collections.abc import Mapping

from sottovoce.privacy.losses import LARGEST_LOSS, Losses, losses_of, sum_of, worst_of
from sottovoce.protocol.parts import Part

_CLOSE = 3e-3  # share of ε that is not worth another sum
_MOST_SUMS, _MOST_PARTS = 40, 240  # sums of losses, and parts of all of them together
_BEYOND = 3.0  # times an ε that holds: further out, the δ of one part hardly matters for that of all
_NEGLIGIBLE = 1e-4  # share of δ for the losses that are too large to be counted
# Values of δ that are connected: of one part, the second times √ln(1/δ), which costs about 1/2000 of its ε, but not
# fewer than the first; of all parts; of each of very many; and the share of the first of these for a shared draw, which
# takes long, but of which a campaign has two at most.
_USUAL_DOTS, _DOTS, _ALL_DOTS, _FEWEST_DOTS, _SHARE = 96, 18, 2400, 24, 2 / 3

_Counts = tuple[int, ...]  # of tasks, of each part


class Ways:
    """Ways to choose ``most`` tasks, or else all, of parts with these numbers of tasks."""

    def __init__(self, parts: Mapping[Part, int], most: int, delta: float) -> None:
        self._total, self._delta = min(most, sum(parts.values())), delta
        self._negligible = _NEGLIGIBLE * delta / self._total
        dots = max(_USUAL_DOTS, math.ceil(_DOTS * math.sqrt(-math.log(delta))))
        self._shared_dots = int(dots * _SHARE)
        dots = max(_FEWEST_DOTS, min(dots, _ALL_DOTS // len(parts)))
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
        self._kept: dict[tuple[int, int], Losses] = {}
        self._most_loss = min(_BEYOND * self._sum_of_each(), LARGEST_LOSS) if self._shared else LARGEST_LOSS

    def largest_epsilon(self) -> float:
        """An upper bound, close to the largest ε."""
        if not self._most_loss:
            return 0.0
        low, high = self._all
        most = min(_MOST_SUMS, _MOST_PARTS // len(self._tasks))
        boxes, largest, sums = [(-self._epsilon(low, high), low, high)], 0.0, 1
        while True:
            bound, low, high = heapq.heappop(boxes)
            if -bound > largest * (1 + _CLOSE) and low != high:
                way = self._first_way(low, high)
                largest = max(largest, self._epsilon(way, way))
            if -bound <= largest * (1 + _CLOSE) or low == high or sums >= most:
                return max(-bound, largest)
            for half in self._halves(low, high):
                heapq.heappush(boxes, (max(bound, -self._epsilon(*half)), *half))
            sums += 3

    def _epsilon(self, low: _Counts, high: _Counts) -> float:
        """An upper bound on the ε of all ways with numbers of tasks from ``low`` to ``high``."""
        shared = [self._readings(place, high[place]) for place in range(len(self._shared)) if high[place]]
        return sum_of([*shared, *self._separate(low, high)], self._negligible).epsilon(self._delta)

    def _separate(self, low: _Counts, high: _Counts) -> list[Losses]:
        """The losses of all readings of separate parts.

        Of the readings that may be of any part, at most as many are of the first part as it has tasks; the others are
        of any part but this, and so on.
        """
        first, left, worst = len(self._shared), self._total - sum(low), None
        losses = [self._readings(place, low[place]) for place in range(first, len(low)) if low[place]]
        for place in range(len(low) - 1, first - 1, -1):
            if high[place] > low[place]:
                one = self._ones[place - first]
                worst = one if worst is None else worst_of(one, worst)
                before = sum(high[first:place]) - sum(low[first:place])
                if left > before:
                    losses.append(worst.times(min(left - before, high[place] - low[place]), self._negligible))
        return losses

    def _readings(self, place: int, count: int) -> Losses:
        """The losses of this many readings of one part."""
        if (place, count) not in self._kept:
            self._kept[place, count] = self._losses(place, count)
        return self._kept[place, count]

    def _losses(self, place: int, count: int) -> Losses:
        if place >= len(self._shared):
            return self._ones[place - len(self._shared)].times(count, self._negligible)
        guarantee = self._shared[place].guarantee(count, "participant")
        return losses_of(guarantee, self._shared_dots, self._negligible, self._most_loss)

    def _sum_of_each(self) -> float:
        """A looser bound on the ε of all ways: the sum of what each shared draw and all other readings promise."""
        share, (low, high) = self._delta / (len(self._shared) + 1), self._all
        shared = (part.guarantee(count, "participant") for part, count in zip(self._shared, high, strict=False))
        separate = self._separate(low, high)
        others = sum_of(separate, self._negligible).epsilon(share) if separate else 0.0
        return sum(guarantee.epsilon(share) for guarantee in shared) + others

    def _narrowed(self, low: _Counts, high: _Counts) -> tuple[_Counts, _Counts]:
        """The numbers that ways between these can have."""
        pairs = [*zip(low, high, strict=True)]
        missing, spare = self._total - sum(high), self._total - sum(low)
        return tuple(max(one, missing + two) for one, two in pairs), tuple(min(two, spare + one) for one, two in pairs)

    def _first_way(self, low: _Counts, high: _Counts) -> _Counts:
        """As many as possible of the first parts."""
        way, left = [], self._total - sum(low)
        for one, two in zip(low, high, strict=True):
            way.append(min(two, one + left))
            left -= way[-1] - one
        return tuple(way)

    def _halves(self, low: _Counts, high: _Counts) -> list[tuple[_Counts, _Counts]]:
        """The ways in two halves, by the part whose number is known least; parts with shared draws come first."""
        spans = [two - one for one, two in zip(low, high, strict=True)]
        shared = spans[: len(self._shared)]
        place = spans.index(max(shared) if any(shared) else max(spans))
        middle = (low[place] + high[place]) // 2
        below, above = (*high[:place], middle, *high[place + 1 :]), (*low[:place], middle + 1, *low[place + 1 :])
        return [self._narrowed(low, below), self._narrowed(above, high)]
