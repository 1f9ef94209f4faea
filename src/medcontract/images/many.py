"""Check the images of many cases, in worker processes where that pays. Results come in the order of the cases."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from functools import partial
from itertools import chain, islice
from typing import NamedTuple

from medcontract.errors import CallError
from medcontract.images.one import check_image, require_pillow
from medcontract.images.refusal import ImageProblem
from medcontract.problems import Finding, Ref, shorten
from medcontract.workers import WorkerDied, Workers, processors

Case = tuple[int, str, str]
"""The index of the record, its `image_id`, its `image_path`."""
Progress = Callable[[int, int | None], None]
"""Called after each image with the images done and the images in all, where that is known."""
Outcomes = Generator[tuple[Case, ImageProblem | None], None, None]

FEW = 64
"""Up to this many cases, starting workers takes longer than it saves."""
CHUNK = 16
"""Images that a worker gets at a time."""
_FELL = ImageProblem(
    "MC324",
    "decoding the image brought its process down",
    "it ran out of memory or was killed; export the image anew",
)


class CaseProblem(NamedTuple):
    """What is wrong with the image of one case."""

    record: int
    image_id: str
    finding: Finding
    """Its reference knows the number of the record, not its place (an offset of -1)."""


def check_images(
    cases: Iterable[Case],
    folder: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Generator[CaseProblem, None, int]:
    """The problems of all images, at most one an image, in the order of the cases; returns how many were checked.

    Cases are taken as they are needed and not kept. `jobs` is the number of worker processes; 1 is this process
    alone, and None is one a processor when there are more than a few cases. A script that uses workers needs the
    usual `if __name__ == "__main__":`. Raises `CallError` without the extra `images` or without the folder.
    """
    return _problems(cases, ready(folder, jobs), jobs, progress)


def ready(folder: str | os.PathLike[str], jobs: int | None = None) -> str:
    """The real path of a folder of images. Raises `CallError` where its images cannot be checked."""
    require_pillow()
    name = os.fspath(folder)
    if not os.path.exists(name):
        raise CallError(f"{name}: no such folder of images", "check the spelling")
    if not os.path.isdir(name):
        raise CallError(f"{name}: this is a file, not a folder of images", "give the folder that the images are in")
    if jobs is not None and jobs < 1:
        raise CallError("jobs: at least 1")
    return os.path.realpath(name)


def _problems(
    cases: Iterable[Case], root: str, jobs: int | None, progress: Progress | None
) -> Generator[CaseProblem, None, int]:
    total = len(cases) if isinstance(cases, Sized) else None
    done = 0
    with closing(_outcomes(iter(cases), root, jobs)) as outcomes:
        for case, problem in outcomes:
            done += 1
            if progress:
                progress(done, total)
            if problem:
                yield _located(case, problem)
    return done


def _located(case: Case, problem: ImageProblem) -> CaseProblem:
    record, image_id, path = case
    ref = Ref(-1, -1, record)
    finding = Finding(*problem, path=("image_path",), ref=ref, value=shorten(path))
    return CaseProblem(record, image_id, finding)


def _outcomes(cases: Iterator[Case], root: str, jobs: int | None) -> Outcomes:
    first = list(islice(cases, FEW + 1))
    cases = chain(first, cases)
    count = jobs or (processors() if len(first) > FEW else 1)
    if count == 1:
        return _alone(cases, root)
    try:
        workers = Workers(count)
    except (ImportError, OSError, BrokenProcessPool):  # no semaphores here, as in some sandboxes, or no memory
        if jobs:
            raise CallError("worker processes cannot be started here", "jobs=1 does without") from None
        return _alone(cases, root)
    return _together(cases, root, workers)


def _alone(cases: Iterator[Case], root: str) -> Outcomes:
    for case in cases:
        yield case, check_image(case[2], root)


def _together(cases: Iterator[Case], root: str, workers: Workers) -> Outcomes:
    chunks: deque[list[Case]] = deque()

    def paths() -> Iterator[list[str]]:
        while chunk := list(islice(cases, CHUNK)):
            chunks.append(chunk)
            yield [path for _, _, path in chunk]

    check = partial(check_chunk, root=root)
    with workers:
        for _, problems in workers.each(check, paths()):
            chunk = chunks.popleft()
            if isinstance(problems, WorkerDied):  # here only the culprit is blamed
                yield from ((case, _by_itself(case, check, workers)) for case in chunk)
            else:
                yield from zip(chunk, problems, strict=True)


def _by_itself(
    case: Case, check: Callable[[list[str]], list[ImageProblem | None]], workers: Workers
) -> ImageProblem | None:
    problems = workers.alone(check, [case[2]])
    return _FELL if isinstance(problems, WorkerDied) else problems[0]


def check_chunk(paths: list[str], root: str) -> list[ImageProblem | None]:
    """What a worker does."""
    return [check_image(path, root) for path in paths]
