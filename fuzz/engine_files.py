"""Random truths and submissions of all tracks, in every container, with many kinds of faults."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.challenge_files import STROKE
from tests.scoring_files import (
    CLASSES,
    COLUMNS,
    HEADERS,
    LIST_KEYS,
    Record,
    answer,
    case,
    drug,
    evidence,
    guess,
    image,
    lab,
    labs,
    listed,
    model,
    no_answer,
    pipeline_run,
    read,
    reference,
    repeats,
    report,
    response,
    rx,
    telemetry,
)

TOY = str(Path(__file__).resolve().parent.parent / "tests" / "toy_track.py")
TEXTS = (
    "é", "Ünïcödé ñ", "日本語のテキスト", "\U0001f600" * 3, "a\u2028b", 'say "aye", he said', "one\ntwo\n\nthree",
    "one\r\ntwo\rthree", '}, {"image_id": "I-1"', '"}\n{"', "\u0085\x0b\x0c", "x" * 3000, "\\", "a,b;c\td", "'", "",
)  # fmt: skip
"""Values of text fields that may confuse whoever looks for the border of a record."""
_ANY: tuple[Any, ...] = (*TEXTS[:6], None, True, -1, 2.5, 10**30, [], {}, ["x"], {"a": [1, {"b": "}"}]})
_LISTS = {
    **{name: (key, HEADERS[name]) for name, key in LIST_KEYS.items()},
    "stroke/truth": ("truth", {}),
    "stroke/predictions": ("predictions", {"team_name": "Kranich"}),
    "toy/truth": ("truth", {}),
    "toy/answers": ("answers", {"team_name": "Kranich"}),
}
"""The key of the list of each collection, and its header."""
_COLUMNS: dict[str, list[str]] = {
    **COLUMNS,
    "stroke/truth": ["case_id", "label"],
    "stroke/predictions": ["case_id", "label", "probability", "error"],
}
_CHALLENGE = "".join(line for line in STROKE.splitlines(keepends=True) if not line.startswith("findings"))
"""Without sets, so that its files may be tables."""


class Collection(NamedTuple):
    """The records of one contract."""

    contract: str
    key: str
    """The field that identifies a record."""
    records: list[Record]

    @property
    def is_flat(self) -> bool:
        return self.contract in _COLUMNS


class Material(NamedTuple):
    """The files of a score, before anything happens to them."""

    truth: list[Collection]
    sent: list[Collection]
    documents: Mapping[str, Record] = {}
    """Auxiliary files of the submission, by name."""
    options: tuple[str, ...] = ()
    """What every command needs."""
    files: Mapping[str, str] = {}
    """Other files, such as that of a challenge."""


def _lesions(rng: random.Random, count: int) -> Material:
    truth = [image(f"I-{n}", rng.choice(CLASSES)) for n in range(count)]
    sent = [guess(each["image_id"], rng.choice((each["label"], "NV"))) for each in truth]
    documents = {"model.json": model()} if rng.random() < 0.5 else {}
    return Material(
        [Collection("lesions/truth", "image_id", truth)], [Collection("lesions/predictions", "image_id", sent)],
        documents,
    )  # fmt: skip


def _reports(rng: random.Random, count: int) -> Material:
    truth = [
        report(f"R-{n}", rng.choice(("Other", "Oncology")), follow_up=rng.random() < 0.5)
        for n in range(count)
    ]  # fmt: skip
    runs: Sequence[str | None] = rng.choice(((None,), ("1",), ("1", "2")))
    sent = [answer(each, rng.choice((0.5, 1.25)), run) for run in runs for each in truth]
    documents = {"telemetry.json": telemetry()} if rng.random() < 0.5 else {}
    return Material(
        [Collection("reports/truth", "report_id", truth)], [Collection("reports/predictions", "report_id", sent)],
        documents,
    )  # fmt: skip


def _triage(rng: random.Random, count: int) -> Material:
    truth: list[Record] = []
    for number in range(count // 2):
        first, second = f"S-{2 * number}", f"S-{2 * number + 1}"
        truth += case(f"C-{number}", (first, 0, 30, [("airway", 50.0)]), (second, 30, 60, [("bleeding", 90.0)]))
    sent = [
        response(each, *rng.choice(((), ("airway",), ("bleeding", "airway"))), cumulative_runtime_sec=float(n),
                 message_sent_time=2.0 * n, message_received_time=2.0 * n + 1)
        for n, each in enumerate(truth)
    ]  # fmt: skip
    return Material(
        [Collection("triage/ground-truth", "segment_id", truth)], [Collection("triage/response", "segment_id", sent)]
    )


def _extraction(rng: random.Random, count: int) -> Material:
    prescriptions = [
        rx(f"P-{n}", drug(rng.choice(("Losartán", "Insulina")), "50 mg"), drug("Ácido fólico", f"{n} mg", "cada 8 h"))
        for n in range(count)
    ]  # fmt: skip
    tests = [labs(f"L-{n}", lab("Glucosa", f"{90 + n}", "mg/dL", "70-110")) for n in range(count // 3)]
    truth = [Collection("extraction/prescription-labels", "doc_id", prescriptions)]
    sent = [Collection("extraction/prescription-predictions", "doc_id", list(map(read, prescriptions)))]
    if rng.random() < 0.5:
        truth.append(Collection("extraction/lab-labels", "doc_id", tests))
        sent.append(Collection("extraction/lab-predictions", "doc_id", list(map(read, tests))))
    if rng.random() < 0.3:
        known = [listed(each["doc_id"], each["doc_type"]) for each in (*prescriptions, *tests)]
        truth.append(Collection("extraction/manifest", "doc_id", known))
    if rng.random() < 0.3:
        sent.append(Collection("extraction/runs", "run_id", [pipeline_run(n) for n in range(20)]))
    documents = {"evidence.json": evidence(3, ("P-1", "typo"))} if rng.random() < 0.3 else {}
    return Material(truth, sent, documents)


def _benchmark(rng: random.Random, count: int) -> Material:
    truth = [
        reference(f"B-{n}", rng.choice(("qa", "notes")), answer="Asthma with dyspnea", diagnosis="asthma",
                  rationale="First, based on spirometry: wheezing. Therefore asthma.")
        for n in range(count)
    ]  # fmt: skip
    sent = [repeats(each) for each in truth]
    for each in sent[:: rng.choice((1, 3))]:
        each["prediction"] = {**each["prediction"], "answer": rng.choice(("gout", "Asthma", "dyspnea"))}
    return Material(
        [Collection("benchmark/references", "sample_id", truth)],
        [Collection("benchmark/predictions", "sample_id", sent)],
    )


def _stroke(rng: random.Random, count: int) -> Material:
    """A challenge that is defined by a file."""
    labels = ("ischemic", "hemorrhagic", "none")
    truth = [{"case_id": f"C-{n}", "label": rng.choice(labels)} for n in range(count)]
    sent = [
        {"case_id": each["case_id"], "label": rng.choice(labels), "probability": round(rng.random(), 3)}
        for each in truth
    ]
    return Material(
        [Collection("stroke/truth", "case_id", truth)], [Collection("stroke/predictions", "case_id", sent)],
        options=("--challenge", "challenge.toml"), files={"challenge.toml": _CHALLENGE},
    )  # fmt: skip


def _toy(rng: random.Random, count: int) -> Material:
    """A track that is defined by a plugin."""
    truth = [{"item": f"W-{n}", "word": rng.choice(("heron", "crane", "żuraw"))} for n in range(count)]
    sent = [{"item": each["item"], "said": rng.choice((each["word"], "heron"))} for each in truth]
    return Material(
        [Collection("toy/truth", "item", truth)], [Collection("toy/answers", "item", sent)], options=("--plugin", TOY)
    )


TRACKS: dict[str, Callable[[random.Random, int], Material]] = {
    "reports": _reports, "extraction": _extraction, "triage": _triage, "benchmark": _benchmark, "lesions": _lesions,
    "challenge": _stroke, "plugin": _toy,
}  # fmt: skip


# --- faults of records ---------------------------------------------------------------------------


def spoil(rng: random.Random, collection: Collection, times: int) -> Collection:
    """The collection with faults in random places."""
    records, key = [dict(each) for each in collection.records], collection.key
    for _ in range(times):
        if len(records) < 3:
            break
        rng.choice(_FAULTS)(rng, records, key)
    return collection._replace(records=records)


def _missing(rng: random.Random, records: list[Record], key: str) -> None:
    del records[rng.randrange(len(records))]


def _many_missing(rng: random.Random, records: list[Record], key: str) -> None:
    start = rng.randrange(len(records))
    del records[start : start + len(records) // 4]


def _repeated(rng: random.Random, records: list[Record], key: str) -> None:
    records.insert(rng.randrange(len(records)), dict(rng.choice(records)))


def _repeated_id(rng: random.Random, records: list[Record], key: str) -> None:
    """A record with the id of another one; either of them may be invalid."""
    one, two = rng.choice(records), rng.choice(records)
    one[key] = two.get(key)
    if rng.random() < 0.3:
        _invalid_value(rng, [rng.choice((one, two))], key)


def _unknown(rng: random.Random, records: list[Record], key: str) -> None:
    rng.choice(records)[key] = rng.choice(("elsewhere", "other", *TEXTS[:5]))


def _invalid_value(rng: random.Random, records: list[Record], key: str) -> None:
    record = rng.choice(records)
    name = rng.choice([*(name for name in record if name != key or rng.random() < 0.2), key])
    record[name] = rng.choice(_ANY)


def _many_invalid(rng: random.Random, records: list[Record], key: str) -> None:
    """The same mistake very often, or many different ones."""
    wrong = rng.choice(_ANY)
    for record in rng.sample(records, len(records) // 2):
        name = next((name for name in record if name != key), key)
        record[name] = wrong if rng.random() < 0.7 else rng.choice(_ANY)


def _without_key(rng: random.Random, records: list[Record], key: str) -> None:
    record = rng.choice(records)
    record.pop(rng.choice([*record, key]), None)


def _unknown_key(rng: random.Random, records: list[Record], key: str) -> None:
    rng.choice(records)[rng.choice(("x", "Image_ID", "é", "notes"))] = rng.choice(_ANY)


def _swapped(rng: random.Random, records: list[Record], key: str) -> None:
    one, two = rng.randrange(len(records)), rng.randrange(len(records))
    records[one], records[two] = records[two], records[one]


def _shuffled(rng: random.Random, records: list[Record], key: str) -> None:
    rng.shuffle(records)


def _text(rng: random.Random, records: list[Record], key: str) -> None:
    """A record that failed, with a message that is hard to split; in tracks without such messages, a wrong value."""
    place = rng.randrange(len(records))
    records[place] = {**records[place], "error": rng.choice(TEXTS)}


def _failed(rng: random.Random, records: list[Record], key: str) -> None:
    place = rng.randrange(len(records))
    records[place] = {key: records[place].get(key), "error": rng.choice(("time out", *TEXTS))}
    if key == "report_id":
        records[place] = no_answer(str(records[place][key]))


def _huge(rng: random.Random, records: list[Record], key: str) -> None:
    """A record that is longer than several chunks."""
    record = rng.choice(records)
    name = rng.choice((*record, key))
    record[name] = rng.choice(("é", "x\n", '"', "ab")) * 4000


_FAULTS = (
    _missing, _many_missing, _repeated, _repeated, _repeated_id, _repeated_id, _unknown, _invalid_value,
    _invalid_value, _many_invalid, _without_key, _unknown_key, _swapped, _shuffled, _text, _text, _failed, _huge,
)  # fmt: skip


# --- containers and their faults -----------------------------------------------------------------

CONTAINERS = ("json", "jsonl", "csv", "parquet", "json.gz", "jsonl.gz", "csv.gz")


def containers_of(collection: Collection) -> tuple[str, ...]:
    tables = ("csv", "parquet", "csv.gz")
    return tuple(each for each in CONTAINERS if collection.is_flat or each not in tables)


def header_of(collection: Collection) -> Mapping[str, str]:
    return _LISTS[collection.contract][1]


def content(rng: random.Random, collection: Collection, container: str) -> bytes:
    """The bytes of a file, with line endings and layout at random, damaged now and then."""
    kind, _, packed = container.partition(".")
    if kind == "parquet":
        return _parquet(rng, collection)
    data = {"json": _json, "jsonl": _jsonl, "csv": _csv}[kind](rng, collection)
    for _ in range(rng.choice((0, 0, 0, 0, 0, 0, 0, 1, 1, 2))):
        data = damaged(rng, data)
    if not packed:
        return data
    data = gzip.compress(data, 1, mtime=0)
    return data[: rng.randrange(len(data))] if rng.random() < 0.05 else data


def _json(rng: random.Random, collection: Collection) -> bytes:
    key, header = _LISTS[collection.contract]
    after = {name: value for name, value in header.items() if rng.random() < 0.3}
    before = {name: value for name, value in header.items() if name not in after}
    if rng.random() < 0.05:
        after[rng.choice(("notes", key))] = rng.choice(_ANY)
    value = {**before, key: collection.records, **after}
    layout: dict[str, Any] = rng.choice(({}, {}, {"indent": 1}, {"separators": (",", ":")}, {"indent": "\t"}))
    return json.dumps(value, ensure_ascii=rng.random() < 0.5, **layout).encode()


def _jsonl(rng: random.Random, collection: Collection) -> bytes:
    ascii_only = rng.random() < 0.5
    lines = [json.dumps(record, ensure_ascii=ascii_only).encode() for record in collection.records]
    end = rng.choice((b"\n", b"\n", b"\r\n", b"\n\n", b"\r"))
    return end.join(lines) + rng.choice((b"", end, end + b" \n"))


def _csv(rng: random.Random, collection: Collection) -> bytes:
    text = io.StringIO(newline="")
    end = rng.choice(("\r\n", "\n", "\n", "\r"))
    quoting: Any = csv.QUOTE_ALL if rng.random() < 0.2 else csv.QUOTE_MINIMAL
    writer = csv.DictWriter(
        text, columns(rng, collection), restval="", lineterminator=end, quoting=quoting, extrasaction="ignore"
    )
    writer.writeheader()
    writer.writerows(map(_row, collection.records))
    data = text.getvalue().encode("utf-8", "surrogatepass")
    return data.removesuffix(end.encode()) if rng.random() < 0.3 else data


def columns(rng: random.Random, collection: Collection) -> list[str]:
    names = list(_COLUMNS[collection.contract])
    if rng.random() < 0.2:
        rng.shuffle(names)
    if rng.random() < 0.1:
        names.append("x")
    if rng.random() < 0.05:
        names.remove(rng.choice(names))
    return names


def _row(record: Record) -> dict[str, str]:
    cells: dict[str, str] = {}
    for name, value in record.items():
        if name == "probabilities":
            parts = value if isinstance(value, list) and value else [value] * 10
            cells |= {symbol: _cell(part) for symbol, part in zip(CLASSES, parts, strict=False)}
        else:
            cells[name] = _cell(value)
    return cells


def _cell(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value)


def _parquet(rng: random.Random, collection: Collection) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [_row(record) for record in collection.records]
    names = columns(rng, collection)
    table = pa.table({name: pa.array([row.get(name) or None for row in rows], pa.string()) for name in names})
    stream = io.BytesIO()
    pq.write_table(table, stream, row_group_size=rng.choice((3, 7, 20, 1000)), compression=rng.choice(("NONE", "ZSTD")))
    data = stream.getvalue()
    return data[: rng.randrange(len(data))] if rng.random() < 0.05 else data


_PIECES = (
    b'"', b"}", b"]", b"\n", b"\r", b"\r\n", b",", b"\xff", b"\xc3", b"\0", b"\n\n \n", b'{"a"', b"//", b"NaN",
    b"1e999", b'"\\ud800"', b"}{", b"},{},{", b'""', b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"{}\n", b"\n{\n",
)  # fmt: skip


def damaged(rng: random.Random, data: bytes) -> bytes:
    """The bytes of a file after an accident."""
    if not data:
        return data
    how, place = rng.randrange(9), rng.randrange(len(data))
    if how == 0:
        return data[:place]
    if how == 1:
        return data[:place] + data[place + rng.choice((1, 1, 50)) :]
    if how == 2:
        return b"\xef\xbb\xbf" + data
    if how == 3:
        return data[: place // 2] + data
    if how == 4:
        return data + rng.choice((b"x", b"\n{", b"]", b"\n\n\n", b" \t", data[-place:]))
    if how == 5:
        return data.replace(rng.choice((b"_id", b"label", b'"item"')), b"Id", rng.choice((1, -1)))
    if how == 6:
        return data.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n")))
    return data[:place] + rng.choice(_PIECES) * rng.choice((1, 1, 3)) + data[place:]
