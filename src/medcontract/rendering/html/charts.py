"""Charts as inline SVG.

Positions along the x axis are percentages and font sizes are pixels, so that a chart fills any width and its text stays
readable on a phone. Every label is escaped by `Markup.format`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, floor, inf, log10

from markupsafe import Markup

from medcontract.problems import printable
from medcontract.rendering.page import Gauge
from medcontract.results.tables import Bars, Curve, Distribution, Ranges, number

_ROW, _BAR = 40, 14
"""The height of a row with its label, and of the bar below the label."""
_LONGEST_LABEL = 34
_AXIS = 22
_PLOT = 120
"""The height of a histogram without its labels."""
_BINS = 20
_TOP, _SQUARE = 22, 260
"""The height of the label above a curve, and of the curve; its width is limited by the style."""


def bars(chart: Bars, title: str) -> Markup:
    """Draw a labeled bar per value, and an axis that starts at 0. A missing value is a dash, not a bar."""
    height = _ROW * len(chart.labels)
    parts = [each for value in ticks(chart.high) for each in _tick(value, _percent(value, chart.high), height)]
    intervals = chart.intervals or [None] * len(chart.labels)
    values = list(zip(chart.labels, chart.values, intervals, strict=True))
    for top, (label, value, interval) in zip(range(0, height, _ROW), values, strict=True):
        parts += [
            _text(0, top + 16, _short(label), role=""),
            _text("100%", top + 16, number(value, chart.unit, interval), "end", "value"),
        ]
        parts.append(_rect(0, top + 21, "100%", _BAR, "track"))
        if value is not None:
            parts.append(_rect(0, top + 21, f"{_percent(value, chart.high)}%", _BAR, "bar"))
        if interval is not None:
            parts += _whisker(top + 21, *(_percent(bound, chart.high) for bound in interval))
    shown = "; ".join(f"{_short(label)} {number(value, chart.unit, its)}" for label, value, its in values[:_BINS])
    return _svg(height + _AXIS, f"{title}: {shown}" if title else shown, parts)


def ranges(chart: Ranges, title: str) -> Markup:
    """Draw a point and a line from bound to bound for each label, on an axis that shows only their range."""
    bounds = [bound for each in chart.intervals if each for bound in each]
    most = len(chart.labels) if chart.whole else -inf  # the lowest rank there is
    axis = _ticks_between(min([*chart.values, *bounds]), max([*chart.values, *bounds, most]), chart.whole)
    low, high = axis[0], axis[-1]
    height = _ROW * len(chart.labels)
    parts = [each for value in axis for each in _tick(value, _place(value, low, high), height)]
    rows = zip(chart.labels, chart.values, chart.intervals, chart.texts, strict=True)
    for number_of, (label, value, interval, text) in enumerate(rows):
        top, role = _ROW * number_of, "bar" if number_of < chart.strong else "other"
        parts += [_text(0, top + 16, _short(label), role=""), _text("100%", top + 16, text, "end", "value")]
        parts.append(_rect(0, top + 27, "100%", 2, "track"))
        if interval is not None and interval[0] < interval[1]:
            start, end = (_place(bound, low, high) for bound in interval)
            parts.append(_rect(f"{start}%", top + 25, f"{max(_rounded(end - start), 0.5)}%", 6, role))
        at = min(max(_place(value, low, high), 1), 99)
        parts.append(Markup('<circle cx="{}%" cy="{}" r="6" class="{}"/>').format(at, top + 28, role))
    shown = "; ".join(f"{_short(label)} {text}" for label, text in zip(chart.labels, chart.texts, strict=True))
    return _svg(height + _AXIS, f"{title}: {shown}", parts)


def _place(value: float, low: float, high: float) -> float:
    """Return the position of a value on an axis, in percent."""
    return _percent(value - low, high - low) if high > low else 50.0


def _ticks_between(low: float, high: float, whole: bool) -> list[float]:
    """Round numbers, three to seven of them, from at most `low` to at least `high`."""
    if high <= low:
        return [low]
    scale = 10.0 ** floor(log10((high - low) / 5))
    steps = [scale * factor for factor in (1, 2, 2.5, 5, 10)]
    step = next(each for each in steps if each * 5 >= (high - low) * (1 - 1e-9))
    if whole:
        step = max(1.0, float(ceil(step)))
        return [*(low + n * step for n in range(floor((high - low) / step - 0.5) + 1)), high]
    return [round(n * step, 12) for n in range(floor(low / step + 1e-9), ceil(high / step - 1e-9) + 1)]


def _whisker(top: int, low: float, high: float) -> Iterator[Markup]:
    """Draw an interval on a bar: a line with an end at each bound."""
    yield _rect(f"{low}%", top + _BAR // 2 - 1, f"{_rounded(high - low)}%", 2, "whisker")
    for bound in (low, high):
        yield _rect(f"{min(bound, 99.6)}%", top + 2, 2, _BAR - 4, "whisker")


def gauge(gauge: Gauge, label: str) -> Markup:
    """Draw a share, with a mark at the required minimum."""
    share, minimum = _percent(gauge.share, 1), min(_percent(gauge.minimum, 1), 99.4)
    parts = [
        _rect(0, 4, "100%", 16, "track"),
        _rect(0, 4, f"{share}%", 16, "good" if gauge.passed else "bad"),
        _rect(f"{minimum}%", 0, 2, 24, "mark"),
    ]
    return _svg(24, label, parts)


def distribution(chart: Distribution) -> Markup:
    """Draw a histogram with the count of the tallest bar on top of it, and the range of values below."""
    counts = _binned(chart.values, chart.low, chart.high)
    tallest, width, step = max(counts), 100 / _BINS, (chart.high - chart.low) / _BINS
    parts = []
    for position, count in enumerate(counts):
        if count:
            start, end = (chart.low + n * step for n in (position, position + 1))
            title = f"{count:,} {chart.name} from {start:g} to {end:g}"
            x, height = f"{_rounded(position * width + 0.3)}%", max(1, round(count / tallest * (_PLOT - 18)))
            parts.append(_rect(x, _PLOT - height, f"{_rounded(width - 0.6)}%", height, "bar", title))
    top = counts.index(tallest)
    anchor = "start" if top < 3 else "end" if top > _BINS - 4 else "middle"
    at = {"start": top * width, "middle": (top + 0.5) * width, "end": (top + 1) * width}[anchor]
    parts += [_text(f"{_rounded(at)}%", 12, f"{tallest:,}", anchor), _rect(0, _PLOT, "100%", 1, "axis")]
    middle = (chart.low + chart.high) / 2
    for x, side, value in (("0", "start", chart.low), ("50%", "middle", middle), ("100%", "end", chart.high)):
        parts.append(_text(x, _PLOT + 16, f"{value:g}", side))
    parts.append(_text("50%", _PLOT + 34, f"{chart.axis} (height: number of {chart.name})", "middle"))
    label = f"{len(chart.values):,} {chart.name} by {chart.axis}, from {chart.low:g} to {chart.high:g}"
    return _svg(_PLOT + 40, label, parts)


def curve(chart: Curve) -> Markup:
    """Draw a line over a square, from its lower left corner, with its points if they are measurements."""
    line = Markup(
        '<svg aria-label="{}" x="0" y="{}" width="100%" height="{}" viewBox="0 0 100 100" preserveAspectRatio="none">'
        "{}</svg>"
    )
    path = Markup('<polyline points="{}" class="{}" vector-effect="non-scaling-stroke"/>')
    points = " ".join(f"{_rounded(x * 100)},{_rounded(100 - y * 100)}" for x, y in chart.points)
    inside = path.format("0,100 100,0", "diagonal") + path.format(points, "line")
    end = _TOP + _SQUARE
    parts = [
        _text(0, 14, f"↑ {chart.y}"), _rect(0, _TOP, "100%", _SQUARE, "track"),
        line.format(chart.y, _TOP, _SQUARE, inside),
    ]  # fmt: skip
    if chart.dots:
        dot = Markup('<circle cx="{}%" cy="{}" r="4" class="neutral"/>')
        parts += [dot.format(_rounded(x * 100), _rounded(end - _SQUARE * y)) for x, y in chart.points]
    parts += [_text(f"{x}%", end + 16, text, side) for x, text, side in ((0, "0", "start"), (100, "1", "end"))]
    parts += [_text("50%", end + 16, chart.x, "middle"), _text("50%", end + 34, f"dashed: {chart.diagonal}", "middle")]
    return _svg(end + 40, f"{chart.y} by {chart.x}; {chart.diagonal}", parts)


def _binned(values: Sequence[float], low: float, high: float) -> list[int]:
    """Counts of equally wide bins; the last bin includes its end."""
    counts = [0] * _BINS
    for value in values:
        position = floor((value - low) / (high - low) * _BINS)
        counts[min(max(position, 0), _BINS - 1)] += 1
    return counts


def change(before: float, after: float, role: str, label: str) -> Markup:
    """Draw a line from the value before to the value after, on an axis from 0 to 1; `role`: good, bad or neutral."""
    start, end = (_percent(value, 1) for value in (before, after))
    left, right = sorted((start, end))
    dot = Markup('<circle cx="{}%" cy="10" r="{}" class="{}"/>')
    parts = [
        _rect(0, 9, "100%", 2, "track"),
        _rect(f"{left}%", 8, f"{_rounded(right - left)}%", 4, role),
        dot.format(min(max(start, 2), 98), 4, "dot"),  # within the chart
        dot.format(min(max(end, 2), 98), 6, role),
    ]
    return _svg(20, label, parts)


def _tick(value: float, x: float, height: int) -> Iterator[Markup]:
    yield _rect(f"{min(x, 99.7)}%", 0, 1, height, "grid")
    yield _text(f"{x}%", height + 16, f"{value:g}", "start" if x < 3 else "end" if x > 97 else "middle")


def ticks(high: float) -> list[float]:
    """Round numbers from 0 to at most `high`, four to six of them, so that their labels never overlap."""
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


def _rect(x: object, y: int, width: object, height: int, role: str, title: str = "") -> Markup:
    inside = Markup("<title>{}</title>").format(title) if title else ""
    rect = Markup('<rect x="{}" y="{}" width="{}" height="{}" class="{}">{}</rect>')
    return rect.format(x, y, width, height, role, inside)


def _text(x: object, y: int, text: str, anchor: str = "start", role: str = "small") -> Markup:
    return Markup('<text x="{}" y="{}" text-anchor="{}" class="{}">{}</text>').format(x, y, anchor, role, text)


def _svg(height: int, label: str, parts: Sequence[Markup]) -> Markup:
    return Markup('<svg role="img" aria-label="{}" width="100%" height="{}">{}</svg>').format(
        label, height, Markup("").join(parts)
    )
