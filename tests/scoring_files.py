"""Helpers for tests of scoring: records of all tracks, and files of them in any container."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import medcontract

Record = dict[str, Any]
CLASSES = ("AK", "BCC", "SK", "SCC", "VASC", "DF", "NV", "NON", "MEL", "ON")
LIST_KEYS = {
    "reports/truth": "reports",
    "reports/predictions": "predictions",
    "triage/ground-truth": "ground_truth",
    "triage/response": "responses",
    "lesions/truth": "labels",
    "lesions/predictions": "predictions",
    "extraction/prescription-labels": "documents",
    "extraction/prescription-predictions": "documents",
    "extraction/lab-labels": "documents",
    "extraction/lab-predictions": "documents",
    "extraction/manifest": "documents",
    "extraction/runs": "runs",
    "benchmark/references": "references",
    "benchmark/predictions": "predictions",
    "benchmark/samples": "samples",
}
HEADERS: dict[str, dict[str, str]] = {
    "reports/truth": {"event": "Herbst"},
    "reports/predictions": {"team_name": "Kranich", "event": "Herbst"},
    "triage/ground-truth": {"event": "Abendstern"},
    "triage/response": {"team_name": "Nordlicht", "event": "Abendstern", "evaluation_date": "2025-05-20"},
    "lesions/truth": {},
    "lesions/predictions": {"team_name": "Żuraw"},
    "extraction/prescription-labels": {},
    "extraction/prescription-predictions": {},
    "extraction/lab-labels": {},
    "extraction/lab-predictions": {},
    "extraction/manifest": {},
    "extraction/runs": {},
    "benchmark/references": {"event": "Examen"},
    "benchmark/predictions": {"model_id": "reiher-7b"},
    "benchmark/samples": {"model_id": "reiher-7b"},
}
COLUMNS = {
    "reports/truth": ["report_id", "specialty", "urgency", "follow_up"],
    "reports/predictions": [
        "report_id", "run_id", "specialty", "urgency", "follow_up", "processing_time_sec", "error",
    ],
    "lesions/truth": ["image_id", "label"],
    "lesions/predictions": ["image_id", *CLASSES, "error"],
    "extraction/manifest": ["doc_id", "doc_type", "image_path", "label_status", "pii_checked"],
    "triage/inventory": ["case_id", "segment_id"],
    "extraction/runs": [
        "run_id", "kind", "parse_success", "valid_items", "restarted", "code_version", "exception", "started_at",
    ],
}  # fmt: skip
"""The columns of flat contracts."""
GUID = "6d1f0c52-3b7e-4c19-a2d4-58e90b7c1f36"
OFF: dict[str, str] = {"min_processed": "0"}
"""Parameters for which figures are computed regardless of the gate."""


# --- records -------------------------------------------------------------------------------------


def report(report_id: str, specialty: str = "Other", urgency: str = "Routine", follow_up: bool = False) -> Record:
    """A record of `reports/truth`."""
    return {"report_id": report_id, "specialty": specialty, "urgency": urgency, "follow_up": follow_up}


def answer(true: Record, seconds: float = 0.5, run: str | None = None, **changes: Any) -> Record:
    """A record of `reports/predictions`, correct except for the changes."""
    record = {**true, "processing_time_sec": seconds, **changes}
    return record if run is None else {**record, "run_id": run}


def no_answer(report_id: str, run: str | None = None) -> Record:
    """A failed record of `reports/predictions`."""
    record = {"report_id": report_id, "error": "out of memory"}
    return record if run is None else {**record, "run_id": run}


def run(run_id: str = "1", memory: float = 256.0, cpu: float = 25.0, **more: Any) -> Record:
    """A run of `reports/telemetry`."""
    return {"run_id": run_id, "max_memory_mb": memory, "avg_cpu_percent": cpu, **more}


def telemetry(*runs: Record) -> Record:
    """A document of `reports/telemetry`."""
    return {"team_name": "Kranich", "evaluation_date": "2025-03-10", "runs": list(runs or (run(),))}


def lsi(group: str, elapsed: float) -> Record:
    """An intervention that was performed."""
    return {
        "lsi_group": group,
        "lsi_description": f"{group}, performed",
        "in_hospital": 0,
        "elapsed_from_start": elapsed,
    }


def case(case_id: str, *segments: tuple[str, float, float, Sequence[tuple[str, float]]]) -> list[Record]:
    """Records of `triage/ground-truth`: the segments of a case, (id, start, stop, instances), by start, then stop."""
    last = len(segments) - 1
    return [
        {
            "case_id": case_id,
            "segment_id": segment_id,
            "segment_start_time_sec": start,
            "segment_stop_time_sec": stop,
            "start_of_case": number == 0,
            "at_admission": False,
            "end_of_case": number == last,
            "gt_lsi_list": [lsi(group, elapsed) for group, elapsed in instances],
            "ehr_file_name": "ehr.csv",
            "vs_file_name": "vs.csv",
            "gt_file_name": "gt.json",
        }
        for number, (segment_id, start, stop, instances) in enumerate(segments)
    ]


def response(segment: Record, *groups: str, **changes: Any) -> Record:
    """A record of `triage/response` for a segment."""
    return {
        "message_sent_time": 1747735000.0,
        "message_received_time": 1747735001.0,
        "case_id": segment["case_id"],
        "segment_id": segment["segment_id"],
        "model_predictions": list(groups),
        "cumulative_runtime_sec": 1.0,
        "run_id": GUID,
        "end_of_case": segment["end_of_case"],
        **changes,
    }


def image(image_id: str, label: str) -> Record:
    """A record of `lesions/truth`."""
    return {"image_id": image_id, "label": label}


def sure(symbol: str) -> list[float]:
    """Probabilities with a clear maximum."""
    return [0.991 if name == symbol else 0.001 for name in CLASSES]


def guess(image_id: str, symbol: str) -> Record:
    """A record of `lesions/predictions`."""
    return {"image_id": image_id, "probabilities": sure(symbol)}


def model(size: float = 31.4, time: float = 118.25) -> Record:
    """A document of `lesions/model`."""
    return {
        "team_name": "Żuraw",
        "model_size_mb": size,
        "inference_time_ms": time,
        "uses_image": True,
        "uses_demographics": True,
    }


def drug(name: str, *fields: str) -> Record:
    """A medication: its name, then dose, frequency, duration and instructions, as far as given."""
    names = ("dosis", "frecuencia", "duracion", "instrucciones")
    return {"nombre_medicamento": name, **dict(zip(names, (*fields, "", "", "", "")[:4], strict=True))}


def lab(name: str, valor: str, unidad: str = "mg/dL", rango: str = "", estado: str = "normal") -> Record:
    """A laboratory test."""
    return {
        "nombre_prueba": name, "valor": valor, "unidad": unidad, "rango_referencia": rango, "estado": estado,
    }  # fmt: skip


def rx(doc_id: str, *drugs: Record) -> Record:
    """A record of `extraction/prescription-labels`."""
    return {"doc_id": doc_id, "doc_type": "prescription", "medications": list(drugs)}


def labs(doc_id: str, *tests: Record) -> Record:
    """A record of `extraction/lab-labels`."""
    return {"doc_id": doc_id, "doc_type": "lab", "results": list(tests)}


def read_rx(doc_id: str, *drugs: Record, **more: Any) -> Record:
    """A record of `extraction/prescription-predictions`."""
    return {"doc_id": doc_id, "parse_success": True, "medicamentos": list(drugs), **more}


def read_labs(doc_id: str, *tests: Record, **more: Any) -> Record:
    """A record of `extraction/lab-predictions`."""
    return {"doc_id": doc_id, "parse_success": True, "resultados": list(tests), **more}


def read(label: Record, **more: Any) -> Record:
    """A prediction that is identical to a label, of either kind."""
    if label["doc_type"] == "prescription":
        return read_rx(label["doc_id"], *label["medications"], **more)
    return read_labs(label["doc_id"], *label["results"], **more)


def pipeline_run(number: int, kind: str = "reliability", **changes: Any) -> Record:
    """A record of `extraction/runs` for a successful run."""
    return {
        "run_id": f"R-{number}", "kind": kind, "parse_success": True, "valid_items": 2, "restarted": False,
        "code_version": "1", **changes,
    }  # fmt: skip


def listed(doc_id: str, doc_type: str = "prescription") -> Record:
    """A record of `extraction/manifest`."""
    return {
        "doc_id": doc_id, "doc_type": doc_type, "image_path": "page.png", "label_status": "labeled",
        "pii_checked": "yes",
    }  # fmt: skip


def evidence(offline: int, *proofs: tuple[str, str]) -> Record:
    """A document of `extraction/evidence`; proofs are (doc_id, kind)."""
    one = {"backend": "transformers", "command": "run", "hardware": "cpu", "latency_sec": 3}
    return {
        "offline_runs": [dict(one) for _ in range(offline)],
        "proofs": [
            {"doc_id": doc_id, "kind": kind, "evidence": "e", "interpretation": "i"} for doc_id, kind in proofs
        ],
    }  # fmt: skip


def reference(sample_id: str, task_id: str = "qa", **said: Any) -> Record:
    """A record of `benchmark/references`."""
    return {"task_id": task_id, "sample_id": sample_id, "reference": said}


def says(sample_id: str, task_id: str = "qa", /, scores: Record | None = None, **said: Any) -> Record:
    """A record of `benchmark/predictions`."""
    record = {"task_id": task_id, "sample_id": sample_id, "prediction": said}
    return record if scores is None else {**record, "scores": scores}


def repeats(right: Record, **more: Any) -> Record:
    """A prediction that is identical to a reference."""
    return {"task_id": right["task_id"], "sample_id": right["sample_id"], "prediction": right["reference"], **more}


def weights(renormalize: bool | None = None, metric_name: str | None = None, /, **each: float) -> Record:
    """A document of `benchmark/weights`."""
    found: Record = {"weights": each}
    if metric_name is not None:
        found["metric_name"] = metric_name
    return found if renormalize is None else {**found, "renormalize_missing": renormalize}


# --- files ---------------------------------------------------------------------------------------


def as_json(contract: str, records: Sequence[Record]) -> bytes:
    """A collection with its header."""
    return json.dumps({**HEADERS[contract], LIST_KEYS[contract]: list(records)}).encode()


def as_jsonl(contract: str, records: Sequence[Record]) -> bytes:
    """One record per line."""
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def as_csv(contract: str, records: Sequence[Record]) -> bytes:
    """One record per row; absent and null values are empty cells."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS[contract], restval="")
    writer.writeheader()
    writer.writerows(map(_row, records))
    return text.getvalue().encode()


def _row(record: Record) -> dict[str, str]:
    cells: dict[str, str] = {}
    for name, value in record.items():
        if name == "probabilities":
            cells |= {symbol: _cell(part) for symbol, part in zip(CLASSES, value or [None] * 10, strict=False)}
        else:
            cells[name] = _cell(value)
    return cells


def _cell(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value)


FORMS: dict[str, Callable[[str, Sequence[Record]], bytes]] = {"json": as_json, "jsonl": as_jsonl, "csv": as_csv}


def write(folder: Path, contract: str, records: Sequence[Record], ending: str = "json", name: str = "") -> Path:
    """Write a collection to a file; the extension is json, jsonl or csv, with or without .gz."""
    form, _, packed = ending.partition(".")
    data = FORMS[form](contract, records)
    path = folder / f"{name or contract.replace('/', '-')}.{ending}"
    path.write_bytes(gzip.compress(data, mtime=0) if packed else data)
    return path


def document(folder: Path, name: str, value: Record | None) -> list[Path]:
    """Write a document to a file, if there is one."""
    if value is None:
        return []
    path = folder / f"{name}.json"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return [path]


def score_of(
    folder: Path,
    track: str,
    truth: Sequence[Record],
    sent: Sequence[Record],
    referenced: Record | None = None,
    parameters: Mapping[str, str] | None = None,
) -> medcontract.Score:
    """The score of records, written as `.json`; `referenced` is the telemetry or the model file."""
    truth_id, sent_id, beside_name = CONTRACTS[track]
    files = [write(folder, truth_id, truth), write(folder, sent_id, sent), *document(folder, beside_name, referenced)]
    return medcontract.score(*files, parameters=parameters)


CONTRACTS = {
    "reports": ("reports/truth", "reports/predictions", "telemetry"),
    "triage": ("triage/ground-truth", "triage/response", "nothing"),
    "lesions": ("lesions/truth", "lesions/predictions", "model"),
    "extraction": ("extraction/prescription-labels", "extraction/prescription-predictions", "evidence"),
    "benchmark": ("benchmark/references", "benchmark/predictions", "weights"),
}
"""The truth, the submission (for extraction: prescriptions), and the auxiliary document."""
LABS = ("extraction/lab-labels", "extraction/lab-predictions")
RESULTS = {
    "reports": "reports/score",
    "triage": "triage/metrics",
    "lesions": "lesions/score",
    "extraction": "extraction/decision",
    "benchmark": "benchmark/report",
}


def result_of(
    folder: Path,
    track: str,
    truth: Sequence[Record],
    sent: Sequence[Record],
    referenced: Record | None = None,
    parameters: Mapping[str, str] | None = None,
) -> Record:
    """The result of `score_of`, which must exist and be valid."""
    score = score_of(folder, track, truth, sent, referenced, parameters)
    assert score.result is not None, score.reasons
    assert_keeps_contract(track, score.result)
    return score.result


def assert_keeps_contract(track: str, result: Record) -> None:
    """Assert that a result is a valid document of its contract."""
    checked = medcontract.validate(json.dumps(result, allow_nan=False).encode(), RESULTS[track])
    assert checked.ok, checked.problems
