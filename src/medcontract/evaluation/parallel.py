"""Large files in worker processes: each reads a slice, this process puts together what they found.

It gives the same bytes as one process does, or it gives up (False), and one process does it all: where an id may be
repeated, where nothing expects it, where a file is broken. Those are for a reader who sees everything.
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
from medcontract.scoring.pairing import Expected, Pairing, Sheet
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


class _Seen(NamedTuple):
    """What a worker saw in a slice."""

    records: int
    clean: bool
    """Nothing that one process must look at."""
    collector: ProblemCollector
    accumulators: list[Accumulator]
    sheets: dict[str, Sheet]
    named: set[str]
    header: list[Member]
    list_at: int | None
    start: int
    digest: str
    """The hash of what it read."""


def worth_while(parts: Sequence[Part], jobs: int) -> bool:
    """Whether there is enough to read that starting workers pays, in files that they can read."""
    size = sum(part.source.size for part in parts)
    return jobs > 1 and size >= 2 * SMALLEST and all(part.source.path is not None for part in parts)


def read_in_workers(
    parts: Sequence[Part], pairing: Pairing[Any, Any], track: Track, scorer: Scorer, settings: Settings
) -> bool:
    """Judge files as parts of one collection, and pair their records. False, and nothing done: it takes one process."""
    if any(rule.in_order for rule in pairing.rules):
        return False
    try:
        truth = pickle.dumps(_truth_for_workers(pairing, track, scorer), pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, TypeError, AttributeError):  # records as they are, for metrics of users
        return False
    tasks = [_tasks(part, settings.jobs) for part in parts]
    try:
        seen = _look_in_workers(tasks, truth, settings)
    except (BrokenProcessPool, OSError, ImportError):  # no semaphores, no memory: one process may do
        return False
    if seen is None:
        return False
    cuts = [[task.span for task in each] for each in tasks]
    for part, own_cuts, own_seen in zip(parts, cuts, seen, strict=True):
        if not same_bytes(part.source, own_cuts, [each.digest for each in own_seen]):
            return False  # the file changed: one process reads it in one go
    return _put_together(parts, pairing, cuts, seen)


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


def _look_in_workers(
    tasks: Sequence[Sequence[_Task]], truth: bytes, settings: Settings
) -> Sequence[Sequence[_Seen]] | None:
    """What workers saw in the slices of each file. None: something that one process must look at."""
    total = sum(task.span.end - task.span.start for each in tasks for task in each)
    done = 0
    seen: list[list[_Seen]] = []
    with Workers(settings.jobs, _prepare, truth) as workers:
        futures = [[workers.submit(_look, task) for task in each] for each in tasks]
        for each, own in zip(tasks, futures, strict=True):
            seen.append([])
            for task, future in zip(each, own, strict=True):
                found = future.result()
                done += task.span.end - task.span.start
                if settings.progress:
                    settings.progress(done, total)
                if found is None or not found.clean:
                    return None
                seen[-1].append(found)
    return seen


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


_here: Pairing[Any, Any] | None = None
"""In a worker process: its pairing, without any mark."""


def _prepare(pickled: bytes) -> None:
    global _here  # noqa: PLW0603  # what a worker process is for
    truth: _Truth = pickle.loads(pickled)  # noqa: S301  # from the process that started this one
    for plugin in truth.options.plugins:
        tracks.load_plugin(plugin)
    scorer = tracks.track(truth.track).scorer(truth.protocol, truth.options, truth.contracts)
    pair = scorer.pairs[truth.pair]
    expected: Expected[Any] = Expected.of(pair, truth.index, truth.items)
    others = {**truth.others, pair.truth: expected.as_other_file()}
    _here = Pairing(pair, expected, truth.rules, others, truth.unique)
    gc.freeze()  # the truth stays


def _look(task: _Task) -> _Seen | None:
    """What a worker does. None where the file is not what it was any more."""
    try:
        return _look_at(task)
    except (Unreadable, FileChanged):
        return None


def _look_at(task: _Task) -> _Seen:
    if _here is None:
        raise RuntimeError("the worker was not prepared")
    pairing = _here.fresh()
    contract = registry.find(task.contract)
    source = Slice(task.path, task.name, task.span, task.limits)
    source.prepare()
    collector = ProblemCollector(task.keep, task.alike, task.excerpts, task.for_participants)
    validator = validator_for(source, contract, collector, None, pairing)
    accumulators = [rule.begin() for rule in contract.list_rules]
    validator.start(accumulators)
    clean = not (validator.broken or validator.spoilt or validator.collector.deferred or pairing.unknown_count)
    file = getattr(validator, "file", None)
    if isinstance(file, JsonFile):
        in_list = bool(file.header) and file.header[-1].key == contract.list_key
        clean = clean and file.outer is None and (in_list or not task.span.suffix)
    else:
        file = None
    return _Seen(
        records=validator.records or 0, clean=clean, collector=validator.collector, accumulators=accumulators,
        sheets=pairing.sheets, named=pairing.named, header=file.header if file else [],
        list_at=file.list_at if file else None, start=file.start if file else 0, digest=source.sha256(),
    )  # fmt: skip


def _put_together(
    parts: Sequence[Part], pairing: Pairing[Any, Any], cuts: Sequence[Sequence[Span]], seen: Sequence[Sequence[_Seen]]
) -> bool:
    accumulators = [rule.begin() for rule in parts[0].contract.list_rules]
    everything = [each for own in seen for each in own]
    for each in everything:
        rules_kept = all(mine.absorb(theirs) for mine, theirs in zip(accumulators, each.accumulators, strict=True))
        if not rules_kept or not pairing.absorb(each.sheets, each.named):
            pairing.forget()
            return False
    base = 0
    for part, own_spans, own in zip(parts, cuts, seen, strict=True):
        part.validator = validator = validator_for(part.source, part.contract, part.collector)
        validator.base = base
        validator.records = 0
        if isinstance(validator, JsonValidator):
            validator.file = _whole_header(part, own_spans, own)
        for span, each in zip(own_spans, own, strict=True):
            _absorb(validator, span, each)
        base += validator.records
        validator.collector.new_room()
        validator.finish()
    settle_parts([part.validator for part in parts if part.validator], [])
    return True


def _absorb(validator: RecordsValidator, span: Span, seen: _Seen) -> None:
    """Take over what a worker found in a slice, moved to where it stands in the file."""
    before = validator.records or 0
    lines = _lines_before(validator, span) if seen.collector.errors + seen.collector.warnings else 0

    def move(finding: Finding) -> Finding:
        offset = None if finding.offset is None else finding.offset + span.shift
        ref = finding.ref
        if ref is not None and ref.record is not None:
            prefix = (ref.prefix[0], before + ref.record) if ref.prefix else ()
            line = None if ref.line is None else ref.line + lines
            ref = ref._replace(offset=ref.offset + span.shift, record=before + ref.record, prefix=prefix, line=line)
        return finding._replace(offset=offset, ref=ref)

    validator.collector.absorb(seen.collector, move)
    validator.records = before + seen.records


def _lines_before(validator: RecordsValidator, span: Span) -> int:
    """How many lines stand before a slice, less those of its prefix."""
    if not span.start:
        return 0
    count, left = -span.prefix.count(b"\n"), span.start
    with validator.source.open() as stream:
        while left and (block := stream.read(min(1 << 20, left))):
            count += block.count(b"\n")
            left -= len(block)
    return count


def _whole_header(part: Part, own_spans: Sequence[Span], seen: Sequence[_Seen]) -> JsonFile:
    """The members around the list: those before it are in the first slice, those after it in the last."""
    file = JsonFile(part.source, part.contract.list_key, lambda raw: None)
    file.start, file.list_at = seen[0].start, seen[0].list_at
    file.header = list(seen[0].header)
    if len(seen) > 1:
        shift = own_spans[-1].shift
        file.header += [
            member._replace(offset=member.offset + shift, key_offset=member.key_offset + shift)
            for member in seen[-1].header[1:]
        ]
    return file
