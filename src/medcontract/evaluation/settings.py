"""How the files of a call are read and scored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from medcontract.extras import require
from medcontract.parallel import cpus
from medcontract.reading import chunks
from medcontract.reading.limits import Limits
from medcontract.scoring.frozen_protocol import FrozenProtocol
from medcontract.scoring.phases import PhaseKey
from medcontract.scoring.protocol import INTERVAL_PARAMETERS, Protocol
from medcontract.scoring.scorer import NO_OPTIONS, ScoringOptions
from medcontract.scoring.track import Track
from medcontract.validation.dispatch import Part
from medcontract.validation.records import Progress
from medcontract.validation.report import ProblemCollector

if TYPE_CHECKING:
    from medcontract.evaluation.subgroups import By, Table
    from medcontract.parallel.pool import Pool


class Settings(NamedTuple):
    """How files are read, and how many problems are kept for each."""

    keep: int = 100
    alike: int | None = None
    excerpts: bool = False
    limits: Limits | None = None
    progress: Progress | None = None
    """Gets the bytes that were read of all files, and their total (`report_progress`)."""
    jobs: int | None = 1
    """Worker processes for large files, or for the submissions of a ranking. None: as many as pay off."""
    pool: Pool | None = None
    """Reads large files, instead of worker processes."""
    participant: bool = False
    """The output must not reveal the truth."""
    scoring: ScoringOptions = NO_OPTIONS
    """The caller's options for scoring."""
    parameters: tuple[tuple[str, str], ...] = ()
    """Changed parameters of the protocol."""
    phase_key: PhaseKey | None = None
    """Divides the cases into phases."""
    intervals: bool = False
    """Figures have intervals."""
    frozen: FrozenProtocol | None = None
    """The protocol to score under, if it is frozen."""
    complete: bool = True
    """Compute everything that a score shows, not only what a ranking without feedback needs."""
    header: tuple[tuple[str, str], ...] = ()
    """Header fields that the caller sets."""
    by: tuple[By, ...] = ()
    """The fields to group cases by."""
    groups: Table | None = None
    """A table with fields to group by."""
    header_if_absent: bool = False
    """Ignore those that the files contain."""

    def collector(self) -> ProblemCollector:
        return ProblemCollector(self.keep, self.alike, self.excerpts, self.participant)

    def wants_intervals(self, track: Track, protocol: Protocol) -> bool:
        """Return whether figures have intervals: if the caller, the challenge or a parameter asks for them.

        Raises `CallError` if NumPy is not installed.
        """
        own = track.protocol.values  # a cluster that the challenge defines may also be there for phases
        wanted = self.intervals or track.intervals
        wanted = wanted or any(protocol.values.get(name) != own.get(name) for name in INTERVAL_PARAMETERS)
        if wanted:
            require("numpy", "stats")
        return wanted

    def pool_for(self, parts: Sequence[Part]) -> Pool | None:
        """Choose what reads these files in chunks. None: it is not worth it."""
        if self.pool:
            return self.pool
        size = sum(part.source.size for part in parts)
        if size < 2 * chunks.SMALLEST or cpus.workers_for(self.jobs, size) < 2:
            return None
        from medcontract.parallel.processes import pool_for  # slow to import

        return pool_for(self.jobs, size)


DEFAULT = Settings()
