"""Checks the images of many cases, in worker processes if there are enough. Results keep the order of the cases."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from contextlib import closing
from itertools import chain, islice
from typing import NamedTuple

from medcontract.errors import CallError
from medcontract.images.check import ImageProblem, check_image, require_pillow
from medcontract.parallel.cpus import allowed
from medcontract.parallel.pool import PoolFailed, WorkerDied
from medcontract.parallel.processes import ProcessPool
from medcontract.problems import Finding, Ref, shorten

Case = tuple[int, str, str]
"""The index of the record, its `image_id`, its `image_path`."""
Progress = Callable[[int, int | None], None]
"""Called after each image with the number of images done and, if known, the total."""
Outcomes = Generator[tuple[Case, ImageProblem | None], None, None]

FEW = 64
"""Up to this number of cases, starting workers takes more time than it saves."""
CHUNK = 16
"""Images that a worker gets at a time."""
_FELL = ImageProblem(
    "MC324",
    "decoding the image crashed the worker process",
    "it ran out of memory or was killed; export the image again",
)


class CaseProblem(NamedTuple):
    """What is wrong with the image of one case."""

    record: int
    image_id: str
    finding: Finding
    """Its reference contains the index of the record, but no position (an offset of -1)."""


def check_images(
    cases: Iterable[Case],
    folder: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Generator[CaseProblem, None, int]:
    """Yield the problems of all images, at most one per image, in the order of the cases; return the number checked.

    Cases are consumed lazily and not kept. `jobs` is the number of worker processes; 1 means only this process,
    and None means one per CPU if there are more than a few cases. A script that uses workers needs the usual
    `if __name__ == "__main__":`. Raises `CallError` without the extra `images` or if the folder does not exist.
    """
    return _problems(cases, ready(folder, jobs), jobs, progress)


def ready(folder: str | os.PathLike[str], jobs: int | None = None) -> str:
    """Return the real path of an image folder. Raises `CallError` if its images cannot be checked."""
    require_pillow()
    name = os.fspath(folder)
    if not os.path.exists(name):
        raise CallError(f"{name}: no such image folder", "check the path")
    if not os.path.isdir(name):
        raise CallError(
            f"{name}: expected an image folder, got a file",
            "pass the folder that contains the images; extract an archive first",
        )
    if jobs is not None and jobs < 1:
        raise CallError("jobs must be at least 1")
    return os.path.realpath(name)


def _problems(
    cases: Iterable[Case], root: str, jobs: int | None, progress: Progress | None
) -> Generator[CaseProblem, None, int]:
    total = len(cases) if isinstance(cases, Sized) else None
    done = 0
    with closing(_outcomes(iter(cases), root, jobs)) as outcomes:
        for (record, image_id, path), problem in outcomes:
            done += 1
            if progress:
                progress(done, total)
            if problem:
                found = Finding(*problem, path=("image_path",), ref=Ref(-1, -1, record), value=shorten(path))
                yield CaseProblem(record, image_id, found)
    return done


def _outcomes(cases: Iterator[Case], root: str, jobs: int | None) -> Outcomes:
    first = list(islice(cases, FEW + 1))
    cases = chain(first, cases)
    count = jobs or (allowed() if len(first) > FEW else 1)
    if count == 1:
        return _alone(cases, root)
    return _together(cases, root, ProcessPool(count, chosen=True), jobs)


def _alone(cases: Iterator[Case], root: str) -> Outcomes:
    for case in cases:
        yield case, check_image(case[2], root)


def _together(cases: Iterator[Case], root: str, pool: ProcessPool, jobs: int | None) -> Outcomes:
    chunks: deque[list[Case]] = deque()

    def paths() -> Iterator[list[str]]:
        while chunk := list(islice(cases, CHUNK)):
            chunks.append(chunk)
            yield [path for _, _, path in chunk]

    try:
        for problems in pool.each(check_chunk, root, paths()):
            chunk = chunks.popleft()
            if isinstance(problems, WorkerDied):  # one at a time, to find the image that crashes the worker
                alone = ProcessPool(1, chosen=True).each(check_chunk, root, ([path] for _, _, path in chunk))
                problems = [_FELL if isinstance(found, WorkerDied) else found[0] for found in alone]
            yield from zip(chunk, problems, strict=True)
    except PoolFailed:  # no semaphores, as in some sandboxes, or no memory
        if jobs:
            raise CallError("worker processes cannot be started here", "use jobs=1") from None
        yield from _alone(chain(*chunks, cases), root)


def check_chunk(root: str, paths: list[str]) -> list[ImageProblem | None]:
    """Runs in a worker."""
    return [check_image(path, root) for path in paths]
