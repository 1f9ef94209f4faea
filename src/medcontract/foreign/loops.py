"""Schemas that lead to themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def endless(ahead: Mapping[int, Sequence[int]]) -> dict[int, None]:
    """Of the nodes of a graph, those from which one can go on without end; in the order of the graph."""
    behind: dict[int, list[int]] = {node: [] for node in ahead}
    for node, following in ahead.items():
        for other in following:
            behind[other].append(node)
    left = {node: len(following) for node, following in ahead.items()}
    ends = [node for node, count in left.items() if not count]
    while ends:
        for node in behind[ends.pop()]:
            left[node] -= 1
            if not left[node]:
                ends.append(node)
    return {node: None for node, count in left.items() if count}


def on_loop(ahead: Mapping[int, Sequence[int]], nodes: Mapping[int, None]) -> int:
    """A node of the graph that leads back to itself; `nodes` are those from which one can go on without end."""
    node, seen = next(iter(nodes)), set[int]()
    while node not in seen:
        seen.add(node)
        node = next(other for other in ahead[node] if other in nodes)
    return node
