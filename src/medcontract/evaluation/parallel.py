"""Reads large files in worker processes: each reads a slice, and this process merges the outcomes.

The result is the same, byte for byte, as with one process. If that cannot be guaranteed (repeated or unknown ids,
broken files), it returns False, and one process reads the file.
"""

from __future__ import annotations

import gc
import pickle
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from medcontract.containers import BY_ENDING
from medcontract.contracts import registry
from medcontract.contracts.rules import Accumulator, CrossFileRule, OtherFile, Unique
from medcontract.errors import FileChanged
from medcontract.evaluation.inputs import Part, Settings
from medcontract.problems import Finding
from medcontract.reading.chunks import SMALLEST, Slice, Span, same_bytes, spans
from medcontract.reading.json_file import JsonFile, Member
from medcontract.reading.limits import Limits
from medcontract.reading.source import Unreadable
from medcontract.scoring import tracks
from medcontract.scoring.pairing import Expected, MarksByItem, Pairing
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.scorer import Scorer, ScoringOptions
from medcontract.scoring.track import Track
from medcontract.validation.dispatch import container_for, validator_for
from medcontract.validation.json_file import JsonValidator
from medcontract.validation.problem_collector import ProblemCollector
from medcontract.validation.records import RecordsValidator, settle_parts
from medcontract.workers import Workers


class _Truth(Struct):
    """What a worker needs to pair records."""

    track: str
    contracts: tuple[str, str]
    protocol: Protocol
    options: ScoringOptions
    pair: int
    index: dict[Any, int]
    items: list[Any]
    rules: tuple[CrossFileRule, ...]
    others: dict[str, OtherFile]
    unique: tuple[Unique, ...]


class _Task(NamedTuple):
    """One slice of one file."""

    path: str
    name: str
    contract: str
    span: Span
    limits: Limits
    keep: int
    alike: int | None
    excerpts: bool
    for_participants: bool


class _SliceOutcome(NamedTuple):
    """What a worker found in a slice."""

    records: int
    clean: bool
    """Whether the slice contains nothing that requires reading in one process."""
    collector: ProblemCollector
    accumulators: list[Accumulator]
    marks: dict[str, MarksByItem]
    named: set[str]
    header: list[Member]
    list_at: int | None
    start: int
    digest: str
    """The hash of the bytes that were read."""


def is_worthwhile(parts: Sequence[Part], jobs: int) -> bool:
    """Whether the files are large enough for workers to pay off, and readable by them."""
    size = sum(part.source.size for part in parts)
    return jobs > 1 and size >= 2 * SMALLEST and all(part.source.path is not None for part in parts)


def options_for_workers(track: Track, options: ScoringOptions) -> ScoringOptions | None:
    """The options with all plugins that worker processes need. None if they cannot know the track."""
    plugins = tracks.plugins_for_workers(track.id, options.plugins)
    return None if plugins is None else replace(options, plugins=plugins)


def read_in_workers(
    parts: Sequence[Part], pairing: Pairing[Any, Any], track: Track, scorer: Scorer, settings: Settings
) -> bool:
    """Check files as parts of one collection, and pair their records. False if one process must do it from scratch."""
    if any(rule.in_order for rule in pairing.rules):
        return False
    options = options_for_workers(track, scorer.options)
    if options is None:
        return False
    try:
        truth = pickle.dumps(_truth_for_workers(pairing, track, scorer), pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, TypeError, AttributeError):  # complete records, for custom metrics
        return False
    tasks = [_tasks(part, settings.jobs) for part in parts]
    try:
        outcomes = _read_slices(tasks, options, truth, settings)
    except (BrokenProcessPool, OSError, ImportError):  # no semaphores, no memory: try with one process
        return False
    if outcomes is None:
        return False
    spans_of_parts = [[task.span for task in each] for each in tasks]
    for part, own_spans, own in zip(parts, spans_of_parts, outcomes, strict=True):
        if not same_bytes(part.source, own_spans, [each.digest for each in own]):
            return False  # the file changed: read it again in one process
    return _merge(parts, pairing, spans_of_parts, outcomes)


def _truth_for_workers(pairing: Pairing[Any, Any], track: Track, scorer: Scorer) -> _Truth:
    pair, expected = pairing.pair, pairing.expected
    contracts = (pair.truth, pair.submission)
    pairs = [each.truth for each in track.pairs(contracts)]
    others = {rule.other: pairing.others[rule.other] for rule in pairing.rules if rule.other != pair.truth}
    return _Truth(
        track=track.id, contracts=contracts, protocol=scorer.protocol, options=scorer.options,
        pair=pairs.index(pair.truth),
        index=expected.index, items=expected.items, rules=pairing.rules, unique=pairing.unique,
        others={name: replace(other, header=None) for name, other in others.items()},  # this process compares headers
    )  # fmt: skip


def _read_slices(
    tasks: Sequence[Sequence[_Task]], options: ScoringOptions, truth: bytes, settings: Settings
) -> Sequence[Sequence[_SliceOutcome]] | None:
    """The outcomes for the slices of each file. None if one process must read the files."""
    total = sum(task.span.end - task.span.start for each in tasks for task in each)
    done = 0
    outcomes: list[list[_SliceOutcome]] = []
    with Workers(settings.jobs, _prepare, options, truth) as workers:
        futures = [[workers.submit(_read_slice, task) for task in each] for each in tasks]
        for each, own in zip(tasks, futures, strict=True):
            outcomes.append([])
            for task, future in zip(each, own, strict=True):
                outcome = future.result()
                done += task.span.end - task.span.start
                if settings.progress:
                    settings.progress(done, total)
                if outcome is None or not outcome.clean:
                    return None
                outcomes[-1].append(outcome)
    return outcomes


def _tasks(part: Part, jobs: int) -> list[_Task]:
    source, collector = part.source, part.collector
    container = container_for(source, part.contract)
    name = source.name if source.ending in BY_ENDING else f"{source.name}{container.endings[0]}"
    return [
        _Task(
            source.path or "",
            name,
            part.contract.id,
            span,
            source.limits,
            collector.keep,
            collector.alike,
            collector.excerpts,
            collector.for_participants,
        )
        for span in spans(source, container, part.contract.list_key, jobs)
    ]


_pairing: Pairing[Any, Any] | None = None
"""In worker processes: a pairing without marks."""


def _prepare(options: ScoringOptions, pickled: bytes) -> None:
    global _pairing  # noqa: PLW0603  # initializes a worker process
    from medcontract.challenges.loading import prepare_worker

    prepare_worker(options)  # first: items of the truth and rules may be of types that a plugin defines
    truth: _Truth = pickle.loads(pickled)  # noqa: S301  # from the process that started this one
    scorer = tracks.track(truth.track).scorer(truth.protocol, truth.options, truth.contracts)
    pair = scorer.pairs[truth.pair]
    expected: Expected[Any] = Expected.of(pair, truth.index, truth.items)
    others = {**truth.others, pair.truth: expected.as_other_file()}
    _pairing = Pairing(pair, expected, truth.rules, others, truth.unique)
    gc.freeze()  # the truth is kept for the life of the process


def _read_slice(task: _Task) -> _SliceOutcome | None:
    """Read a slice, in a worker process. None if the file changed."""
    try:
        return _outcome_of(task)
    except (Unreadable, FileChanged):
        return None


def _outcome_of(task: _Task) -> _SliceOutcome:
    if _pairing is None:
        raise RuntimeError("the worker was not prepared")
    pairing = _pairing.fresh()
    contract = registry.find(task.contract)
    source = Slice(task.path, task.name, task.span, task.limits)
    source.prepare()
    collector = ProblemCollector(task.keep, task.alike, task.excerpts, task.for_participants)
    validator = validator_for(source, contract, collector, None, pairing)
    accumulators = [rule.begin() for rule in contract.list_rules]
    validator.start(accumulators)
    clean = not (validator.broken or validator.all_invalid or validator.collector.deferred or pairing.unknown_count)
    file = getattr(validator, "file", None)
    if isinstance(file, JsonFile):
        in_list = bool(file.header) and file.header[-1].key == contract.list_key
        clean = clean and file.outer is None and (in_list or not task.span.suffix)
    else:
        file = None
    return _SliceOutcome(
        records=validator.records or 0, clean=clean, collector=validator.collector, accumulators=accumulators,
        marks=pairing.marks_by_run, named=pairing.named, header=file.header if file else [],
        list_at=file.list_at if file else None, start=file.start if file else 0, digest=source.sha256(),
    )  # fmt: skip


def _merge(
    parts: Sequence[Part],
    pairing: Pairing[Any, Any],
    spans_of_parts: Sequence[Sequence[Span]],
    outcomes: Sequence[Sequence[_SliceOutcome]],
) -> bool:
    accumulators = [rule.begin() for rule in parts[0].contract.list_rules]
    for outcome in [each for own in outcomes for each in own]:
        valid = all(mine.absorb(theirs) for mine, theirs in zip(accumulators, outcome.accumulators, strict=True))
        if not valid or not pairing.absorb(outcome.marks, outcome.named):
            pairing.forget()
            return False
    base = 0
    for part, own_spans, own in zip(parts, spans_of_parts, outcomes, strict=True):
        part.validator = validator = validator_for(part.source, part.contract, part.collector)
        validator.base = base
        validator.records = 0
        if isinstance(validator, JsonValidator):
            validator.file = _merged_header(part, own_spans, own)
        for span, each in zip(own_spans, own, strict=True):
            _absorb(validator, span, each)
        base += validator.records
        validator.collector.new_series()
        validator.finish()
    settle_parts([part.validator for part in parts if part.validator], [])
    return True


def _absorb(validator: RecordsValidator, span: Span, outcome: _SliceOutcome) -> None:
    """Add the findings of a slice, with positions in the file instead of the slice."""
    before = validator.records or 0
    lines = _lines_before(validator, span) if outcome.collector.errors + outcome.collector.warnings else 0

    def move(finding: Finding) -> Finding:
        offset = None if finding.offset is None else finding.offset + span.shift
        ref = finding.ref
        if ref is not None and ref.record is not None:
            prefix = (ref.prefix[0], before + ref.record) if ref.prefix else ()
            line = None if ref.line is None else ref.line + lines
            ref = ref._replace(offset=ref.offset + span.shift, record=before + ref.record, prefix=prefix, line=line)
        return finding._replace(offset=offset, ref=ref)

    validator.collector.absorb(outcome.collector, move)
    validator.records = before + outcome.records


def _lines_before(validator: RecordsValidator, span: Span) -> int:
    """The number of lines before a slice, minus those of its prefix."""
    if not span.start:
        return 0
    count, left = -span.prefix.count(b"\n"), span.start
    with validator.source.open() as stream:
        while left and (block := stream.read(min(1 << 20, left))):
            count += block.count(b"\n")
            left -= len(block)
    return count


def _merged_header(part: Part, own_spans: Sequence[Span], outcomes: Sequence[_SliceOutcome]) -> JsonFile:
    """The members around the list: those before it are in the first slice, those after it in the last."""
    file = JsonFile(part.source, part.contract.list_key, lambda raw: None)
    file.start, file.list_at = outcomes[0].start, outcomes[0].list_at
    file.header = list(outcomes[0].header)
    if len(outcomes) > 1:
        shift = own_spans[-1].shift
        file.header += [
            member._replace(offset=member.offset + shift, key_offset=member.key_offset + shift)
            for member in outcomes[-1].header[1:]
        ]
    return file
