"""Keeps reports of files and scores of submissions, and decides what a kept result depends on."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from medcontract.addresses import Address, split_member
from medcontract.cache import ResultCache, as_json
from medcontract.containers import BY_ENDING
from medcontract.contracts import registry
from medcontract.errors import FileChanged, plugin_modules
from medcontract.parallel.versions import result_versions
from medcontract.reading.limits import Limits
from medcontract.reading.source import STDIN, Source, Unreadable, file_state, open_source
from medcontract.results.validation import FileReport
from medcontract.validation.dispatch import base_name

if TYPE_CHECKING:
    from medcontract.evaluation.contest import Contest
    from medcontract.evaluation.result import Scored
    from medcontract.evaluation.submissions import Submission

_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Uncacheable(Exception):
    """The result depends on something that cannot be hashed."""


class FileContent(Struct, frozen=True):
    """A file as it was when it was hashed."""

    path: str
    sha256: str
    state: tuple[object, ...]

    @property
    def unchanged(self) -> bool:
        """Check whether the file is still the same: only then a result belongs to the hash."""
        try:
            return _state(self.path) == self.state
        except OSError:
            return False


def key_of(kind: str, *values: object) -> str:
    """Return the key of a result. Raises `Uncacheable`."""
    challenge = registry.scope()
    known = None if challenge is None else (challenge.name, challenge.source.hex())
    try:
        text = json.dumps(as_json([kind, environment(), _plugins(), known, values]))
    except TypeError as error:
        raise Uncacheable(f"a value of {error} cannot be hashed") from None
    return hashlib.sha256(text.encode()).hexdigest()


def hashed(path: str | Source, limits: Limits | None) -> FileContent:
    """Hash a file that can be read again. Raises `Uncacheable`."""
    if isinstance(path, Source) or path == STDIN:
        raise Uncacheable("it cannot be read again")
    try:
        before = _state(path)
        source = open_source(path, limits)
        try:
            source.prepare()
        except Unreadable as error:  # not a text: also a result that can be kept
            if error.usage_error:
                raise Uncacheable("it cannot be read") from None
        found = FileContent(path, source.sha256(), before)
    except (OSError, ValueError, FileChanged, Unreadable):
        raise Uncacheable("it cannot be read") from None
    if not found.unchanged:
        raise Uncacheable("it changed")
    return found


def _state(path: str) -> tuple[object, ...]:
    member = split_member(path)
    file = member[0] if member else path
    if not isinstance(file, Address) and not stat.S_ISREG(os.stat(file).st_mode):
        raise OSError("a pipe cannot be read again")
    return file_state(file)


@cache
def environment() -> dict[str, Any]:
    """Return the versions of everything that takes part, and a hash of our own code, for development."""
    return {**result_versions(), "python": platform.python_version(), "code": _hash_files(_files_in(_HOME))}


def _plugins() -> list[tuple[str, str]]:
    """Return the modules of plugins, with a hash of their code and the code of modules next to them."""
    from medcontract.scoring import custom_metrics, tracks

    tracks.names()  # loads installed plugins
    metrics = custom_metrics.custom_metrics().values()
    contracts = (each.contract for each in registry.registered().values())
    modules = {
        *plugin_modules(),
        *(each.model.__module__ for each in contracts if each is not None),
        *(type(each).__module__ for each in tracks.every()),
        *(getattr(each, "__module__", None) or type(each).__module__ for each in metrics),
    }
    return [(name, _hash_module(name)) for name in sorted(modules) if not f"{name}.".startswith("medcontract.")]


def _hash_module(name: str) -> str:
    """Hash the files of a package; for a single module also the modules in its folder, which it may import."""
    top = sys.modules.get(name.partition(".")[0])
    file = getattr(top, "__file__", None)
    if file is None or not os.path.isfile(file):
        raise Uncacheable(f"the code of {name} is not in a file")
    folder = os.path.dirname(os.path.realpath(file))
    if hasattr(top, "__path__"):
        return _hash_files(_files_in(folder))
    loaded = (getattr(each, "__file__", None) for each in list(sys.modules.values()))
    modules = {os.path.realpath(each) for each in loaded if each and each.endswith(".py")}
    beside = {each for each in modules if os.path.dirname(each) == folder}
    return _hash_files({os.path.realpath(file), *beside})


def _files_in(folder: str) -> Iterator[str]:
    """Return the files of a package that a result may depend on."""
    inside = (os.path.join(place, name) for place, _, names in os.walk(folder) for name in names)
    return (file for file in inside if file.endswith((".py", *BY_ENDING, ".txt")))


def _hash_files(paths: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        with open(path, "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


_NOT_KEPT = ("MC003", "MC029")
"""The file could not be read, or checking it failed: it may work the next time."""


def cached_report(
    cache: ResultCache, path: str | Source, contract_id: str | None, limits: Limits, settings: tuple[object, ...],
    check: Callable[[], FileReport],
) -> FileReport:  # fmt: skip
    """Return the report of a file from the cache, or from `check`, which is then kept.

    `settings`: what else it depends on. Reports do not depend on the folder of the file.
    """
    try:
        file = hashed(path, limits)
        key = key_of("validate", base_name(file.path), file.sha256, contract_id, tuple(limits), settings)
    except Uncacheable:
        return check()
    found = cache.get("validate", key)
    if isinstance(found, FileReport):
        return replace(found, path=str(file.path))
    report = check()
    if file.unchanged and not any(problem.code in _NOT_KEPT for problem in report.problems):
        cache.put("validate", key, report)
    return report


def cached_scores(
    cache: ResultCache, contest: Contest, submissions: Sequence[Submission], jobs: int | None
) -> Iterator[Scored]:
    """Return the score of each submission, in order: kept ones from the cache, the others computed and then kept."""
    from medcontract.evaluation.contest import scores
    from medcontract.evaluation.result import Scored

    known = list(_known(contest, submissions))
    missing = [
        s for s, (key, _) in zip(submissions, known, strict=True) if not key or not cache.has("leaderboard", key)
    ]
    waiting = {id(each) for each in missing}
    computed = scores(contest, missing, jobs)
    for submission, (key, files) in zip(submissions, known, strict=True):
        if id(submission) not in waiting:
            found = cache.get("leaderboard", key)
            if isinstance(found, Scored):
                yield found
                continue
            outcome = contest.score(submission)  # what was kept is damaged
        else:
            outcome = next(computed)
        if key and not outcome.failure and all(file.unchanged for file in files):
            tally = outcome.tally
            if tally is not None and contest.track.ranking.protocol is None:  # the sum is not needed any more
                tally = replace(tally, data=None, context=None)
            cache.put("leaderboard", key, replace(outcome, tally=tally))
        yield outcome


def _known(contest: Contest, submissions: Iterable[Submission]) -> Iterator[tuple[str, Sequence[FileContent]]]:
    """Return the key and the files of each submission; no key if its score cannot be kept."""
    settings = contest.settings._replace(progress=None, jobs=1, pool=None)
    truth = [(part.contract.id, part.name, part.source.sha256()) for part in contest.parts]
    common = (contest.track.id, contest.scorer.protocol.fingerprint, truth, contest.complete)
    for submission in submissions:
        try:
            files = [(hashed(path, settings.limits), contract_id) for path, contract_id in submission.files]
            measured = [hashed(path, settings.limits) for path in submission.measured or ()]
            key = key_of(
                "leaderboard", *common, tuple(settings), submission.name, submission.error, submission.is_folder,
                submission.is_archive, [(file.name, file.reason) for file in submission.skipped],
                [(base_name(file.path), file.sha256, contract_id) for file, contract_id in files],
                None if submission.measured is None else [(base_name(file.path), file.sha256) for file in measured],
            )  # fmt: skip
        except Uncacheable:
            yield "", ()
        else:
            yield key, (*(file for file, _ in files), *measured)
