"""Compiled thinning of random points."""

from __future__ import annotations

from continua.numerics import kernel


@kernel
def thin(place, begin, end, neighbours, kept):
    """Keep points one by one unless a kept one is near.

    Args:
        place: Where each point is among the sorted ones, in the order in which points are tried, shape [n].
        begin: Where the lists of the sorted points begin.
        end: Where they end.
        neighbours: The lists.
        kept: Receives 1 for sorted points that stay, shape [n].
    """
    for number in range(place.shape[0]):
        i = place[number]
        free = 1
        for k in range(begin[i], end[i]):
            if kept[neighbours[k]]:
                free = 0
                break
        kept[i] = free
