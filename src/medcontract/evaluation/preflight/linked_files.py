"""Checks of files that other files refer to: images, and files that a document names, such as a model."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec.structs import replace

from medcontract.addresses import Address, split_member
from medcontract.evaluation.remarks import error
from medcontract.problems import Finding, plural
from medcontract.reading.folders import leads_out_of
from medcontract.results.preflight import Check
from medcontract.results.score import in_file
from medcontract.results.validation import Problem
from medcontract.scoring import tracks
from medcontract.scoring.track import NamedFile
from medcontract.validation.dispatch import Part
from medcontract.validation.records import Progress
from medcontract.validation.referenced_files import ReferencedFiles, check_referenced_files

if TYPE_CHECKING:
    from medcontract.evaluation.preflight.session import Session

_MB = 1_000_000


def images_named_by(
    folder: str | os.PathLike[str], jobs: int | None = None, progress: Progress | None = None
) -> ReferencedFiles:
    """Return the check of the images in a folder. Raises `CallError` at once if they cannot be checked."""
    from medcontract.images.batch import check_images, ready

    root = ready(folder, jobs)

    def field_of(contract_id: str) -> str | None:
        """Return the field of a contract's records with the image name. Loads only the track of the contract."""
        track = tracks.find(contract_id.partition("/")[0])
        contract, field = track.linked_files.images if track and track.linked_files.images else (None, None)
        return field if contract == contract_id else None

    def contracts() -> tuple[str, ...]:
        """Return the contracts of all tracks whose records refer to images."""
        return tuple(track.linked_files.images[0] for track in tracks.every() if track.linked_files.images)

    def check(names: Iterator[tuple[int, str]], total: int) -> Iterator[Finding]:
        cases = ((record, "", name) for record, name in names)  # the id is not used
        show = None if progress is None else lambda done, _: progress(done, total)
        return (problem.finding for problem in check_images(cases, root, jobs=jobs, progress=show))

    return ReferencedFiles(field_of, contracts, check)


def image_checks(session: Session, images: ReferencedFiles | None) -> Iterator[Check]:
    """Check the images. Must run before the report of the cases is built, which contains the findings."""
    if session.track.linked_files.images is None:
        return
    contract, field = session.track.linked_files.images
    title, cases = "The images are valid", session.files.groups.get(contract, [])
    if images is None or not cases:
        missing = "--images DIR" if images is None else f"a file of {contract}, which lists the images"
        yield Check(id="images", title=title, status="skipped", detail=f"needs {missing}")
        return
    counts = [check_referenced_files(part.validator, field, images) for part in cases if part.validator]
    checked, bad = sum(each.checked for each in counts), sum(each.bad for each in counts)
    problems, found = session.problems_in(cases, lambda code: code.startswith("MC32"))
    yield Check(
        id="images",
        title=title,
        status="failed" if bad else "passed",
        detail=f"{plural(checked, 'image')} checked" + (f", {bad:,} invalid" if bad else ""),
        problems=problems,
        _found=found,
    )


def named_file_check(wanted: NamedFile, session: Session, found: Mapping[str, str]) -> Check:
    """Check a file that a document of the submission refers to, such as a model."""
    check = Check(id=wanted.field.replace("_", "-"), title=wanted.title, status="skipped")
    document = session.documents.get(wanted.contract)
    if document is None:
        return replace(check, detail=f"needs a valid file of {wanted.contract}")
    part, named = session.files.groups[wanted.contract][0], getattr(document, wanted.field, None)
    if named is None:
        check = replace(check, detail=f"{part.name} has no '{wanted.field}'")
        if not wanted.required:
            return check
        hint = f"add '{wanted.field}': the path of the file, relative to {part.name}"
        problem: Problem | None = error("MC311", check.detail, hint)
    else:
        check = replace(check, detail=named)
        stated = getattr(document, wanted.size_mb, None) if wanted.size_mb else None
        folder = found.get(part.source.name) or os.path.dirname(part.source.name)
        problem = _named_file_problem(part, named, stated, folder)
    if problem is None:
        return replace(check, status="passed")
    return replace(check, status="failed", problems=(in_file(part.name, problem, part.source.name),))


def _named_file_problem(part: Part, named: str, stated_mb: float | None, folder: str) -> Problem | None:
    address = part.source.address
    inner = named.removeprefix("./")  # members of archives are not named with it
    path = address.beside(inner) if address else os.path.join(os.path.dirname(part.source.name), *inner.split("/"))
    archived = split_member(path)
    if not archived and not address and leads_out_of(folder, path):
        message = f"{named} is a link that leads out of its folder and is not followed"
        return error("MC028", message, "replace it with the file")
    size: int | None
    if archived:
        from medcontract.reading.archives import member_size

        size = member_size(*archived, part.source.limits)
    elif isinstance(path, Address):
        from medcontract.reading.remote import file_size

        size = file_size(path)
    else:
        size = os.path.getsize(path) if os.path.isfile(path) else None
    if size is None:
        message = f"{part.name} refers to {named}, which does not exist"
        return error("MC311", message, "paths are relative to the folder of the file")
    if stated_mb is None or abs(Fraction(size, _MB) - Fraction(stated_mb)) <= Fraction(stated_mb) / 100:
        return None
    hint = f"state {size / _MB:.4g}"
    if abs(size / (1 << 20) - stated_mb) <= stated_mb / 100:
        hint += "; 1 MB is 1,000,000 bytes, not 1,048,576"
    return error("MC312", f"the size of {named} is {size / _MB:.4g} MB, not {stated_mb:g} MB", hint)
