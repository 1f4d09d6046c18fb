"""Inner loops over claims that are choices.

An iteration has two of them, object by object. The first adds up votes. The second turns votes into chances, and adds
the changes of chances to the sums of the users who chose these options. Exponentials are computed in between, for all
objects at once, because one object at a time would have to wait for each of its exponentials.

After a few iterations, the chances of most objects do not move any more. Nothing has to be added for these objects, and
their votes need not be counted until users' votes have moved far enough to change something: an object rests while it
has ``slack``.

Every function takes the claims of a block (offsets, users, codes), the positions ``cells`` where the options of each
object begin, and ``size``, the number of options in a claim. See `kernels` for the rest.
"""

import math

import numpy as np
from numba import njit

# mypy: disable-error-code="no-untyped-def"

NOT_KNOWN, KNOWN_ELSEWHERE = -1, -2  # no known truth; a known truth that nobody chose
_LANES = 4  # of scores
ROW = 8  # numbers in a row of habits, at least
_TIE = 1e-9  # relative difference up to which scores differ only by rounding
_SMALLEST_MOVE = 1e-12  # smaller moves of an object's chances are not added to the sums of users
# While an object rests, chances up to this may be out of date. Chances shown to people are about their cube root, or
# less.
_SMALLEST_CHANCE = 1e-18
_FAR = -math.log(_SMALLEST_CHANCE)


@njit(nogil=True, cache=True)
def tally(offsets, users, codes, cells, weights, out):
    """For each cell, the sum of the weights of the users who chose it."""
    scores = np.empty(_LANES * _most_options(cells))
    none = np.uint64(0)
    for n in range(len(cells) - 1):
        first, options = cells[n] - cells[0], cells[n + 1] - cells[n]
        _count(users, codes, offsets[n], offsets[n + 1], options, out, none, none, none, weights, None, scores)
        for c in range(options):
            out[first + c] = scores[c]


@njit(nogil=True, cache=True)
def agree(offsets, users, codes, cells, chances, sums):
    """For each user, the sum of the chances of what they chose."""
    for n in range(len(cells) - 1):
        chance = chances[cells[n] - cells[0] : cells[n + 1] - cells[0]]
        _add(users, codes, offsets[n], offsets[n + 1], np.uint64(0), chance, sums)


@njit(nogil=True, cache=True)
def agree_by_truth(offsets, users, codes, cells, chances, sums):
    """For each user and answer, the sum of the chances of each truth."""
    for n in range(len(cells) - 1):
        chance = chances[cells[n] - cells[0] : cells[n + 1] - cells[0]]
        _add_rows(users, codes, offsets[n], offsets[n + 1], len(chance), chance, sums)


@njit(nogil=True, cache=True)
def count(
    offsets, users, codes, cells, size, groups, prior, unseen, known, old, softmax, weights, slopes, slack, room, votes
):  # fmt: skip
    """Votes for the options of objects that do not rest, one object after the other; returns how many were stored.

    A vote is the user's weight in the object's group, plus, with ``slopes``, the slope times the chance that the answer
    had before. Slopes are in the same table as the weights, behind them, and so in the same cache line.

    For a softmax, the votes are logarithms, up to a constant, of chances and, if there are ``unseen`` options, of the
    chance of each of these. Otherwise, the truth has 1 and the other options have 0.
    """
    behind, filled = np.uint64(weights.shape[1] // 2), 0
    # One object's scores. Slicing other arrays for each object would cost more.
    scores = np.empty(_LANES * _most_options(cells))
    for n in range(len(cells) - 1):
        room[n] = slack[n]
        if slack[n] > 0:
            continue
        first, options = np.uint64(cells[n] - cells[0]), cells[n + 1] - cells[n]
        group = np.uint64(0) if groups is None else np.uint64(groups[n])
        begin, end = offsets[n], offsets[n + 1]
        if size == 1 or slopes is None:
            _count(users, codes, begin, end, options, old, first, group, behind, weights, slopes, scores)
        else:
            _count_sets(users, codes, begin, end, size, options, old, first, group, behind, weights, slopes, scores)
        if prior is not None:
            for c in range(options):
                scores[c] += prior[first + np.uint64(c)]
        filled = _compare(scores, options, n, unseen, known, softmax, room, votes, filled)
    return filled


@njit(nogil=True, cache=True)
def count_rows(offsets, users, codes, cells, prior, known, old, rows, corrected, slack, room, votes):
    """The same with habits: ``rows`` holds, for each user and answer, its log probability for each truth.

    If ``corrected``, each row is followed by what a claim itself has contributed to it, per chance of the truth; this
    is then subtracted, to first order. Rows of up to eight numbers are filled up to eight.
    """
    options, filled = len(prior), 0
    width = rows.shape[1] // options
    scores = np.empty(width)
    for n in range(len(cells) - 1):
        room[n] = slack[n]
        if slack[n] > 0:
            continue
        if width == ROW:
            _add_up_rows(users, codes, offsets[n], offsets[n + 1], rows, scores)
        else:
            scores[:] = 0.0
            for place in range(offsets[n], offsets[n + 1]):
                user, row = np.uint64(users[np.uint64(place)]), np.uint64(width * codes[np.uint64(place)])
                for c in range(width):
                    scores[c] += rows[user, row + np.uint64(c)]
        first = np.uint64(cells[n] - cells[0])
        for c in range(options):
            scores[c] += prior[c]
            if corrected:
                scores[c] -= old[first + np.uint64(c)] * scores[options + c]
        filled = _compare(scores, options, n, None, known, True, room, votes, filled)
    return filled


@njit(nogil=True, cache=True)
def settle(
    offsets, users, codes, cells, groups, unseen, known, old, mix, by_truth, slack, room, votes, sums, chances
):  # fmt: skip
    """Chances from votes; their moves are added to the sums of the users who chose them, by the object's group.

    If ``by_truth``, there is a sum for each answer of the chances of each truth. Returns the largest move of a chance.
    """
    move, filled = 0.0, 0
    # Old chances that are mixed in may be larger than those of the votes.
    rest_below = _SMALLEST_CHANCE if mix > 0 else _SMALLEST_MOVE
    scores = np.empty(_most_options(cells))
    for n in range(len(cells) - 1):
        first, options = np.uint64(cells[n] - cells[0]), cells[n + 1] - cells[n]
        if slack[n] > 0:
            for c in range(options):
                chances[first + np.uint64(c)] = old[first + np.uint64(c)]
            continue
        total = 0.0
        for c in range(options):
            scores[c] = votes[filled + c]
            total += scores[c]
        filled += options
        if unseen is not None:
            total += unseen[n] * votes[filled]
            filled += 1
        if known is not None and known[n] != NOT_KNOWN:
            _set_known(scores, options, known[n])
        else:
            _divide(scores, options, total, old, first, mix)
        moved = _moves(scores, options, old, first, chances)
        move = max(move, moved)
        if moved > rest_below:
            room[n] = 0.0
        if moved <= _SMALLEST_MOVE:
            continue
        if by_truth:
            _add_rows(users, codes, offsets[n], offsets[n + 1], options, scores, sums)
        else:
            group = np.uint64(0) if groups is None else np.uint64(groups[n])
            _add(users, codes, offsets[n], offsets[n + 1], group, scores, sums)
    return move


@njit(nogil=True, cache=True)
def _most_options(cells):
    most = 0
    for n in range(len(cells) - 1):
        most = max(most, cells[n + 1] - cells[n])
    return most


@njit(nogil=True, cache=True, inline="always")
def _count(users, codes, begin, end, options, old, first, group, behind, weights, slopes, scores):
    """Votes for the options of one object.

    Neighbouring claims often name the same option, and each addition would wait for the previous one. So if there are
    many claims, they are counted in four lanes of scores, which are then added up; if there are few, all four lanes are
    the same.
    """
    width = options if end - begin > _LANES * options else 0
    for c in range(max(options, _LANES * width)):
        scores[c] = 0.0
    second, third, fourth = np.uint64(width), np.uint64(2 * width), np.uint64(3 * width)
    whole = begin + (end - begin) // _LANES * _LANES
    for place in range(begin, whole, _LANES):
        i, j, k, m = np.uint64(place), np.uint64(place + 1), np.uint64(place + 2), np.uint64(place + 3)
        v, x, y, z = np.uint64(codes[i]), np.uint64(codes[j]), np.uint64(codes[k]), np.uint64(codes[m])
        one = _vote(users[i], v, old, first, group, behind, weights, slopes)
        two = _vote(users[j], x, old, first, group, behind, weights, slopes)
        three = _vote(users[k], y, old, first, group, behind, weights, slopes)
        four = _vote(users[m], z, old, first, group, behind, weights, slopes)
        scores[v] += one
        scores[second + x] += two
        scores[third + y] += three
        scores[fourth + z] += four
    for place in range(whole, end):
        i = np.uint64(place)
        code = np.uint64(codes[i])
        scores[code] += _vote(users[i], code, old, first, group, behind, weights, slopes)
    if width > 0:
        for c in range(options):
            scores[c] = (scores[c] + scores[c + width]) + (scores[c + 2 * width] + scores[c + 3 * width])


@njit(nogil=True, cache=True, inline="always")
def _vote(user, code, old, first, group, behind, weights, slopes):
    vote = weights[np.uint64(user), group]
    if slopes is not None:
        vote += slopes[np.uint64(user), behind + group] * old[first + code]
    return vote


@njit(nogil=True, cache=True)
def _count_sets(users, codes, begin, end, size, options, old, first, group, behind, weights, slopes, scores):
    """Votes if each claim names several options: a claim is right if any of its options is."""
    scores[:options] = 0.0
    for i in range(begin, end, size):
        user, right = np.uint64(users[i]), 0.0
        for j in range(i, i + size):
            right += old[first + np.uint64(codes[j])]
        vote = weights[user, group] + slopes[user, behind + group] * right
        for j in range(i, i + size):
            scores[np.uint64(codes[j])] += vote


@njit(nogil=True, cache=True)
def _set_known(scores, options, known):
    """Set the chances of an object whose truth is known."""
    scores[:options] = 0.0
    if known != KNOWN_ELSEWHERE:
        scores[known] = 1.0


@njit(nogil=True, cache=True, inline="always")
def _add_up_rows(users, codes, begin, end, rows, scores):
    """The sum of rows of eight numbers, in registers: each addition in memory would wait for the previous one."""
    a = b = c = d = e = f = g = h = 0.0
    for place in range(begin, end):
        user, i = np.uint64(users[np.uint64(place)]), np.uint64(ROW * codes[np.uint64(place)])
        a += rows[user, i]
        b += rows[user, i + np.uint64(1)]
        c += rows[user, i + np.uint64(2)]
        d += rows[user, i + np.uint64(3)]
        e += rows[user, i + np.uint64(4)]
        f += rows[user, i + np.uint64(5)]
        g += rows[user, i + np.uint64(6)]
        h += rows[user, i + np.uint64(7)]
    scores[0], scores[1], scores[2], scores[3] = a, b, c, d
    scores[4], scores[5], scores[6], scores[7] = e, f, g, h


@njit(nogil=True, cache=True, inline="always")
def _compare(scores, options, n, unseen, known, softmax, room, votes, filled):
    """Store the votes for one object, and how far they may move before a chance can move again."""
    largest, second = scores[0], -np.inf
    for c in range(1, options):
        second = max(second, min(largest, scores[c]))
        largest = max(largest, scores[c])
    if softmax:
        others = 0.0
        if unseen is not None:
            others = unseen[n]
            if others > 0:  # their score is 0
                second = max(second, min(largest, 0.0))
                largest = max(largest, 0.0)
            votes[filled + options] = -largest
        # All other chances together are below those of this many options in second place.
        lead = largest - second
        room[n] = lead - np.log((options + others) / _SMALLEST_CHANCE) if lead > _FAR else 0.0
        for c in range(options):
            scores[c] -= largest
    else:
        lead = largest - second
        room[n] = (1 - 2 * _TIE) * lead - 2 * _TIE * abs(largest)
        _winner(scores, options)
    if known is not None and known[n] != NOT_KNOWN:
        room[n] = np.inf
    for c in range(options):
        votes[filled + c] = scores[c]
    return filled + options + (unseen is not None)


@njit(nogil=True, cache=True, inline="always")
def _winner(scores, options):
    """The option with most votes is the truth; of several, the first, even if rounding has put another one above it."""
    least, place = _least_to_win(scores, options), options
    for c in range(options - 1, -1, -1):
        place = c if scores[c] >= least else place
    for c in range(options):
        scores[c] = 1.0 if c == place else 0.0


@njit(nogil=True, cache=True, inline="always")
def _least_to_win(scores, options):
    largest = _largest(scores, options)
    return largest - _TIE * abs(largest)


@njit(nogil=True, cache=True)
def winners(cells, scores, shares, first):
    """Each option's share in the truth, 1 divided among an object's winners; and the first winner of each object."""
    for n in range(len(cells) - 1):
        mine, options, ties = scores[cells[n] : cells[n + 1]], cells[n + 1] - cells[n], 0
        least = _least_to_win(mine, options)
        for c in range(options - 1, -1, -1):
            if mine[c] >= least:
                ties, first[n] = ties + 1, c
        for c in range(options):
            shares[cells[n] + c] = 1.0 / ties if mine[c] >= least else 0.0


@njit(nogil=True, cache=True, inline="always")
def _largest(scores, options):
    largest = scores[0]
    for c in range(1, options):
        largest = max(largest, scores[c])
    return largest


@njit(nogil=True, cache=True, inline="always")
def _divide(scores, options, total, old, first, mix):
    """Make the chances add up to 1, and mix in a share of the old ones."""
    share = 1.0 / total
    for c in range(options):
        scores[c] *= share
        if mix > 0:
            scores[c] += mix * (old[first + np.uint64(c)] - scores[c])


@njit(nogil=True, cache=True, inline="always")
def _moves(scores, options, old, first, chances):
    """Store the chances of an object, and leave their moves in ``scores``; returns the largest move."""
    move = 0.0
    for c in range(options):
        place = first + np.uint64(c)
        chances[place] = scores[c]
        scores[c] -= old[place]
        move = max(move, abs(scores[c]))
    return move


@njit(nogil=True, cache=True, inline="always")
def _add(users, codes, begin, end, group, chances, sums):
    """Add to each user's sum the chance of what they chose."""
    for place in range(begin, end):
        i = np.uint64(place)
        sums[np.uint64(users[i]), group] += chances[np.uint64(codes[i])]


@njit(nogil=True, cache=True, inline="always")
def _add_rows(users, codes, begin, end, options, chances, sums):
    """Add the chance of each truth to each user's sums for what they chose."""
    for place in range(begin, end):
        user, row = np.uint64(users[np.uint64(place)]), np.uint64(options * codes[np.uint64(place)])
        for c in range(options):
            sums[user, row + np.uint64(c)] += chances[c]
