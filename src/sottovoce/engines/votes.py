"""Inner loops over claims that are choices, object by object: add up votes, turn them into chances, and add to each
user's sum the chance that they are right, while the object's few cells are still in the core's own cache.

Every function takes the claims of a block (offsets, users, codes), ``cells``, where the options of each object begin,
and ``size``, the number of options in a claim. See `kernels` for the rest.
"""

import numpy as np
from numba import njit

# mypy: disable-error-code="no-untyped-def"

NOT_KNOWN, KNOWN_ELSEWHERE = -1, -2  # no truth is known; the known truth is an option that nobody named


@njit(nogil=True, cache=True)
def tally(offsets, users, codes, cells, weights, scores):
    """For each cell the sum of the weights of those who chose it."""
    scores[:] = 0.0
    for n in range(len(cells) - 1):
        score = scores[cells[n] - cells[0] : cells[n + 1] - cells[0]]
        for i in range(offsets[n], offsets[n + 1]):
            score[np.uint64(codes[i])] += weights[np.uint64(users[i])]


@njit(nogil=True, cache=True)
def agree(offsets, users, codes, cells, chances, sums):
    """For each user the sum of the chances of what they chose."""
    for n in range(len(cells) - 1):
        chance = chances[cells[n] - cells[0] : cells[n + 1] - cells[0]]
        for i in range(offsets[n], offsets[n + 1]):
            sums[np.uint64(users[i])] += chance[np.uint64(codes[i])]


@njit(nogil=True, cache=True)
def poll(
    offsets, users, codes, cells, size, groups, prior, unseen, known, old, mix, softmax, weights, slopes, sums, chances
):  # fmt: skip
    """Chances from votes, and each user's sum of the chances of what they chose, by the group of the object.

    A vote is the user's weight in the object's group; with ``slopes``, plus the slope times the chance that the answer
    had before. Slopes are in the same table as the weights, behind them, and so in the same cache line.
    """
    behind = np.uint64(sums.shape[1])
    for n in range(len(cells) - 1):
        first, last = cells[n] - cells[0], cells[n + 1] - cells[0]
        chance, before = chances[first:last], old[first:last]
        group = np.uint64(0) if groups is None else np.uint64(groups[n])
        for c in range(len(chance)):
            chance[c] = 0.0 if prior is None else prior[first + c]
        begin, end = offsets[n], offsets[n + 1]
        if slopes is None:
            for i in range(begin, end):
                chance[np.uint64(codes[i])] += weights[np.uint64(users[i]), group]
        elif size == 1:
            for i in range(begin, end):
                user, code = np.uint64(users[i]), np.uint64(codes[i])
                chance[code] += weights[user, group] + slopes[user, behind + group] * before[code]
        else:
            for i in range(begin, end, size):
                user, right = np.uint64(users[i]), 0.0
                for j in range(i, i + size):
                    right += before[np.uint64(codes[j])]
                vote = weights[user, group] + slopes[user, behind + group] * right
                for j in range(i, i + size):
                    chance[np.uint64(codes[j])] += vote
        if known is not None and known[n] != NOT_KNOWN:
            chance[:] = 0.0
            if known[n] != KNOWN_ELSEWHERE:
                chance[known[n]] = 1.0
        else:
            if softmax:
                _softmax(chance, 0.0 if unseen is None else unseen[n])
            else:
                _winners(chance)
            if mix > 0:
                for c in range(len(chance)):
                    chance[c] += mix * (before[c] - chance[c])
        for i in range(begin, end):
            sums[np.uint64(users[i]), group] += chance[np.uint64(codes[i])]


@njit(nogil=True, cache=True, inline="always")
def _softmax(scores, unseen):
    """Scores become chances; ``unseen`` is what the options that nobody named weigh, as if their score were 0."""
    largest = scores[0]
    for c in range(1, len(scores)):
        largest = max(largest, scores[c])
    if unseen > 0:
        largest = max(largest, 0.0)
    total = unseen * np.exp(-largest) if unseen > 0 else 0.0
    for c in range(len(scores)):
        scores[c] = np.exp(scores[c] - largest)
        total += scores[c]
    for c in range(len(scores)):
        scores[c] /= total


@njit(nogil=True, cache=True, inline="always")
def _winners(scores):
    """The cells with most votes share the chance; rounding does not break a tie."""
    largest = scores[0]
    for c in range(1, len(scores)):
        largest = max(largest, scores[c])
    least, ties = largest - 1e-9 * abs(largest), 0
    for c in range(len(scores)):
        ties += scores[c] >= least
    for c in range(len(scores)):
        scores[c] = 1.0 / ties if scores[c] >= least else 0.0


@njit(nogil=True, cache=True)
def confuse(
    offsets, users, codes, cells, prior, known, old, mix, rows, corrected, sums, chances
):  # fmt: skip
    """The same with habits: ``rows`` holds for each user and truth the log probability of each answer.

    ``sums`` collects how probable each truth was when a user gave each answer. With ``corrected``, a claim's own
    part in its user's row is taken out to first order: what that table holds, behind the rows, times the chance before.
    """
    options, behind = len(prior), np.uint64(sums.shape[1])
    for n in range(len(cells) - 1):
        first, last = cells[n] - cells[0], cells[n + 1] - cells[0]
        chance, before = chances[first:last], old[first:last]
        for c in range(options):
            chance[c] = prior[c]
        for i in range(offsets[n], offsets[n + 1]):
            user, code = np.uint64(users[i]), np.uint64(codes[i])
            for c in range(options):
                place = np.uint64(c * options) + code
                vote = rows[user, place]
                if corrected is not None:
                    vote -= before[c] * corrected[user, behind + place]
                chance[c] += vote
        if known is not None and known[n] != NOT_KNOWN:
            chance[:] = 0.0
            if known[n] != KNOWN_ELSEWHERE:
                chance[known[n]] = 1.0
        else:
            _softmax(chance, 0.0)
            if mix > 0:
                for c in range(options):
                    chance[c] += mix * (before[c] - chance[c])
        for i in range(offsets[n], offsets[n + 1]):
            user, code = np.uint64(users[i]), np.uint64(codes[i])
            for c in range(options):
                sums[user, np.uint64(c * options) + code] += chance[c]
