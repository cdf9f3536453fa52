"""Compiled Poisson-disk thinning of random points."""

from __future__ import annotations

from continua.numerics import kernel


@kernel
def thin_points(rank, begin, end, neighbours, kept):
    """Accept points in order unless an accepted one is near.

    Args:
        rank: Index of each point among the sorted ones, in the order in which points are tried, shape [n].
        begin: Start of each neighbour list of the sorted points.
        end: End of each neighbour list.
        neighbours: The lists.
        kept: Receives 1 for accepted sorted points, shape [n].
    """
    for index in range(rank.shape[0]):
        i = rank[index]
        free = 1
        for k in range(begin[i], end[i]):
            if kept[neighbours[k]]:
                free = 0
                break
        kept[i] = free
