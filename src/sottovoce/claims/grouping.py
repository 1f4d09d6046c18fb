"""Sorting claims by object and user.

A comparison sort of three arrays (NumPy's lexsort) takes several times as long as reading the file does.
Ids are small integers, so two counting sorts do the same in linear time: first by user, then by object.
Both are stable: repeated claims of one user keep the order of their rows.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ids = NDArray[np.int32]
Values = NDArray[np.float64]
Offsets = NDArray[np.int64]


def offsets_of(ids: Ids, length: int) -> Offsets:
    """Where the rows of each id begin once they are sorted; one more entry marks the end."""
    offsets = np.zeros(length + 1, np.int64)
    np.cumsum(np.bincount(ids, minlength=length), out=offsets[1:])
    return offsets


@njit(nogil=True, cache=True)
def scatter(keys, others, values, offsets, sorted_others, sorted_values):  # type: ignore[no-untyped-def]
    """Move every row to its place by ``keys``."""
    cursor = offsets.copy()
    for row in range(len(keys)):
        key = np.uint64(keys[row])
        place = np.uint64(cursor[key])
        cursor[key] += 1
        sorted_others[place] = others[row]
        sorted_values[place] = values[row]


@njit(nogil=True, cache=True)
def scatter_groups(group_offsets, keys, values, offsets, sorted_groups, sorted_values):  # type: ignore[no-untyped-def]
    """Like `scatter`, for rows that are already grouped: the group's number is moved."""
    cursor = offsets.copy()
    for group in range(len(group_offsets) - 1):
        for row in range(group_offsets[group], group_offsets[group + 1]):
            key = np.uint64(keys[row])
            place = np.uint64(cursor[key])
            cursor[key] += 1
            sorted_groups[place] = group
            sorted_values[place] = values[row]


@njit(nogil=True, cache=True)
def by_user(offsets, users, n_users):  # type: ignore[no-untyped-def]
    """Users and groups of the rows, sorted by user and then by group."""
    begins = np.zeros(n_users + 1, np.int32)
    for row in range(len(users)):
        begins[np.uint64(users[row]) + np.uint64(1)] += 1
    for place in range(n_users):
        begins[place + 1] += begins[place]
    sorted_users, groups = np.empty_like(users), np.empty_like(users)
    for group in range(len(offsets) - 1):
        for row in range(offsets[group], offsets[group + 1]):
            user = np.uint64(users[row])
            to = np.uint64(begins[user])
            begins[user] += 1
            sorted_users[to] = users[row]
            groups[to] = group
    return sorted_users, groups


@njit(nogil=True, cache=True)
def scaled_by_user(offsets, values, groups, center, unit):  # type: ignore[no-untyped-def]
    """The values in the order of `by_user`, less the center of their group, times its unit.

    Rows of a group are sorted by user, so the next row of a group is always the first that has not been used.
    """
    cursor = offsets[:-1].copy()
    scaled = np.empty_like(values)
    for row in range(len(groups)):
        group = np.uint64(groups[row])
        scaled[row] = (values[np.uint64(cursor[group])] - center[group]) * unit[group]
        cursor[group] += 1
    return scaled


@njit(nogil=True, cache=True)
def by_value(offsets, values):  # type: ignore[no-untyped-def]
    """Positions of each group's rows from the smallest value to the largest."""
    order = np.empty(len(values), np.int32)
    for group in range(len(offsets) - 1):
        begin, end = offsets[group], offsets[group + 1]
        order[begin:end] = np.argsort(values[begin:end], kind="mergesort")
    return order


@njit(nogil=True, cache=True)
def first_repeat(offsets, users, size):  # type: ignore[no-untyped-def]
    """Position of the first claim by the same user as the claim before it, or -1; a claim takes ``size`` positions."""
    for group in range(len(offsets) - 1):
        for place in range(offsets[group] + size, offsets[group + 1], size):
            if users[place] == users[place - size]:
                return place
    return -1


@njit(nogil=True, cache=True)
def merge_repeats(offsets, users, values, keep_last):  # type: ignore[no-untyped-def]
    """One claim per user and object, in place: the last one or the mean. Returns the new offsets."""
    merged = np.zeros_like(offsets)
    end = 0
    for group in range(len(offsets) - 1):
        place = offsets[group]
        while place < offsets[group + 1]:
            user = users[place]
            total = 0.0
            count = 0
            while place < offsets[group + 1] and users[place] == user:
                total = values[place] if keep_last else total + values[place]
                count += 1
                place += 1
            users[end] = user
            values[end] = total if keep_last else total / count
            end += 1
        merged[group + 1] = end
    return merged


def last_of_each(offsets: Offsets, users: Ids, values: NDArray[Any], size: int) -> tuple[Offsets, Ids, NDArray[Any]]:
    """One claim per user and object, the last one; a claim takes ``size`` positions."""
    objects = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))[::size]
    keys = objects << 32 | users[::size]
    keep = np.append(keys[1:] != keys[:-1], True)
    kept = np.repeat(keep, size)
    counts = np.bincount(objects[keep], minlength=len(offsets) - 1) * size
    return np.concatenate(([0], np.cumsum(counts))), users[kept], values[kept]


def by_object(
    objects: Ids, users: Ids, values: NDArray[Any], n_objects: int, n_users: int
) -> tuple[Offsets, Ids, NDArray[Any]]:
    """Offsets, users and values, sorted by object and, within an object, by user."""
    user_offsets = offsets_of(users, n_users)
    object_offsets = offsets_of(objects, n_objects)
    objects_by_user, values_by_user = np.empty_like(objects), np.empty_like(values)
    scatter(users, objects, values, user_offsets, objects_by_user, values_by_user)
    sorted_users, sorted_values = np.empty_like(users), np.empty_like(values)
    scatter_groups(user_offsets, objects_by_user, values_by_user, object_offsets, sorted_users, sorted_values)
    return object_offsets, sorted_users, sorted_values
