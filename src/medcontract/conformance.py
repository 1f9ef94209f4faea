"""Runs the conformance suite against the command of another implementation, and answers as such a command does.

The protocol is JSON Lines over standard streams: a request per line, an answer per line, in any order.
`conformance/README.md` describes the cases, and `docs/another-language.md` the protocol.
"""

from __future__ import annotations

import base64
import json
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

from medcontract import api
from medcontract.errors import CallError, MedcontractError, option, words

Case = dict[str, Any]
LEVELS = {
    "syntax": ("code", "line", "column"),
    "schema": ("code", "record", "pointer", "line", "column"),
    "rules": ("code", "record", "pointer", "line", "column"),
    "tables": ("code", "record", "pointer", "line", "column", "field"),
    "files": ("file", "code", "record", "pointer"),
    "normalize": (),
    "score": (),
}
"""The levels, and what is compared of each problem."""
_FOLDER = "conformance"
_FEW = 8
_SENT = ("id", "level", "contract", "container", "text", "challenge")


class Deviation(NamedTuple):
    """A case with another answer."""

    level: str
    case: str
    expected: str
    answer: str


class Agreement(NamedTuple):
    """How many cases of each level have the expected answer."""

    cases: dict[str, int]
    skipped: dict[str, int]
    differences: tuple[Deviation, ...]

    def __bool__(self) -> bool:
        return not self.differences


def suite_folder(given: str | None = None) -> Path:
    """Return the folder of the suite: the given one, `conformance` here, or in the source. Raises `CallError`."""
    here, source = Path(_FOLDER), Path(__file__).parents[2] / _FOLDER
    found = next(
        (path for path in ([Path(given)] if given else [here, source]) if (path / "version.json").is_file()), None
    )
    if found is None:
        raise CallError(
            f"there is no conformance suite in {given or _FOLDER}",
            words("download it with a release, and pass its folder with ", option("--suite", "DIR")),
        )
    return found


def cases(folder: Path, levels: Iterable[str] = LEVELS) -> Iterator[Case]:
    """Read the cases of the suite that are not withdrawn."""
    withdrawn = {each["id"] for each in json.loads((folder / "version.json").read_bytes())["withdrawn"]}
    for level in levels:
        for line in (folder / f"{level}.jsonl").read_bytes().splitlines():
            case = json.loads(line)
            if case["id"] not in withdrawn:
                yield case


def request(case: Case, folder: Path) -> Case:
    """Return what the command is asked about a case."""

    def content(file: Mapping[str, Any]) -> Case:
        data = (folder / file["input"]).read_bytes() if "input" in file else file["text"].encode()
        return {"bytes": base64.b64encode(data).decode()}

    asked = {key: case[key] for key in _SENT if key in case}
    if "files" in case:
        keys = ("name", "contract", "container")
        return asked | {"files": [{key: file[key] for key in keys} | content(file) for file in case["files"]]}
    return asked | content(case) if "input" in case else asked


def run(command: Sequence[str], folder: Path, levels: Iterable[str], *, verdicts: bool = False) -> Agreement:
    """Ask the command about all cases of these levels. Raises `CallError` if it cannot be started.

    `verdicts` compares only `ok`.
    """
    asked = {case["id"]: case for case in cases(folder, levels)}
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603  # the caller's
    except OSError as error:
        raise CallError(f"cannot start {command[0]}: {(error.strerror or str(error)).lower()}") from None
    requests = [request(case, folder) for case in asked.values()]
    asking = Thread(target=_ask, args=(process.stdin, requests), daemon=True)
    asking.start()
    answers: dict[str, Any] = {}
    try:
        for line in process.stdout or ():
            answer = json.loads(line)
            answers[answer["id"]] = answer
    except (ValueError, TypeError, KeyError):
        raise CallError(
            f"{command[0]} wrote a line that is not an answer", "write a JSON object with an id per line"
        ) from None
    finally:
        process.kill()
        process.wait()
        asking.join()
        if process.stdout:
            process.stdout.close()
    counts, skipped = dict.fromkeys(levels, 0), dict.fromkeys(levels, 0)
    differences = []
    for case in asked.values():
        level, answer = case["level"], answers.get(case["id"])
        counts[level] += 1
        if answer and "skipped" in answer:
            skipped[level] += 1
            continue
        expected = compared(level, case["expect"], verdicts=verdicts)
        given = None if answer is None else compared(level, answer, verdicts=verdicts)
        if answer is None or given != expected:
            shown = "no answer" if answer is None else _shown(given, expected)
            differences.append(Deviation(level, case["id"], _shown(expected, given), shown))
    return Agreement(counts, skipped, tuple(differences))


def _ask(stream: Any, requests: list[Case]) -> None:
    try:
        with stream:
            for each in requests:
                stream.write(json.dumps(each).encode() + b"\n")
                stream.flush()
    except OSError:
        pass  # the command has ended: its answers are missing


def compared(level: str, answer: Mapping[str, Any], *, verdicts: bool = False) -> Any:
    """Return the part of an answer that counts at a level; with `verdicts`, `ok` where the level has it."""
    if level == "normalize":
        return {key: answer.get(key) for key in ("normalized", "tight", "folded")}
    if level == "score":
        return {key: answer.get(key) for key in ("valid", "processing", "result")}
    if verdicts:
        return answer.get("ok")
    problems = [[problem.get(key) for key in LEVELS[level]] for problem in answer.get("problems", ())]
    return answer.get("ok"), sorted(problems, key=str) if level in ("files", "tables") else problems


def _shown(value: Any, other: Any) -> str:
    """Return an answer as text; of long lists of problems, only problems that the other answer does not have."""
    if isinstance(value, tuple) and isinstance(other, tuple) and len(value[1]) + len(other[1]) > _FEW:
        ok, problems = value
        only_here = [problem for problem in problems if problem not in other[1]]
        if only_here or any(problem not in problems for problem in other[1]):
            value = ok, only_here
    return json.dumps(value, ensure_ascii=False)


def answers(requests: Iterable[bytes]) -> Iterator[str]:
    """Answer requests as medcontract does. Raises `CallError` for a line that is not a request."""
    for line in requests:
        try:
            asked = json.loads(line)
            answer = _ANSWERS.get(asked["level"], _skipped)(asked)
        except (ValueError, TypeError, KeyError, MedcontractError) as error:
            raise CallError(f"not a request: {type(error).__name__}: {error}") from None
        yield json.dumps({"id": asked["id"], **answer}, ensure_ascii=False)


def _file(asked: Case) -> Case:
    data = base64.b64decode(asked["bytes"])
    report = api.validate(data, asked["contract"], name=f"file.{asked['container']}").to_dict(show_values=True)
    return {key: report["files"][0][key] for key in ("ok", "problems")}


def _files(asked: Case) -> Case:
    with tempfile.TemporaryDirectory() as folder:
        found = api.preflight(*_written(asked, Path(folder))).to_dict(show_values=True)
    problems = [problem for check in found["checks"] for problem in check["problems"]]
    between = [problem for problem in problems if problem["code"].startswith("MC3")]
    return {"ok": all(problem["severity"] != "error" for problem in between), "problems": between}


def _score(asked: Case) -> Case:
    from medcontract.challenge import Challenge

    with tempfile.TemporaryDirectory() as folder:
        files = _written(asked, Path(folder))
        challenge = asked.get("challenge")
        found = (Challenge.load(challenge.encode()).score(*files) if challenge else api.score(*files)).to_dict()
    return {key: found[key] for key in ("valid", "processing", "result")}


def _written(asked: Case, folder: Path) -> list[str]:
    for file in asked["files"]:
        (folder / file["name"]).write_bytes(base64.b64decode(file["bytes"]))
    return [f"{file['contract']}={folder / file['name']}" for file in asked["files"]]


def _normalize(asked: Case) -> Case:
    from medcontract.normalizers.folding import fold

    found = api.normalize(asked["text"]).texts[0]
    return {"normalized": found.normalized, "tight": found.tight, "folded": fold(asked["text"])}


def _skipped(asked: Case) -> Case:
    return {"skipped": f"unknown level {asked['level']}"}


_ANSWERS = {
    **dict.fromkeys(("syntax", "schema", "rules", "tables"), _file),
    "files": _files, "score": _score, "normalize": _normalize,
}  # fmt: skip
