"""Checks of files that other files refer to: images, and files that a document names, such as a model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from medcontract.addresses import Address
from medcontract.evaluation.preflight_session import Session
from medcontract.evaluation.remarks import error
from medcontract.problems import plural, reveals_truth
from medcontract.reading.archive_paths import split_member
from medcontract.reading.folders import leads_out_of
from medcontract.reading.limits import Limits
from medcontract.results.preflight import Check
from medcontract.results.score import FileProblem, in_file
from medcontract.results.validation import NamedFiles, Problem
from medcontract.scoring.track import NamedFile
from medcontract.validation.parts import Part
from medcontract.validation.referenced_files import ReferencedFiles, check_referenced_files


def problems_of(parts: Iterable[Part], wanted: Callable[[str], bool]) -> tuple[FileProblem, ...]:
    """The listed problems of the files with a wanted code."""
    return tuple(
        in_file(part.name, problem, part.source.name)
        for part in parts
        for problem in part.report.problems
        if wanted(problem.code)
    )


def count_of(parts: Iterable[Part], wanted: Callable[[str], bool]) -> int:
    """The number of problems with a wanted code that may be shown."""
    return sum(
        times
        for part in parts
        for code, times in part.collector.codes(wanted).items()
        if not (part.collector.for_participants and reveals_truth(code))
    )


def in_files(parts: Sequence[Part], problem: Problem) -> FileProblem:
    """A problem of several files together; its path is that of the first."""
    return in_file(", ".join(part.name for part in parts), problem, parts[0].source.name if parts else None)


_MB = 1_000_000


def _is_image(code: str) -> bool:
    return code.startswith("MC32")


def check_images(session: Session, images: ReferencedFiles | None) -> list[NamedFiles]:
    """Check the images. Must run before the report of the cases is built, which contains the findings."""
    named = session.track.linked_files.images
    if images is None or named is None:
        return []
    return [
        check_referenced_files(part.validator, named[1], images) for part in _image_lists(session) if part.validator
    ]


def _image_lists(session: Session) -> list[Part]:
    """The files whose records refer to images."""
    images = session.track.linked_files.images
    return session.files.groups.get(images[0], []) if images else []


def image_checks(session: Session, images: ReferencedFiles | None, counts: Sequence[NamedFiles]) -> Iterator[Check]:
    named = session.track.linked_files.images
    if named is None:
        return
    title = "The images are valid"
    cases = _image_lists(session)
    if images is None or not cases:
        wanted = f"a file of {named[0]}, which lists the images"
        missing = "--images DIR" if images is None else wanted
        yield Check(id="images", title=title, status="skipped", detail=f"needs {missing}")
        return
    checked, bad = sum(each.checked for each in counts), sum(each.bad for each in counts)
    yield Check(
        id="images",
        title=title,
        status="failed" if bad else "passed",
        detail=f"{plural(checked, 'image')} checked" + (f", {bad:,} invalid" if bad else ""),
        problems=problems_of(cases, _is_image),
        _found=count_of(cases, _is_image),
    )


def named_file_checks(session: Session, found: Mapping[str, str]) -> Iterator[Check]:
    """Check the files that documents of the submission refer to, such as a model."""
    for wanted in session.track.linked_files.named:
        check_id = wanted.field.replace("_", "-")
        document = session.documents.get(wanted.contract)
        parts = session.files.groups.get(wanted.contract, [])
        named = getattr(document, wanted.field, None)
        if named is None:
            yield _unnamed_file_check(wanted, check_id, parts[0] if document is not None else None)
            continue
        part = parts[0]
        stated = getattr(document, wanted.size_mb, None) if wanted.size_mb else None
        folder = found.get(part.source.name) or os.path.dirname(part.source.name)
        problem = _named_file_problem(part, named, stated, folder)
        yield Check(
            id=check_id,
            title=wanted.title,
            status="failed" if problem else "passed",
            detail=named,
            problems=(in_file(part.name, problem, part.source.name),) if problem else (),
        )


def _unnamed_file_check(wanted: NamedFile, check_id: str, document: Part | None) -> Check:
    """The check of a file that no document names."""
    if document is None:
        detail = f"needs a valid file of {wanted.contract}"
        return Check(id=check_id, title=wanted.title, status="skipped", detail=detail)
    detail = f"{document.name} has no '{wanted.field}'"
    if not wanted.required:
        return Check(id=check_id, title=wanted.title, status="skipped", detail=detail)
    problem = error("MC311", detail, f"add '{wanted.field}': the path of the file, relative to {document.name}")
    problems = (in_file(document.name, problem, document.source.name),)
    return Check(id=check_id, title=wanted.title, status="failed", detail=detail, problems=problems)


def _named_file_problem(part: Part, named: str, stated_mb: float | None, folder: str) -> Problem | None:
    address = part.source.address
    path = address.beside(named) if address else os.path.join(os.path.dirname(part.source.name), *named.split("/"))
    archived = split_member(path)
    if not archived and not address and leads_out_of(folder, path):
        message = f"{named} is a link that leads out of its folder and is not followed"
        return error("MC028", message, "replace it by the file")
    size = _size_of(path, archived, part.source.limits)
    if size is None:
        return error(
            "MC311",
            f"{part.name} refers to {named}, which does not exist",
            "paths are relative to the folder of the file",
        )
    if stated_mb is None:
        return None
    if abs(Fraction(size, _MB) - Fraction(stated_mb)) <= Fraction(stated_mb) / 100:
        return None
    hint = f"state {size / _MB:.4g}"
    if abs(size / (1 << 20) - stated_mb) <= stated_mb / 100:
        hint += "; 1 MB is 1,000,000 bytes, not 1,048,576"
    return error("MC312", f"the size of {named} is {size / _MB:.4g} MB, not {stated_mb:g} MB", hint)


def _size_of(path: str, archived: tuple[str, str] | None, limits: Limits) -> int | None:
    """The size of a file, also in an archive; None if it does not exist."""
    if archived:
        from medcontract.reading.archives import member_size

        return member_size(*archived, limits)
    if isinstance(path, Address):
        from medcontract.reading.remote_folders import file_size

        return file_size(path)
    return os.path.getsize(path) if os.path.isfile(path) else None
