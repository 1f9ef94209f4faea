"""What the organizer of an evaluation needs: protocols, templates, challenges, bundles, and the cache of rankings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from medcontract.addresses import require_local
from medcontract.api.validation import MAX_PROBLEMS
from medcontract.errors import CallError, option, words
from medcontract.options import (
    PROTOCOL,
    CallOptions,
    FileName,
    FileNames,
    Notice,
    Number,
    Progress,
    as_paths,
    file_source,
    path_of_contract,
    require_at_least,
    require_strings,
)

if TYPE_CHECKING:
    from medcontract.evaluation.contest import Contest
    from medcontract.evaluation.rehearsal import OnPlatform
    from medcontract.platforms.bundle import Plan
    from medcontract.signatures import (
        Bundle,
        CacheInfo,
        Path,
        Protocol,
        ProtocolCheck,
        ProtocolList,
        Rehearsal,
        Validation,
    )

__all__ = [
    "TEMPLATE_FORMATS", "bundle", "cache_info", "check_challenge", "check_page", "check_protocol", "clear_cache",
    "freeze_protocol", "get_protocol", "list_protocols", "new_challenge", "platforms", "rehearse", "template",
    "template_format",
    "use_challenge",
]  # fmt: skip

TEMPLATE_FORMATS = ("json", "jsonl", "csv")


def list_protocols() -> ProtocolList:
    """Return the protocols of all tracks, with version and fingerprint; with a challenge, only its protocol."""
    from medcontract.results.reference import ProtocolInfo, ProtocolList
    from medcontract.scoring import tracks

    found = (track.protocol for track in tracks.listed())
    return ProtocolList(
        protocols=tuple(ProtocolInfo(id=p.id, version=p.version, fingerprint=p.fingerprint) for p in found)
    )


def get_protocol(track: str, *, parameters: Mapping[str, Number] | None = None) -> Protocol:
    """Return the protocol of a track: its parameters with their sources, and the formulas in words."""
    from medcontract.evaluation.protocols import document
    from medcontract.scoring import tracks

    found = tracks.track(track)
    return document(found, tracks.changed_protocol(found, CallOptions(parameters=parameters).changes))


def freeze_protocol(
    track: str,
    *,
    truth: FileNames = (),
    contract: str | None = None,
    parameters: Mapping[str, Number] | None = None,
    note: str | None = None,
    max_record: int | None = None,
    max_unpacked: int | None = None,
    **track_options: object,
) -> Protocol:
    """Return the protocol of a track with the versions of everything that changes a score, to be kept as a file.

    With `truth`, files or folders, only scores against truths with the same content are made under it. `note` says why
    it was frozen. Options of a track are options of `score` that are part of its protocol (`lexicon`, `match`,
    `t_min_ms`, `t_max_ms`). Others raise `CallError`. Raises `MedcontractError` for a truth with errors.
    """
    options = CallOptions.of(locals())
    from medcontract.evaluation.protocols import freeze
    from medcontract.scoring import tracks

    options.require_protocol_options()
    given = options.files(as_paths(truth)).files
    return freeze(tracks.track(track), options.changes, given, options.settings, note)


def check_protocol(
    protocol: FileName | Protocol,
    *,
    contract: str | None = None,
    max_record: int | None = None,
    max_unpacked: int | None = None,
    **track_options: object,
) -> ProtocolCheck:
    """Return whether this medcontract scores under a frozen protocol, with every difference. True if it does.

    `contract` can only be "medcontract/protocol". Options of a track are as in `freeze_protocol`: a custom lexicon
    that was frozen must be given again.
    """
    options = CallOptions.of(locals())
    from medcontract.evaluation.protocols import check

    options.require_protocol_options()
    file = path_of_contract(protocol, PROTOCOL, options.contract)
    return check(options.frozen(file), options.settings)


def template(
    contract_id: str,
    cases: FileName,
    *,
    format: str = "json",  # noqa: A002  # as on the command line
    max_record: int | None = None,
    max_unpacked: int | None = None,
    notice: Notice | None = None,
) -> str:
    """Return the text of an empty file of a contract, with one record for each case: an unfinished submission.

    `cases` is a file with the expected ids, such as reports/cases or a truth. Only ids are copied, in the same order.
    What must be filled in is null, or an empty cell, which is not valid. `format` is "json", "jsonl" or "csv".
    Raises `CallError` if the contract does not belong to the cases, and `InvalidData` if these are not valid.
    """
    options = CallOptions.of(locals())
    from medcontract.evaluation.template import template as fill

    require_strings([contract_id, format])
    if format not in TEMPLATE_FORMATS:
        raise CallError(f"unknown format '{format}'", f"use one of {', '.join(TEMPLATE_FORMATS)}")

    given = options.files(as_paths(cases)).files
    if len(given) != 1:
        raise CallError("the cases must be one file", "pass the file in the folder that lists them")
    ((path, cases_contract),) = given
    filled = fill(contract_id, file_source(path, options.limits), cases_contract, format)
    if options.notice and filled.lacking:
        fields = ", ".join(filled.lacking)
        options.notice(f".{format} cannot contain the header ({fields}): pass it to score with --set NAME=VALUE")
    if options.notice and filled.is_valid:
        options.notice(
            "this file is valid as it is: its contract allows empty values in all fields that are not filled in"
        )
    return filled.text


def template_format(out: str) -> str:
    """Return the format of `template` for the extension of a file. Raises `CallError`."""
    from medcontract.evaluation.template import format_for

    return format_for(out)


def check_challenge(
    file: FileName | bytes,
    *,
    truth: FileName | None = None,
    name: str | None = None,
    max_problems: int = MAX_PROBLEMS,
    max_alike: int | None = None,
    excerpts: bool = False,
) -> Validation:
    """Check a challenge file, given as a path or as bytes. Problems are returned, not raised.

    With `truth` also that table, and what it means for the challenge: metrics that would be undefined, classes that
    occur in no case or in few, clusters.
    """
    from medcontract.challenges.loading import check_file, check_with_truth
    from medcontract.reading.source import Source, open_source
    from medcontract.results.validation import Validation
    from medcontract.validation.report import ProblemCollector

    require_at_least(0, max_problems=max_problems, max_alike=max_alike)
    source = Source(file, name) if isinstance(file, bytes) else open_source(file)
    source.name = source.name if name is None else name
    collector = ProblemCollector(max_problems, max_alike, excerpts)
    if truth is None:
        return Validation.of((check_file(source, collector)[0],))
    of_truth = ProblemCollector(max_problems, max_alike, excerpts)
    return Validation.of(check_with_truth(source, open_source(truth), collector, of_truth))


def new_challenge(
    folder: FileName,
    *,
    truth: FileName | None = None,
    classes: Sequence[str] = (),
    key: str | Sequence[str] = (),
    challenge_id: str | None = None,
    phase_key: FileName | None = None,
    force: bool = False,
) -> tuple[Path, ...]:
    """Create a challenge file to start from in a folder, and example files in its folder `example`.

    Fields, key and first metrics are inferred from the table `truth`, if it is given. Its values are not copied, except
    for classes: in the columns `classes`, and in columns with at most 12 values that all occur five times. `key`
    names the column that identifies a case, or several that do so together; by default it is found. The default of
    `challenge_id` is the name of the folder.
    `phase_key` is a new file for the secret key that divides the cases into phases; an existing one is never replaced.
    Returns the paths, the challenge file first. Existing files are overwritten only with `force`. Raises `CallError`,
    and `InvalidData` if the table cannot be the truth of a challenge: the report says why.
    """
    from pathlib import Path

    from medcontract.atomic_write import write_new_files
    from medcontract.challenges.new.create import challenge_files
    from medcontract.reading.source import open_source

    require_local(folder, "cannot write", "write to a local folder, and copy it")
    key = (key,) if isinstance(key, str) else tuple(key)
    require_strings([*classes, *key, *([] if challenge_id is None else [challenge_id])])
    files = challenge_files(Path(folder), None if truth is None else open_source(truth), classes, key, challenge_id)
    if phase_key is not None:
        require_local(phase_key, "cannot write", "keep the key on your machine")
        if os.path.lexists(phase_key):
            raise CallError(
                f"{os.fspath(phase_key)} already exists", "a key is never replaced: the phases depend on it"
            )
    *examples, challenge = write_new_files(folder, files, force)
    if phase_key is not None:
        from secrets import token_hex

        secret = Path(phase_key)
        write_new_files(secret.parent, {secret.name: token_hex(32).encode()}, False)
        secret.chmod(0o600)
    return (challenge, *examples)


def use_challenge(file: FileName) -> str:
    """Use a challenge for all calls in the current context (see `contextvars`). Returns its id, version and file.

    In Python, use `with medcontract.Challenge.load(file)` instead. Raises `CallError` and `InvalidData`.
    """
    from medcontract.challenges.loading import load
    from medcontract.contracts import registry

    scope = load(file)
    registry.use(scope)
    return f"{scope.track.id} v{scope.track.protocol.version} ({scope.name})"


def bundle(
    platform: str,
    truth: FileNames,
    out: FileName,
    *,
    contract: str | None = None,
    parameters: Mapping[str, Number] | None = None,
    protocol: FileName | Protocol | None = None,
    rank_by: str | None = None,
    title: str | None = None,
    wheel: FileName | None = None,
    force: bool = False,
    max_record: int | None = None,
    max_unpacked: int | None = None,
) -> Bundle:
    """Write what a challenge platform ("codabench", "grand-challenge", "evalai") needs to score with medcontract.

    `truth`: the files or folders of the organizer, `out`: the folder to write to. The protocol is frozen, with
    `parameters` changed, or from a file. Submissions are ranked by the headline of the track, or by `rank_by`.
    `wheel` is a wheel of this medcontract for the image, if it is not in the package index. A file in `out` with
    another content is replaced only with `force`. The same arguments give the same bytes. Raises `MedcontractError`
    for a truth with errors.
    """
    options = CallOptions.of(locals())
    from pathlib import Path

    from medcontract.atomic_write import refuse_input_folder
    from medcontract.evaluation.contest import Contest
    from medcontract.evaluation.files import split_known
    from medcontract.platforms.bundle import read_wheel, write_bundle
    from medcontract.platforms.settings import require_platform

    require_platform(platform)
    require_local(out, "cannot write", "write to a local folder, and copy it")
    given_truth = as_paths(truth)
    files = [split_known(path)[0] for path in given_truth]
    if not files:
        raise CallError("there is no truth", words("pass its files with ", option("--truth", "FILE")))
    if "-" in files:
        raise CallError("a bundle needs files, not standard input", "save the truth to a file")
    refuse_input_folder(out, files, "--out")
    given = options.files(given_truth)
    contest = Contest(tuple(given.files), options.settings)
    plan = _plan(platform, contest, options, rank_by, title)
    if wheel is not None:
        plan = plan._replace(wheel=read_wheel(os.fspath(wheel)))
    inputs = [*files, *(os.fspath(each) for each in (protocol, wheel) if isinstance(each, str | os.PathLike))]
    return write_bundle(plan, Path(out), inputs, force)


def check_page(
    *contracts: str,
    cases: FileName | None = None,
    title: str | None = None,
    max_record: int | None = None,
    max_unpacked: int | None = None,
) -> str:
    """Return a page that checks files in the browser, without sending them anywhere, as HTML.

    `contracts` are ids; without any, it checks files of all contracts that people write, or of the challenge in use,
    except its truth. `cases` is a file that lists the expected ids, such as reports/cases or a truth: the page contains
    only the ids, and checks that all of them are answered.
    """
    options = CallOptions.of(locals())
    from medcontract.platforms.page import chosen_contracts, page

    require_strings([*contracts, *([] if title is None else [title])])
    given = options.files(as_paths(cases)).files if cases is not None else ()
    if len(given) > 1:
        raise CallError("the cases must be one file", "pass the file in the folder that lists them")
    sources = [(file_source(path, options.limits), contract) for path, contract in given]
    return page(chosen_contracts(contracts), sources[0] if sources else None, title)


def rehearse(
    *truth: FileName,
    platform: str | None = None,
    baselines: FileNames = (),
    contract: str | None = None,
    parameters: Mapping[str, Number] | None = None,
    protocol: FileName | Protocol | None = None,
    header: Mapping[str, str] | None = None,
    intervals: bool = False,
    cluster: str | None = None,
    max_record: int | None = None,
    max_unpacked: int | None = None,
    plugins: str | Sequence[str] = (),
    exclude: str | Iterable[str] = (),
    strict: bool = False,
    notice: Notice | None = None,
    progress: Progress | None = None,
    **track_options: object,
) -> Rehearsal:
    """Try an evaluation before it opens: make submissions from the truth, and run each through preflight and score.

    They are perfect, inverted, constant, drawn at random, shuffled, incomplete, failed, and have the mistakes that
    people make. The result is falsy if one of them is treated wrongly; with `strict`, also if there are warnings. With
    `platform`, each is scored through the bundle of that platform, too. `baselines` are submissions that are known to
    be better than chance. With `intervals` it says which differences between submissions this truth can show;
    `cluster` is the one of `score`. `truth` are the files or folders of the organizer. Raises `CallError`, and
    `MedcontractError` for a truth with errors.
    """
    options = CallOptions.of(locals())
    from msgspec.structs import replace

    from medcontract.evaluation.files import split_known
    from medcontract.evaluation.rehearsal import rehearse as run
    from medcontract.evaluation.submissions import submissions_in

    paths = as_paths(truth)
    if not paths or "-" in paths:
        raise CallError("there is no truth" if not paths else "a rehearsal needs files, not standard input")
    given = options.files(paths).files
    known = as_paths(baselines)
    tried = submissions_in(list(map(split_known, known)), options.limits, options.excluded) if known else None
    settings = options.settings._replace(jobs=1, progress=options.stage("rehearsing"))
    with ExitStack() as stack:
        on_platform = None
        if platform is not None:
            from medcontract.platforms.settings import require_platform

            require_platform(platform)
            from tempfile import TemporaryDirectory  # slow to import

            folder = stack.enter_context(TemporaryDirectory(prefix="medcontract-"))
            on_platform = partial(_trial, platform, folder, options)
        found = run(given, tried.submissions if tried else (), settings, platform, on_platform)
    return replace(found, ok=found.ok and not (strict and found.count("warning")))


def _trial(platform: str, folder: str, options: CallOptions, contest: Contest, headline: str) -> OnPlatform:
    from pathlib import Path

    from medcontract.platforms.trial import trial

    return trial(_plan(platform, contest, options, headline, None), Path(folder))


def _plan(platform: str, contest: Contest, options: CallOptions, rank_by: str | None, title: str | None) -> Plan:
    """Return the content of a bundle, with the protocol frozen."""
    from medcontract.contracts import registry
    from medcontract.evaluation.protocols import freeze
    from medcontract.evaluation.score import changes_for
    from medcontract.platforms.bundle import make_plan

    frozen = freeze(contest.track, changes_for(contest.track, options.settings, ranking=True), (), options.settings)
    challenge = registry.scope()
    if challenge is not None and title is None:
        title = challenge.definition.title
    return make_plan(
        platform, contest, protocol=frozen, rank_by=rank_by, title=title,
        challenge=None if challenge is None else challenge.source,
    )  # fmt: skip


def platforms() -> tuple[str, ...]:
    """Return the challenge platforms that `bundle` supports."""
    from medcontract.platforms.settings import PLATFORMS

    return tuple(PLATFORMS)


def cache_info(folder: FileName) -> CacheInfo:
    """Return what the cache in a folder contains. Raises `CallError` if there is none."""
    from medcontract.cache import content
    from medcontract.results.reference import CacheInfo

    return CacheInfo.of(os.fspath(folder), content(folder))


def clear_cache(folder: FileName) -> CacheInfo:
    """Remove all results from the cache in a folder, and nothing else. Returns what was removed."""
    from medcontract.cache import clear
    from medcontract.results.reference import CacheInfo

    return CacheInfo.of(os.fspath(folder), clear(folder), cleared=True)
