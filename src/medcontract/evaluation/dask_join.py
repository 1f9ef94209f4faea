"""A truth that stays on the workers of a Dask cluster: each task holds one chunk or one partition of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from heapq import merge
from itertools import chain, pairwise
from operator import attrgetter, getitem
from typing import TYPE_CHECKING, Any, NamedTuple

from medcontract.contracts.rules import Key
from medcontract.evaluation.chunk_work import Chunk, Outcome
from medcontract.evaluation.dask_tasks import clear_errors, run_task
from medcontract.evaluation.engine_errors import TruthLost
from medcontract.evaluation.joining import (
    Entries,
    Ids,
    KeptAt,
    Partition,
    divide,
    first_numbers,
    similar_ids,
    truth_part,
)
from medcontract.scoring.expected import ExpectedState

if TYPE_CHECKING:
    from distributed import Client, Future

_BLOCK = 1 << 20
"""Bytes of records that are fetched at once to hash them."""
LOST = "the truth was lost with Dask workers that ended"


class DaskTruth:
    """A truth whose chunks were read on the workers."""

    def __init__(
        self, client: Client, chunks: Sequence[KeptAt], outcomes: Mapping[str, Future], partitions: int
    ) -> None:
        self._client = client
        self._outcomes = [outcomes[chunk.origin] for chunk in chunks]
        self.partitions = partitions
        divided = [
            self._submit(divide, outcome, first, partitions)
            for outcome, first in zip(self._outcomes, first_numbers(chunks), strict=True)
        ]
        self._partitions = [
            self._submit(Partition, [self._submit(getitem, each, number) for each in divided])
            for number in range(partitions)
        ]
        repeated = self._gather([self._submit(_has_repeated_ids, each) for each in self._partitions])
        self.has_repeated_ids = any(repeated)

    def _submit(self, function: Any, *arguments: Any) -> Future:
        return self._client.submit(function, *arguments, pure=False)

    def _gather(self, futures: Sequence[Future]) -> list[Any]:
        """The results. Raises `TruthLost` if a worker ended, and with it what they are computed from."""
        from distributed import CancelledError

        with clear_errors(self._client):
            try:
                found: list[Any] = self._client.gather(futures)
            except (CancelledError, OSError) as error:
                if self._client.status != "running":
                    raise
                raise TruthLost(LOST) from error
            return found

    def keys(self) -> list[Key]:
        return self._all([self._submit(_keys, each) for each in self._outcomes])

    def items(self) -> list[Any]:
        return self._all([self._submit(_items, each) for each in self._outcomes])

    def _all(self, tasks: Sequence[Future]) -> list[Any]:
        found: list[_Packed] = self._gather(tasks)
        return list(chain.from_iterable(each.values for each in found))

    def states(self) -> Iterator[ExpectedState]:
        for outcome in self._outcomes:
            yield from self._gather([self._submit(_state, outcome)])

    def parts(self, ids_of: Future, chunks: Sequence[Chunk]) -> list[Future]:
        """The parts of the truth that chunks of the submission refer to. `ids_of` is the work that finds their ids."""
        ids = [self._submit(run_task, ids_of, chunk) for chunk in chunks]
        found = [self._find(each) for each in ids]
        similar = [
            self._submit(similar_ids, mine, known, self.partitions) for mine, known in zip(ids, found, strict=True)
        ]
        wanted = self._gather([self._submit(_has_any, each) for each in similar])
        for number in (number for number, is_wanted in enumerate(wanted) if is_wanted):
            found[number] += self._find(similar[number])
        return [self._submit(truth_part, mine, known) for mine, known in zip(ids, found, strict=True)]

    def _find(self, ids: Future) -> list[Future]:
        """The items with these ids, one task per partition."""
        return [
            self._submit(_find, partition, self._submit(_ids_in, ids, number))
            for number, partition in enumerate(self._partitions)
        ]

    def sha256(self) -> str:
        """The hash of the records. Each worker sorts its chunks; they are merged here, a block of each at a time."""
        chunks = [self._submit(_Blocks, outcome) for outcome in self._outcomes]
        ends = self._gather([self._submit(attrgetter("ends"), each) for each in chunks])
        streams = [self._blocks(chunk, end[0]) for chunk, end in zip(chunks, ends, strict=True)]
        digest = hashlib.sha256()
        filled = [end for end in ends if end[0]]
        if all(one[2] <= two[1] for one, two in pairwise(filled)):
            for block in chain.from_iterable(streams):
                digest.update(block)
        else:
            for line in merge(*map(_lines, streams)):
                digest.update(line)
        return digest.hexdigest()

    def _blocks(self, chunk: Future, count: int) -> Iterator[bytes]:
        for number in range(count):
            yield from self._gather([self._submit(_block, chunk, number)])


def _has_repeated_ids(partition: Partition) -> bool:
    return partition.has_repeated_ids


def _state(outcome: Outcome) -> ExpectedState:
    state: ExpectedState = outcome.sink.state
    return state


class _Packed(NamedTuple):
    """A list that is sent as a whole: Dask sends the elements of a plain one one by one, which takes much longer."""

    values: list[Any]


def _keys(outcome: Outcome) -> _Packed:
    return _Packed(_state(outcome).keys)


def _items(outcome: Outcome) -> _Packed:
    return _Packed(_state(outcome).items)


def _has_any(ids: Ids) -> bool:
    return any(ids.partitions)


def _ids_in(ids: Ids, partition: int) -> _Packed:
    return _Packed(ids.partitions[partition])


def _find(partition: Partition, keys: _Packed) -> Entries:
    return partition.find(keys.values)


class _Blocks:
    """The records of a chunk as lines, sorted and divided into blocks."""

    def __init__(self, outcome: Outcome) -> None:
        self.blocks: list[bytes] = []
        lines = _state(outcome).content.lines()
        start = size = 0
        for number, line in enumerate(lines, 1):
            size += len(line) + 1
            if size >= _BLOCK or number == len(lines):
                self.blocks.append(b"".join(each + b"\n" for each in lines[start:number]))
                start, size = number, 0
        self.ends = len(self.blocks), lines[:1], lines[-1:]
        """The number of blocks, the first and the last line."""


def _block(chunk: _Blocks, number: int) -> bytes:
    return chunk.blocks[number]


def _lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Lines with their endings, whose order is that of the lines themselves: no byte is less than a line break."""
    for block in blocks:
        yield from block.splitlines(keepends=True)
