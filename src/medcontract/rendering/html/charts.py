"""Charts as inline SVG.

Positions along the x axis are percentages and font sizes are pixels, so that a chart fills any width and its text stays
readable on a phone. Every label is escaped by `Markup.format`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, floor, log10

from markupsafe import Markup

from medcontract.results.base import printable
from medcontract.results.tables import Bars, Distribution, number

_ROW, _BAR = 40, 14
"""The height of a row with its label, and of the bar below the label."""
_LONGEST_LABEL = 34
_AXIS = 22
_PLOT = 120
"""The height of a histogram without its labels."""
_BINS = 20


def bars(chart: Bars, title: str) -> Markup:
    """A labeled bar per value, and an axis that starts at 0. A missing value is a dash, not a bar."""
    height = _ROW * len(chart.labels) + _AXIS
    parts = [*_grid(chart.high, chart.unit, height - _AXIS)]
    for position, (label, value) in enumerate(zip(chart.labels, chart.values, strict=True)):
        parts.append(_bar(position * _ROW, label, value, chart))
    shown = "; ".join(f"{_short(label)} {number(v, chart.unit)}" for label, v in _first(chart))
    return _svg(height, f"{title}: {shown}" if title else shown, parts)


def _first(chart: Bars) -> list[tuple[str, float | None]]:
    return list(zip(chart.labels, chart.values, strict=True))[:_BINS]


def _bar(top: int, label: str, value: float | None, chart: Bars) -> Markup:
    text = Markup('<text x="0" y="{}">{}</text><text x="100%" y="{}" class="value">{}</text>').format(
        top + 16, _short(label), top + 16, number(value, chart.unit)
    )
    track = Markup('<rect x="0" y="{}" width="100%" height="{}" class="track"/>').format(top + 21, _BAR)
    if value is None:
        return text + track
    bar = Markup('<rect x="0" y="{}" width="{}%" height="{}" class="bar"/>')
    return text + track + bar.format(top + 21, _percent(value, chart.high), _BAR)


def gate(share: float, minimum: float, passed: bool, label: str) -> Markup:
    """The processed share, with a mark at the required minimum."""
    parts = [
        Markup('<rect x="0" y="4" width="100%" height="16" class="track"/>'),
        Markup('<rect x="0" y="4" width="{}%" height="16" class="{}"/>').format(
            _percent(share, 1), "good" if passed else "bad"
        ),
        Markup('<rect x="{}%" y="0" width="2" height="24" class="mark"/>').format(min(_percent(minimum, 1), 99.4)),
    ]
    return _svg(24, label, parts)


def distribution(chart: Distribution) -> Markup:
    """A histogram with counts on top of the bars and the range of values below."""
    counts = _binned(chart.values, chart.low, chart.high)
    tallest = max(counts)
    width = 100 / len(counts)
    parts = []
    for position, count in enumerate(counts):
        if not count:
            continue
        height = max(1, round(count / tallest * (_PLOT - 18)))
        parts.append(
            Markup('<rect x="{}%" y="{}" width="{}%" height="{}" class="bar"><title>{}</title></rect>').format(
                _rounded(position * width + 0.3),
                _PLOT - height,
                _rounded(width - 0.6),
                height,
                _bin_title(chart, position, len(counts), count),
            )
        )
    top = counts.index(tallest)
    anchor = "start" if top < 3 else "end" if top > len(counts) - 4 else "middle"
    at = {"start": top * width, "middle": (top + 0.5) * width, "end": (top + 1) * width}[anchor]
    parts.append(
        Markup('<text x="{}%" y="12" text-anchor="{}" class="small">{}</text>').format(
            _rounded(at), anchor, f"{tallest:,}"
        )
    )
    parts.append(Markup('<rect x="0" y="{}" width="100%" height="1" class="axis"/>').format(_PLOT))
    middle = (chart.low + chart.high) / 2
    for x, side, value in (("0", "start", chart.low), ("50%", "middle", middle), ("100%", "end", chart.high)):
        parts.append(
            Markup('<text x="{}" y="{}" text-anchor="{}" class="small">{}</text>').format(
                x, _PLOT + 16, side, f"{value:g}"
            )
        )
    parts.append(
        Markup('<text x="50%" y="{}" text-anchor="middle" class="small">{}</text>').format(
            _PLOT + 34, f"{chart.axis} (height: number of {chart.name})"
        )
    )
    label = f"{len(chart.values):,} {chart.name} by {chart.axis}, from {chart.low:g} to {chart.high:g}"
    return _svg(_PLOT + 40, label, parts)


def _bin_title(chart: Distribution, position: int, bins: int, count: int) -> str:
    step = (chart.high - chart.low) / bins
    start, end = chart.low + position * step, chart.low + (position + 1) * step
    return f"{count:,} {chart.name} from {start:g} to {end:g}"


def _binned(values: Sequence[float], low: float, high: float) -> list[int]:
    """Counts of equally wide bins; the last bin includes its end."""
    counts = [0] * _BINS
    for value in values:
        position = floor((value - low) / (high - low) * _BINS)
        counts[min(max(position, 0), _BINS - 1)] += 1
    return counts


def change(before: float, after: float, role: str, label: str) -> Markup:
    """A line from the value before to the value after, on an axis from 0 to 1; `role`: good, bad or neutral."""
    start, end = (_percent(value, 1) for value in (before, after))
    left, right = sorted((start, end))
    parts = [
        Markup('<rect x="0" y="9" width="100%" height="2" class="track"/>'),
        Markup('<rect x="{}%" y="8" width="{}%" height="4" class="{}"/>').format(left, _rounded(right - left), role),
        Markup('<circle cx="{}%" cy="10" r="4" class="dot"/>').format(_inside(start)),
        Markup('<circle cx="{}%" cy="10" r="6" class="{}"/>').format(_inside(end), role),
    ]
    return _svg(20, label, parts)


def _inside(percent: float) -> float:
    """Keeps a dot within the chart."""
    return min(max(percent, 2), 98)


def _grid(high: float, unit: str, height: int) -> Iterator[Markup]:
    """Ticks at round numbers; their labels never overlap, since there are at most six."""
    for value in ticks(high):
        x = _percent(value, high)
        anchor = "start" if x < 3 else "end" if x > 97 else "middle"
        yield Markup('<rect x="{}%" y="0" width="1" height="{}" class="grid"/>').format(min(x, 99.7), height)
        yield Markup('<text x="{}%" y="{}" text-anchor="{}" class="small">{}</text>').format(
            x, height + 16, anchor, f"{value:g}"
        )


def ticks(high: float) -> list[float]:
    """Round numbers from 0 to at most `high`, four to six of them."""
    if high <= 0:
        return [0.0]
    scale = 10.0 ** floor(log10(high / 5))
    step = next(scale * factor for factor in (1, 2, 2.5, 5, 10) if scale * factor * 5 >= high * (1 - 1e-9))
    return [position * step for position in range(ceil(high / step) + 1) if position * step <= high * (1 + 1e-9)]


def _percent(value: float, high: float) -> float:
    return _rounded(min(max(value / high, 0), 1) * 100) if high > 0 else 0.0


def _rounded(value: float) -> float:
    return round(value, 2)


def _short(label: str) -> str:
    label = printable(label)
    return label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1]}…"


def _svg(height: int, label: str, parts: Sequence[Markup]) -> Markup:
    return Markup('<svg role="img" aria-label="{}" width="100%" height="{}">{}</svg>').format(
        label, height, Markup("").join(parts)
    )
