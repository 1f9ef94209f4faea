"""Checks the images that cases refer to."""

from __future__ import annotations

import os
from collections.abc import Iterator

from medcontract.problems import Finding
from medcontract.scoring import tracks
from medcontract.validation.records import Progress
from medcontract.validation.referenced_files import ReferencedFiles


def naming_images() -> tuple[str, ...]:
    """The contracts of all tracks whose records refer to images."""
    return tuple(track.linked_files.images[0] for track in tracks.every() if track.linked_files.images)


def image_field(contract_id: str) -> str | None:
    """The field of a contract's records with the image name. Loads only the track of the contract."""
    track = tracks.find(contract_id.partition("/")[0])
    contract, field = track.linked_files.images if track and track.linked_files.images else (None, None)
    return field if contract == contract_id else None


def images_named_by(
    folder: str | os.PathLike[str], jobs: int | None = None, progress: Progress | None = None
) -> ReferencedFiles:
    """The check of the images in a folder. Raises `CallError` at once if they cannot be checked."""
    from medcontract.images.batch import check_images, ready

    root = ready(folder, jobs)

    def check(names: Iterator[tuple[int, str]], total: int) -> Iterator[Finding]:
        cases = ((record, "", name) for record, name in names)  # the id is not used
        show = None if progress is None else lambda done, _: progress(done, total)
        return (problem.finding for problem in check_images(cases, root, jobs=jobs, progress=show))

    return ReferencedFiles(image_field, naming_images, check)
