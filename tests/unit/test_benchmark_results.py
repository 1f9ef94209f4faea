"""Benchmarks: how commands are measured, and what the kept results become."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from benchmarks import projection, results, run, tables
from benchmarks.measure import Command, Measured, Sample, measure, run_once
from benchmarks.results import Environment, Result, Results, Run
from benchmarks.rows import BY_ID, ROWS, Row
from tests.support import ROOT

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def python(code: str, *arguments: str) -> Command:
    return Command("test", (sys.executable, "-c", code, *arguments))


class TestMeasuring:
    def test_a_command(self) -> None:
        """Exit code, the end of standard error, CPU time, and a hash of the output if it is observed."""
        code = "import sys; print(sum(range(10**6))); print('oh', file=sys.stderr); sys.exit(3)"
        one, two = run_once(python(code), observe=True), run_once(python(code))
        assert (one.exit_code, one.error) == (two.exit_code, two.error) == (3, "oh")
        assert len(one.digest) == 64
        assert (two.digest, two.peak_mb) == ("", None)
        assert run_once(python("print('on stdout'); raise SystemExit(1)"), observe=True).error == "on stdout"
        assert 0 < one.cpu_seconds < 60
        assert 0 < two.seconds < 60

    @only_linux
    def test_memory_of_all_processes(self) -> None:
        """The sum of a process and its child, not the larger one."""
        hold = "b = bytearray(b'x') * 60_000_000; "
        child = f"import time; {hold} time.sleep(1)"
        parent = f"import subprocess, sys; {hold} subprocess.run([sys.executable, '-c', {child!r}])"
        peak = run_once(python(parent), observe=True).peak_mb
        assert peak is not None
        assert 120 < peak < 200

    @only_linux
    def test_work_of_a_cluster_counts(self) -> None:
        """The CPU time and the memory of a process that is not a child of the command."""
        command = Command("dask", (sys.executable, "-c", "import time; time.sleep(0.1)"))
        alone, together = run_once(command, observe=True), run_once(command, cluster=os.getpid(), observe=True)
        assert alone.peak_mb and together.peak_mb and together.peak_mb > alone.peak_mb + 5  # noqa: PT018

    def test_a_command_that_hangs(self) -> None:
        sample = run_once(python("import time; time.sleep(60)"), timeout=0.2)
        assert sample.exit_code != 0
        assert sample.error.startswith("killed after 0 s")

    def test_rounds(self, tmp_path: Path) -> None:
        """Interleaved, after a warm-up. What fails is not repeated, what is slow or has a maximum is repeated less."""
        log = tmp_path / "log"
        code = "import sys; open(sys.argv[1], 'a').write(sys.argv[2]); sys.exit(int(sys.argv[3]))"
        a, b = (Command(name, (sys.executable, "-c", code, str(log), name, "0")) for name in "ab")
        failing = Command("f", (sys.executable, "-c", code, str(log), "f", "1"))
        slow = Command("s", (sys.executable, "-c", code, str(log), "s", "0"), patience=0)
        most = Command("m", (sys.executable, "-c", code, str(log), "m", "0"), most=1)
        seen: list[tuple[int, str]] = []
        found = measure(
            [a, failing, slow, b, most], 2, progress=lambda number, command: seen.append((number, command.label))
        )
        assert log.read_text() == "afsbm" + "abm" + "ab"
        assert "".join(label for _, label in seen) == "afsbm" + "abm" + "ab"
        assert [len(each.samples) for each in found] == [2, 0, 0, 2, 1]
        assert [each.failure() is None for each in found] == [True, False, True, True, True]

    def test_medians(self) -> None:
        samples = [Sample(seconds, 10 * seconds, 0) for seconds in (3.0, 1.0, 8.0)]
        many, once = Measured(python(""), Sample(50, 60, 0), samples), Measured(python(""), Sample(50, 60, 0), [])
        assert (many.seconds(), many.cpu_seconds(), many.spread()) == (3, 30, (1, 8))
        assert (once.seconds(), once.cpu_seconds(), once.spread()) == (50, 60, (50, 50))


WHERE = Environment("CPython 3.11.7", "Linux x86_64", 2, {"medcontract": "0.1.0"})


def result(row_id: str = "score-lesions", where: Environment = WHERE, **runs: Run) -> Result:
    """A hundred thousand records, with seconds that are easy to divide."""
    seconds = {"baseline": 0.5, "one": 2.0, "two": 1.2, "default": 1.25, "dask": 1.5, "instead": 3.0}
    memory = {"baseline": 10.0, "one": 120.0, "two": 200.0, "default": 200.0, "dask": 400.0, "instead": 600.0}
    found = {
        label: Run(value, value - 0.1, value + 0.1, cpu_seconds=value * 2, repeats=5, peak_mb=memory[label])
        for label, value in seconds.items()
    }
    return Result(
        id=row_id, records=100_000, files=1, megabytes=15.0, truth_megabytes=5.0, runs={**found, **runs},
        same_output=True, cluster_seconds=2.5, cluster_mb=150.0, environment=where,
    )  # fmt: skip


def line(text: str, start: str) -> list[str]:
    """The cells of the first line of a table that starts like this."""
    (found, *_) = [each for each in text.splitlines() if each.startswith(f"| {start}")]
    return [cell.strip() for cell in found.strip("|").split("|")]


class TestTables:
    def test_ratios_and_bounds(self) -> None:
        page = tables.results_page(Results((result(),)))
        ratios = ["4.00", "2.40", "2.50", "3.00", "6.00 (orjson, pandas, scikit-learn)"]
        assert line(page, "`score`") == ["`score`, 100,000 lesions", "0.50 s", *ratios]
        assert "All bounds are met." in page
        assert "2.00 (1.90 to 2.10)" in page
        cpu = ["1.00", "4.00", "2.40", "2.50", "3.00", "6.00"]
        assert line(page.partition("## CPU")[2], "`score`")[1:] == cpu
        assert line(page.partition("## Peak")[2], "`score`")[1:] == ["350", "10.0", "120", "200", "200", "400", "600"]
        speeds = ["15.0", "50,000", "83,333", "80,000", "66,667", "33,333"]
        assert line(page.partition("## Records")[2], "`score`")[1:] == speeds
        assert "starting it takes 2.5 s and 150 MB of memory" in page
        assert "2 CPUs; medcontract 0.1.0; medians of 5 interleaved runs" in page

    def test_what_is_missed_is_listed(self) -> None:
        """Relative to one process, the memory, and a file as people send it relative to the clean one."""
        slow = Run(2.2, 2.2, 2.2, 4.0, 5, peak_mb=351)
        page = tables.results_page(Results((result(two=slow, default=slow), result("score-lesions-as-sent"))))
        work = "- `score`, 100,000 lesions"
        longer = "1.10 times as long as one process, above the bound of 1.05\n"
        assert f"{work}, two processes: {longer}" in page
        assert f"{work}, two processes: 351 MB, above the bound of 350 MB\n" in page
        assert f"{work}, default: {longer}" in page
        assert f"{work}, as sent (.jsonl): 4.00 times as long as the clean file, above the bound of 1.3\n" in page
        assert "All bounds are met." not in page

    def test_failures_and_single_runs(self) -> None:
        failed = Run(9, 9, 9, 9, 0, exit_code=2)
        page = tables.results_page(Results((result(dask=failed, instead=Run(70, 70, 70, 70, repeats=0)),)))
        assert "- `score`, 100,000 lesions, Dask, 2 workers: **failed with exit code 2**\n" in page
        assert "All bounds are met." not in page
        assert line(page, "`score`")[-2:] == ["exit code 2", "140 (orjson, pandas, scikit-learn)"]
        assert "70.00 (70.00 to 70.00, one run)" in page
        page = tables.results_page(Results((result(instead=Run(70, 70, 70, 70, repeats=3)),)))
        assert "70.00 (70.00 to 70.00, 3 runs)" in page
        page = tables.results_page(Results((result(baseline=failed),)))
        assert line(page, "`score`")[1:3] == ["exit code 2", "–"]

    def test_output_that_differs(self) -> None:
        odd = Result(**{name: getattr(result(), name) for name in Result.__struct_fields__} | {"same_output": False})
        assert "**the output differs between the columns**" in tables.results_page(Results((odd,)))

    def test_rows_of_different_machines(self) -> None:
        other = Environment("CPython 3.14.0", "Linux aarch64", 64, {})
        page = tables.results_page(Results((result(), result("validate-csv", other))))
        assert "- `score`, 100,000 lesions: CPython 3.11.7" in page
        assert "- `validate`, 100,000 rows of CSV: CPython 3.14.0" in page

    def test_a_busy_machine(self) -> None:
        """One process had 1 s of CPU time in 4 s."""
        busy = result(one=Run(4, 4, 4, cpu_seconds=1, repeats=5))
        said = "**The machine was busy**: one process got only 25% of a CPU."
        assert said in tables.results_page(Results((busy,)))
        assert said in tables.scale_blocks(Results((busy,)))["machine"]
        assert "was busy" not in tables.results_page(Results((result(),)))

    def test_nothing_measured(self) -> None:
        assert "Nothing was measured yet" in tables.results_page(Results())
        assert tables.scale_blocks(Results())["machine"] == "Not measured yet.\n"


class TestProjection:
    def test_a_million_records(self) -> None:
        """Ten times the hundred thousand that were measured; memory as measured."""
        cells = line(projection.cost(Results((result(),))), "`score`")
        assert cells[1:] == ["150", "20.0", "12.0", "15.0", "40.0", "30.0", "120", "200", "400"]

    def test_a_billion_records(self) -> None:
        """GB 20 MB · 10⁴; CPU hours 4 s · 10⁴ / 3600; 100 workers 1.5 s · 2 · 10⁴ / 3600 / 100; 20 MB in 3 s."""
        cells = line(projection.projection(Results((result(),))), "`score`")
        assert cells == ["`score`, lesions", "200", "11.1", "5.56", "3.33", "0.08", "6.67"]

    def test_the_truth(self) -> None:
        """100 MB more than at the start are 1000 bytes per record: 1000 GB for 10⁹."""
        small = result("validate-csv", one=Run(1, 1, 1, 1, 5, peak_mb=20))
        cells = line(projection.truth(Results((result(), small))), "lesions")
        assert cells == ["lesions", "1,000", "1,000"]

    def test_figures_replace_what_is_between_the_marks(self) -> None:
        text = "a\n<!-- figures: cost -->\nold\n<!-- end of figures -->\nb\n"
        expected = "a\n<!-- figures: cost -->\nnew\n<!-- end of figures -->\nb\n"
        assert tables.with_figures(text, {"cost": "new\n"}) == expected
        assert tables.with_figures(expected, {"cost": "new\n"}) == expected


class TestKept:
    def test_generated_files_are_up_to_date(self) -> None:
        """RESULTS.md and the figures of docs/scale.md follow from results.json; run `script/generate`."""
        kept = results.load()
        measured = {row.id for row in kept.rows}
        assert [row.id for row in kept.rows] == [row.id for row in ROWS if row.id in measured]
        assert measured >= {row.id for row in ROWS if not row.as_sent}
        assert (ROOT / "benchmarks" / tables.PAGE).read_text(encoding="utf-8") == tables.results_page(kept)
        page = tables.SCALE.read_text(encoding="utf-8")
        assert page == tables.with_figures(page, tables.scale_blocks(kept))
        assert {found[1] for found in tables._BLOCK.findall(page)} == set(tables.scale_blocks(kept))

    def test_a_row_replaces_the_older_one(self, tmp_path: Path) -> None:
        """In the order of the table; rows that no longer exist are dropped."""
        kept = Results((result("validate-csv"), result("score-lesions"), result("gone")))
        kept = kept.with_row(result("score-lesions", one=Run(7, 7, 7, 7, 5)), list(BY_ID))
        results.save(kept, tmp_path)
        loaded = results.load(tmp_path)
        assert loaded == kept
        assert [(row.id, row.runs["one"].seconds) for row in loaded.rows] == [("score-lesions", 7), ("validate-csv", 2)]
        assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


class TestRun:
    def test_missing_data(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        given = [
            "run",
            "--data",
            str(tmp_path / "data"),
            "--out",
            str(tmp_path),
            "--rows",
            "leaderboard",
            "validate-csv",
        ]
        monkeypatch.setattr(sys, "argv", given)
        with pytest.raises(SystemExit) as stopped:
            run.main()
        assert stopped.value.code == 2
        said = "does not have all files: leaderboard_100, lesions_100k.csv; --generate writes them"
        assert said in capsys.readouterr().err

    def test_missing_data_is_written(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """Only what is missing, once, before anything is measured."""
        (tmp_path / "lesions_100k.csv").write_text("")
        called: list[object] = []

        def measured(rows: list[Row], *_: object) -> int:
            called.append([row.id for row in rows])
            return 0

        monkeypatch.setattr("subprocess.run", lambda command, **_: called.append(command[2:]))
        monkeypatch.setattr(run, "run", measured)
        rows = ["validate-csv", "score-lesions", "validate-lesions"]
        monkeypatch.setattr(sys, "argv", ["run", "--data", str(tmp_path), "--generate", "--rows", *rows])
        assert run.main() == 0
        written = ("--out", str(tmp_path), "--only", "lesions_1m")
        assert called == [written, ["score-lesions", "validate-lesions", "validate-csv"]]

    def test_a_cluster_that_does_not_start(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "lesions_100k.csv").write_text("")
        monkeypatch.setattr(sys, "executable", "/bin/true")
        arguments = ["run", "--data", str(tmp_path), "--out", str(tmp_path), "--rows", "validate-csv"]
        monkeypatch.setattr(sys, "argv", arguments)
        assert run.main() == 1
        assert capsys.readouterr().err.endswith("script/benchmark: the Dask cluster cannot be started\n")

    def test_damaged_results(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "results.json").write_text('{"rows": 1}')
        (tmp_path / "lesions_100k.csv").write_text("")
        arguments = ["run", "--data", str(tmp_path), "--out", str(tmp_path), "--rows", "validate-csv"]
        monkeypatch.setattr(sys, "argv", arguments)
        assert run.main() == 1
        assert "results.json: Expected `array`, got `int`" in capsys.readouterr().err
        assert (tmp_path / "results.json").read_text() == '{"rows": 1}'

    def test_finished_rows_survive_an_interruption(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def measure_row(row: Row, *_: object) -> tuple[Result, list[Measured]]:
            if row.id == "score-answers":
                raise KeyboardInterrupt
            return result(row.id), []

        monkeypatch.setattr(run, "measure_row", measure_row)
        rows = [BY_ID[name] for name in ("score-lesions", "score-triage", "score-answers", "validate-csv")]
        assert run.run(rows, tmp_path, 5, tmp_path) == 130
        assert [row.id for row in results.load(tmp_path).rows] == ["score-lesions", "score-triage"]
        assert "`score`, 100,000 lesions" in (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
        assert "continue with --rows score-answers validate-csv" in capsys.readouterr().err

    def test_other_output_is_a_failure(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        fields = {name: getattr(result(), name) for name in Result.__struct_fields__}
        monkeypatch.setattr(run, "measure_row", lambda *_: (Result(**fields | {"same_output": False}), []))
        assert run.run([BY_ID["score-lesions"]], tmp_path, 5, tmp_path) == 1
        assert "score-lesions: the output differs between engines" in capsys.readouterr().err
