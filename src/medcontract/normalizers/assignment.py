"""Pairs items of one name: the pairs with the most in common, found exactly."""

from __future__ import annotations

from collections.abc import Sequence


def best_pairs(common: Sequence[Sequence[int]]) -> list[int | None]:
    """The column of each row such that as many as possible are paired, and the sum of `common` is largest.

    Of several such lists, the first one in the order of lists of numbers is returned; None, for a row that is left
    over, comes after all numbers.

    This is the Hungarian method with integers of any size: the cost of a pair contains, below what the two have in
    common, its digit in the number that the list of columns is. So one assignment is the best one, and the first.
    """
    rows, given = len(common), len(common[0])
    base = given + 1
    unit = base**rows  # more than all digits together
    columns = max(rows, given)
    costs = [
        [min(column, given) * base ** (rows - 1 - row) - (unit * values[column] if column < given else 0)
         for column in range(columns)]
        for row, values in enumerate(common)
    ]  # fmt: skip
    paired = _assignment(costs)
    return [column if column < given else None for column in paired]


def _assignment(costs: Sequence[Sequence[int]]) -> list[int]:
    """The column of each row such that the sum of costs is smallest; there are at least as many columns as rows."""
    rows, columns = len(costs), len(costs[0])
    of_row, of_column = [0] * rows, [0] * (columns + 1)  # the potentials; the last column is that of a new row
    owner = [-1] * (columns + 1)
    for new in range(rows):
        owner[columns] = current = new
        column = columns
        free = list(range(columns))
        visited: list[int] = []
        distance: dict[int, int] = {}
        before: dict[int, int] = {}
        while current >= 0:
            visited.append(column)
            row, shift = costs[current], of_row[current]
            for each in free:
                cost = row[each] - shift - of_column[each]
                if each not in distance or cost < distance[each]:
                    distance[each], before[each] = cost, column
            nearest = min(free, key=distance.__getitem__)
            step = distance[nearest]
            for each in visited:
                of_row[owner[each]] += step
                of_column[each] -= step
            free.remove(nearest)
            for each in free:
                distance[each] -= step
            column, current = nearest, owner[nearest]
        while column != columns:
            owner[column] = owner[before[column]]
            column = before[column]
    found = [-1] * rows
    for column, row_number in enumerate(owner[:columns]):
        if row_number >= 0:
            found[row_number] = column
    return found
