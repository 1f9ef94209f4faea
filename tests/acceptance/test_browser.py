"""Pages in a real browser: headless Chromium, driven by playwright. Skipped where either is not installed."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.html_pages import examples

import medcontract

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run",
]  # fmt: skip
_TALLER_THAN_WIDE = {"width": 360, "height": 740}


def chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("CHROMIUM") or next((path for name in names if (path := shutil.which(name))), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed (pip install playwright)"
    )
    path = chromium()
    if path is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=path, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("browser")
    written = {}
    for name, result in examples(folder / "data").items():
        written[name] = folder / f"{name}.html"
        written[name].write_text(result.to_html(), encoding="utf-8")
    return written


class _Seen:
    """What a page did while it was open."""

    def __init__(self, browser: Any, file: Path, **settings: Any) -> None:
        self.page = browser.new_page(**settings)
        self.messages: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: self.messages.append(dialog.message))
        self.page.goto(file.as_uri())

    def evaluate(self, script: str) -> Any:
        return self.page.evaluate(script)


_OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
_CUT = """() => [...document.querySelectorAll('.scroll, svg, dd, dt, code, p, li, h1, h2, h3, strong')]
  .filter(e => e.clientWidth && e.scrollWidth > e.clientWidth + 1)
  .map(e => e.getAttribute('aria-label') || e.textContent.trim().slice(0, 60))"""
"""What is wider than its place, so that a part is not visible."""
_BROKEN_PLACES = """() => [...document.querySelectorAll('.place')]
  .filter(e => e.getClientRects().length > 1).map(e => e.textContent)"""
_OUTSIDE = """() => [...document.querySelectorAll('svg text')].filter(text => {
  const box = text.getBoundingClientRect();
  return box.width && (box.left < -1 || box.right > window.innerWidth + 1);
}).map(text => text.textContent)"""
_OVERLAPS = """() => [...document.querySelectorAll('svg')].flatMap(svg => {
  const boxes = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
  return boxes.flatMap(([a, x], i) => boxes.slice(i + 1).filter(([b, y]) =>
    x.left < y.right - 1 && y.left < x.right - 1 && x.top < y.bottom - 3 && y.top < x.bottom - 3
  ).map(([b]) => a + ' / ' + b));
})"""
_CONTRAST = """() => {
  const rgb = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const linear = v => v <= 10 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4;
  const luminance = ([r, g, b]) => [r, g, b].map(linear)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const background = element => {
    const layers = [];
    for (let each = element; each; each = each.parentElement) {
      const [r, g, b, a = 1] = rgb(getComputedStyle(each).backgroundColor);
      if (a) layers.push([r, g, b, a]);
      if (a === 1) break;
    }
    const over = (under, [r, g, b, a]) => [r, g, b].map((v, i) => v * a + under[i] * (1 - a));
    return layers.reverse().reduce(over, [255, 255, 255]);
  };
  return [...document.querySelectorAll('h1,h2,h3,p,strong,li,dt,dd,th,td,span,summary,footer')]
    .filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()))
    .map(e => {
      const [one, other] = [luminance(rgb(getComputedStyle(e).color)), luminance(background(e))].sort((a, b) => b - a);
      return [(one + 0.05) / (other + 0.05), e.className + ' ' + e.textContent.trim().slice(0, 40)];
    }).filter(([ratio]) => ratio < 4.5);
}"""
"""Texts with less contrast than WCAG AA requires."""


def test_no_error_no_request_and_nothing_outside_of_a_phone(browser: Any, pages: dict[str, Path]) -> None:
    for name, file in pages.items():
        seen = _Seen(browser, file, viewport=_TALLER_THAN_WIDE)
        assert seen.messages == [], name
        assert seen.requests == [file.as_uri()], name
        assert seen.evaluate(_OVERFLOW) <= 0, name
        assert seen.evaluate(_OUTSIDE) == [], name
        assert seen.evaluate(_OVERLAPS) == [], name
        seen.page.close()


@pytest.mark.parametrize("width", [390, 1200])
def test_nothing_is_cut_off(width: int, browser: Any, pages: dict[str, Path]) -> None:
    """All columns of all tables are visible without scrolling, and no line number is broken."""
    for name, file in pages.items():
        seen = _Seen(browser, file, viewport={"width": width, "height": 900})
        assert seen.evaluate(_CUT) == [], name
        assert seen.evaluate(_BROKEN_PLACES) == [], name
        seen.page.close()
    seen = _Seen(browser, pages["score-lesions"], viewport={"width": 390, "height": 900})
    assert seen.page.get_by_text("correctly classified / expected images").is_visible()
    seen.page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_have_contrast(scheme: str, browser: Any, pages: dict[str, Path]) -> None:
    for name, file in pages.items():
        seen = _Seen(browser, file, viewport={"width": 1000, "height": 800}, color_scheme=scheme)
        assert seen.evaluate(_CONTRAST) == [], name
        seen.page.close()


def test_hostile_names_do_not_run(browser: Any, pages: dict[str, Path]) -> None:
    for name in ("hostile", "refused"):
        seen = _Seen(browser, pages[name])
        assert "run" not in seen.page.title().split(), name
        assert seen.evaluate("document.scripts.length + document.images.length") == 0
        assert seen.messages == []
        assert "<script>" in seen.evaluate("document.body.innerText")
        seen.page.close()


def test_landmarks_and_table_headers(browser: Any, pages: dict[str, Path]) -> None:
    """The tree that screen readers use has the landmarks, and headers for the rows and columns of each table."""
    for name in ("score-lesions", "leaderboard-lesions", "preflight-reports", "validate-triage"):
        seen = _Seen(browser, pages[name])
        for role in ("banner", "main", "contentinfo"):
            assert seen.page.get_by_role(role).count() == 1, (name, role)
        for table in seen.page.get_by_role("table").all():
            assert table.get_by_role("columnheader").count() > 0, name
            assert table.get_by_role("rowheader").count() > 0, name
        seen.page.close()


_FOLDED = (
    "[...document.querySelectorAll('details:not(.numbers) > :not(summary)')].filter(e => !e.checkVisibility()).length"
)


def test_pages_print(browser: Any, pages: dict[str, Path]) -> None:
    """On white paper, also if the reader prefers dark colors; nothing is folded, and nothing is cut off."""
    for name in ("score-lesions", "invalid", "not-ready", "leaderboard-challenge"):
        seen = _Seen(browser, pages[name], color_scheme="dark", viewport={"width": 700, "height": 1000})
        assert seen.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
        seen.page.emulate_media(media="print", color_scheme="dark")
        assert seen.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert seen.evaluate(_FOLDED) == 0, name
        assert seen.evaluate(_CONTRAST) == [], name
        assert seen.evaluate(_OVERFLOW) <= 0, name
        assert seen.page.pdf(format="A4")[:5] == b"%PDF-"
        seen.page.close()


def test_a_large_report_opens_quickly(browser: Any, tmp_path: Path) -> None:
    """10,000 problems with different values."""
    file = tmp_path / "truth.csv"
    file.write_text("image_id,label\n" + "".join(f"i{n},x{n}\n" for n in range(10_000)))
    page = tmp_path / "page.html"
    report = medcontract.validate_files([f"lesions/truth={file}"])
    page.write_text(report.to_html(show_values=True), encoding="utf-8")
    started = time.monotonic()
    seen = _Seen(browser, page, viewport=_TALLER_THAN_WIDE)
    assert seen.evaluate(_OVERFLOW) <= 0
    assert time.monotonic() - started < 10  # about 0.1 s
    seen.page.close()
