"""Merge sorts of the segments of an array, alone or with a companion that moves along."""

from pairrank.compiled._jit import compiled

BLOCK = 12
"""Rows that are sorted by insertion before merging begins."""


@compiled
def merge(source, low, middle, high, target):
    """Merge the sorted source[low:middle] and source[middle:high] into target, the left first."""
    i, j, at = low, middle, low
    while i < middle and j < high:
        a, b = source[i], source[j]
        right = b < a
        target[at] = b if right else a
        j += right
        i += 1 - right
        at += 1
    while i < middle:
        target[at] = source[i]
        i += 1
        at += 1
    while j < high:
        target[at] = source[j]
        j += 1
        at += 1


@compiled
def merge_with(source, carried, low, middle, high, target, carried_target):
    """Merge as `merge` does; `carried` moves along with `source`."""
    i, j, at = low, middle, low
    while i < middle and j < high:
        a, b = source[i], source[j]
        right = b < a
        target[at] = b if right else a
        carried_target[at] = carried[j] if right else carried[i]
        j += right
        i += 1 - right
        at += 1
    while i < middle:
        target[at] = source[i]
        carried_target[at] = carried[i]
        i += 1
        at += 1
    while j < high:
        target[at] = source[j]
        carried_target[at] = carried[j]
        j += 1
        at += 1


@compiled
def copy(source, low, high, target):
    """Copy source[low:high] to the same places of target (a slice takes numba long to compile)."""
    for k in range(low, high):
        target[k] = source[k]


@compiled
def _sort_blocks(x, low, high):
    for start in range(low, high, BLOCK):
        for k in range(start + 1, min(start + BLOCK, high)):
            value = x[k]
            at = k - 1
            while at >= start and x[at] > value:
                x[at + 1] = x[at]
                at -= 1
            x[at + 1] = value


@compiled
def _sort_blocks_with(x, carried, low, high):
    for start in range(low, high, BLOCK):
        for k in range(start + 1, min(start + BLOCK, high)):
            value, mate = x[k], carried[k]
            at = k - 1
            while at >= start and x[at] > value:
                x[at + 1] = x[at]
                carried[at + 1] = carried[at]
                at -= 1
            x[at + 1] = value
            carried[at + 1] = mate


@compiled
def sort_segments(x, starts, buffer):
    """Sort every x[starts[k]:starts[k + 1]] upwards, in place; O(m log m).

    `x` and `buffer` (m,) float64, `starts` (n_segments + 1,) int64; the buffer's content is lost.
    """
    for k in range(len(starts) - 1):
        low, high = starts[k], starts[k + 1]
        _sort_blocks(x, low, high)
        source, target = x, buffer
        width, passes = BLOCK, 0
        while width < high - low:
            for start in range(low, high, 2 * width):
                middle = min(start + width, high)
                merge(source, start, middle, min(start + 2 * width, high), target)
            source, target = target, source
            width *= 2
            passes += 1
        if passes % 2:
            copy(buffer, low, high, x)


@compiled
def sort_segments_with(x, carried, starts, buffer, carried_buffer):
    """Sort as `sort_segments` does, stably; `carried` (m,) float64 moves along with `x`."""
    for k in range(len(starts) - 1):
        low, high = starts[k], starts[k + 1]
        _sort_blocks_with(x, carried, low, high)
        source, target, mates, mates_target = x, buffer, carried, carried_buffer
        width, passes = BLOCK, 0
        while width < high - low:
            for start in range(low, high, 2 * width):
                middle, stop = min(start + width, high), min(start + 2 * width, high)
                merge_with(source, mates, start, middle, stop, target, mates_target)
            source, target = target, source
            mates, mates_target = mates_target, mates
            width *= 2
            passes += 1
        if passes % 2:
            copy(buffer, low, high, x)
            copy(carried_buffer, low, high, carried)
