"""Write the files for benchmarks/run.py. The same options produce the same bytes.

python benchmarks/generate.py [--only NAME ...] [--out DIR]
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO

SEED = 20260314
EVENT = "Benchmark"
RUN_ID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
FIRST_SENT = 1_770_000_000.0
SEGMENTS_PER_CASE = 20
SEGMENT_SECONDS = 300.0
LSI = {
    "Airway": "Endotracheal intubation",
    "Bleeding control": "Tourniquet",
    "Blood products": "Packed red blood cells",
    "Chest decompression": "Needle thoracostomy",
    "Medication": "Vasopressor infusion",
    "Resuscitation": "Cardiopulmonary resuscitation",
}
LSI_GROUPS = list(LSI)
LESION_CLASSES = ("AK", "BCC", "SK", "SCC", "VASC", "DF", "NV", "NON", "MEL", "ON")
SPECIALTIES = ("Cardiology", "Neurology", "Oncology", "Internal Medicine", "Emergency Medicine", "Other")
URGENCIES = ("Emergency", "Urgent", "Routine")

Record = dict[str, Any]


class Sizes(NamedTuple):
    """The sizes of the files."""

    embeddings_mb: float
    plain_mb: float
    lesions: int
    lesions_small: int
    prescriptions: int
    answers: int
    reports: int
    submissions: int
    submission_lesions: int


def vector(rng: random.Random, length: int) -> list[float]:
    """Embedding values with the precision of 32-bit floats."""
    return [round(rng.uniform(-1, 1), 8) for _ in range(length)]


def response_record(rng: random.Random, number: int, *, embeddings: bool) -> Record:
    """A response of a triage model; `number` is the index of the segment over all cases."""
    case, segment = divmod(number, SEGMENTS_PER_CASE)
    sent = FIRST_SENT + number * 2
    record: Record = {
        "message_sent_time": sent,
        "message_received_time": round(sent + rng.uniform(0.05, 1.5), 6),
        "case_id": f"case-{case:05d}",
        "segment_id": f"case-{case:05d}-{segment:03d}",
        "model_predictions": rng.sample(LSI_GROUPS, rng.randrange(4)),
        "cumulative_runtime_sec": number * 2 + 1.25,
        "run_id": RUN_ID,
        "end_of_case": segment == SEGMENTS_PER_CASE - 1,
        "lsi_confidence_scores": {group: round(rng.random(), 6) for group in LSI_GROUPS},
    }
    if embeddings:
        record["embeddings"] = {"segment": vector(rng, 256), "layers": [vector(rng, 64) for _ in range(4)]}
    return record


def truth_record(rng: random.Random, number: int) -> Record:
    """The truth of the segment of `response_record` with the same number."""
    case, segment = divmod(number, SEGMENTS_PER_CASE)
    start = segment * SEGMENT_SECONDS
    folder = f"case-{case:05d}"
    return {
        "case_id": folder,
        "segment_id": f"{folder}-{segment:03d}",
        "segment_start_time_sec": start,
        "segment_stop_time_sec": start + SEGMENT_SECONDS,
        "start_of_case": segment == 0,
        "at_admission": segment == SEGMENTS_PER_CASE // 2,
        "end_of_case": segment == SEGMENTS_PER_CASE - 1,
        "gt_lsi_list": [
            {
                "lsi_group": group,
                "lsi_description": LSI[group],
                "in_hospital": int(segment > SEGMENTS_PER_CASE // 2),
                "elapsed_from_start": round(start + rng.uniform(0, SEGMENT_SECONDS), 3),
            }
            for group in rng.sample(LSI_GROUPS, rng.randrange(3))
        ],
        "ehr_file_name": f"{folder}/{segment:03d}/ehr.csv",
        "vs_file_name": f"{folder}/{segment:03d}/vs.csv",
        "gt_file_name": f"{folder}/{segment:03d}/gt.csv",
    }


def probabilities(rng: random.Random) -> list[str]:
    """Ten numbers with six decimals whose decimal sum is exactly 1."""
    weights = [rng.random() ** 4 + 1e-3 for _ in LESION_CLASSES]
    scale = 999_990 / sum(weights)
    millionths = [int(weight * scale) for weight in weights]
    millionths[rng.randrange(10)] += 1_000_000 - sum(millionths)
    return [f"0.{part:06d}" for part in millionths]


def report_prediction(rng: random.Random, number: int) -> Record:
    """One classified clinical report."""
    return {
        "report_id": f"report-{number:05d}",
        "specialty": rng.choice(SPECIALTIES),
        "urgency": rng.choice(URGENCIES),
        "follow_up": rng.random() < 0.5,
        "processing_time_sec": round(rng.uniform(0.1, 0.9), 3),
    }


def write_collection(out: TextIO, header: Record, list_key: str, records: Iterator[Record]) -> None:
    """A `.json` collection with one record per line."""
    out.write(json.dumps(header, ensure_ascii=False)[:-1])
    out.write(f'{", " if header else ""}"{list_key}": [')
    for number, record in enumerate(records):
        out.write(",\n" if number else "\n")
        out.write(json.dumps(record, ensure_ascii=False))
    out.write("\n]}\n")


def open_for_writing(path: Path) -> TextIO:
    """Open a text file that has the same bytes on every system."""
    return path.open("w", encoding="utf-8", newline="\n")


def write_response(path: Path, megabytes: float, *, embeddings: bool) -> int:
    """Write complete cases until the file is large enough. Returns the number of segments."""
    rng = random.Random(SEED)
    header = {"team_name": "Team Example", "event": EVENT, "evaluation_date": "2026-03-14"}
    count = 0

    with open_for_writing(path) as out:

        def records() -> Iterator[Record]:
            nonlocal count
            while count == 0 or count % SEGMENTS_PER_CASE or out.tell() < megabytes * 1e6:
                yield response_record(rng, count, embeddings=embeddings)
                count += 1

        write_collection(out, header, "responses", records())
    return count


def write_triage_truth(path: Path, segments: int) -> None:
    """Write the triage/ground-truth of this number of segments."""
    rng = random.Random(SEED)
    with open_for_writing(path) as out:
        records = (truth_record(rng, number) for number in range(segments))
        write_collection(out, {"event": EVENT}, "ground_truth", records)


FAILED, UNKNOWN, REPEATED = 0.01, 0.001, 5
"""Shares of records of a file as people send it that failed or have an unknown id, and how many occur twice at most."""


def as_sent(records: list[Record], key: str, failed: Callable[[Record], Record]) -> list[Record]:
    """The records as people send them: in any order; some failed, some have an unknown id, a few occur twice."""
    rng = random.Random(SEED)
    found = list(records)
    for place in range(len(found)):
        chance = rng.random()
        if chance < FAILED:
            found[place] = failed(found[place])
        elif chance < FAILED + UNKNOWN:
            found[place] = {**found[place], key: f"other-{found[place][key]}"}
    found += [found[rng.randrange(len(found))] for _ in range(min(REPEATED, len(found) // 200))]
    rng.shuffle(found)
    return found


def write_as_sent(
    path: Path, key: str, header: Record, list_key: str, failed: Callable[[Record], Record], lines: bool = True
) -> list[Path]:
    """Write the file as people send it, and both as `.json`; without `lines`, it is one already."""
    with path.open(encoding="utf-8") as stream:
        records = [json.loads(line) for line in stream] if lines else json.load(stream)[list_key]
    sent = as_sent(records, key, failed)
    written = []
    for stem, some in ((path.stem, records), (f"{path.stem}_as_sent", sent)):
        if lines and some is sent:
            written.append(path.with_name(f"{stem}.jsonl"))
            with open_for_writing(written[-1]) as out:
                out.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in some)
        if lines or some is sent:
            written.append(path.with_name(f"{stem}.json"))
            with open_for_writing(written[-1]) as out:
                write_collection(out, header, list_key, iter(some))
    return written


def failed_prediction(record: Record) -> Record:
    return {"image_id": record["image_id"], "error": "CUDA out of memory"}


def triage_embeddings(folder: Path, sizes: Sizes) -> list[Path]:
    """A triage/response with embeddings, and the triage/ground-truth of the same segments."""
    response, truth = folder / "triage_100mb.json", folder / "triage_100mb_gt.json"
    write_triage_truth(truth, write_response(response, sizes.embeddings_mb, embeddings=True))
    header = {"team_name": "Team Example", "event": EVENT, "evaluation_date": "2026-03-14"}
    sent = write_as_sent(
        response, "segment_id", header, "responses",
        lambda record: {**record, "model_predictions": [], "error": "time out"}, lines=False,
    )  # fmt: skip
    return [response, truth, *sent]


def triage_plain(folder: Path, sizes: Sizes) -> list[Path]:
    """A triage/response without embeddings, and the triage/ground-truth of the same segments."""
    response, truth = folder / "triage_10mb.json", folder / "triage_gt.json"
    write_triage_truth(truth, write_response(response, sizes.plain_mb, embeddings=False))
    return [response, truth]


def write_lesion_lines(path: Path, count: int, seed: int = SEED) -> list[Path]:
    """lesions/predictions with one record per line."""
    rng = random.Random(seed)
    with open_for_writing(path) as out:
        for number in range(1, count + 1):
            values = ", ".join(probabilities(rng))
            out.write(f'{{"image_id": "img-{number:07d}", "probabilities": [{values}]}}\n')
    return [path]


def write_lesion_truth(path: Path, count: int) -> Path:
    """The lesions/truth of the images of `write_lesion_lines`."""
    rng = random.Random(SEED)
    with open_for_writing(path) as out:
        out.write("image_id,label\n")
        for number in range(1, count + 1):
            out.write(f"img-{number:07d},{rng.choice(LESION_CLASSES)}\n")
    return path


def lesion_lines(folder: Path, sizes: Sizes) -> list[Path]:
    """Many records, and the lesions/truth of the same images."""
    truth = write_lesion_truth(folder / "lesions_1m_truth.csv", sizes.lesions)
    path = folder / "lesions_1m.jsonl"
    write_lesion_lines(path, sizes.lesions)
    return [path, truth, *write_as_sent(path, "image_id", {"team_name": "T"}, "predictions", failed_prediction)]


def submissions(folder: Path, sizes: Sizes) -> list[Path]:
    """Many submissions for one leaderboard, and the lesions/truth of their images."""
    truth = write_lesion_truth(folder / "leaderboard_100_truth.csv", sizes.submission_lesions)
    teams = folder / "leaderboard_100"
    teams.mkdir()
    for number in range(1, sizes.submissions + 1):
        write_lesion_lines(teams / f"team-{number:03d}.jsonl", sizes.submission_lesions, SEED + number)
    as_sent_by_teams = folder / "leaderboard_100_as_sent"
    as_sent_by_teams.mkdir()
    for path in sorted(teams.iterdir()):
        for written in write_as_sent(path, "image_id", {"team_name": path.stem}, "predictions", failed_prediction):
            if written.name == f"{path.stem}_as_sent.jsonl":
                written.replace(as_sent_by_teams / path.name)
            else:
                written.unlink()
    return [teams, truth, as_sent_by_teams]


CHALLENGE = f"""\
id = "skin"
key = "image_id"
[prediction]
label = {{ one_of = {json.dumps(LESION_CLASSES)} }}
probability = {{ type = "number", min = 0, max = 1, about = "of MEL" }}
[truth]
label = {{ one_of = {json.dumps(LESION_CLASSES)} }}
[[metric]]
name = "accuracy"
kind = "accuracy"
field = "label"
[[metric]]
name = "macro_f1"
kind = "f1"
field = "label"
average = "macro"
[[metric]]
name = "auroc"
kind = "auroc"
field = "probability"
positive = {{ field = "label", is = "MEL" }}
[score]
headline = "macro_f1"
"""


def challenge_lines(folder: Path, sizes: Sizes) -> list[Path]:
    """A challenge with labels and probabilities: predictions, as many as in `lesion_lines`, truth, and its file."""
    path, truth, challenge = write_challenge(folder, "challenge_1m", sizes.lesions)
    sent = write_as_sent(path, "image_id", {"team_name": "T"}, "predictions", failed_prediction)
    return [path, truth, challenge, *sent]


def challenge_lines_small(folder: Path, sizes: Sizes) -> list[Path]:
    """Fewer cases of the same challenge, as many as a submission in a ranking has."""
    return write_challenge(folder, "challenge_10k", sizes.submission_lesions)


def write_challenge(folder: Path, name: str, cases: int) -> list[Path]:
    path, truth, challenge = (folder / f"{name}{ending}" for ending in (".jsonl", "_truth.csv", ".toml"))
    with open_for_writing(challenge) as out:
        out.write(CHALLENGE)
    rng = random.Random(SEED)
    with open_for_writing(path) as out, open_for_writing(truth) as labels:
        labels.write("image_id,label\n")
        for number in range(1, cases + 1):
            true = rng.choice(LESION_CLASSES)
            said = true if rng.random() < 0.8 else rng.choice(LESION_CLASSES)
            probability = round(rng.betavariate(4, 2) if true == "MEL" else rng.betavariate(2, 4), 6)
            labels.write(f"img-{number:07d},{true}\n")
            out.write(f'{{"image_id": "img-{number:07d}", "label": "{said}", "probability": {probability}}}\n')
    return [path, truth, challenge]


def lesion_lines_small(folder: Path, sizes: Sizes) -> list[Path]:
    """Fewer records."""
    return write_lesion_lines(folder / "lesions_100k.jsonl", sizes.lesions_small)


def lesion_table(folder: Path, sizes: Sizes) -> list[Path]:
    """The same records as a table."""
    path = folder / "lesions_100k.csv"
    rng = random.Random(SEED)
    with open_for_writing(path) as out:
        out.write(",".join(("image_id", *LESION_CLASSES)) + "\n")
        for number in range(1, sizes.lesions_small + 1):
            out.write(f"img-{number:07d},{','.join(probabilities(rng))}\n")
    return [path]


MEDICATIONS = ("METFORMINA 850 mg", "LOSARTÁN 50 mg", "ACETAMINOFÉN 500 mg", "AMOXICILINA 500 mg", "OMEPRAZOL 20 mg")
FREQUENCIES = ("cada 8 horas", "cada 12 horas", "una vez al día", "antes del desayuno")
INSTRUCTIONS = ("tomar con alimentos", "no suspender sin indicación médica", "", "en ayunas")


def prescription(rng: random.Random, number: int) -> Record:
    """What a model extracted from one prescription."""
    items = [
        {
            "nombre_medicamento": rng.choice(MEDICATIONS),
            "dosis": f"{rng.randint(1, 2)} tableta",
            "frecuencia": rng.choice(FREQUENCIES),
            "duracion": f"{rng.choice((5, 7, 10, 30))} días",
            "instrucciones": rng.choice(INSTRUCTIONS),
        }
        for _ in range(rng.randint(2, 5))
    ]
    latency = round(rng.uniform(0.4, 9), 3)
    return {"doc_id": f"RX-{number:06d}", "parse_success": True, "medicamentos": items, "latency_sec": latency}


def prescription_label(rng: random.Random, predicted: Record) -> Record:
    """The label of the prescription: a third are identical, a third are only spelled differently."""
    items = [dict(item) for item in predicted["medicamentos"]]
    case, item = rng.randrange(9), rng.choice(items)
    if case < 3:
        item["frecuencia"] = item["frecuencia"].upper()
        item["duracion"] = item["duracion"].replace("í", "i") + "."
    elif case < 5:
        item[rng.choice(("dosis", "duracion", "instrucciones"))] += " 3"
    elif case == 5:
        item["nombre_medicamento"] += " TABLETA"
    return {"doc_id": predicted["doc_id"], "doc_type": "prescription", "medications": items}


def prescriptions(folder: Path, sizes: Sizes) -> list[Path]:
    """extraction/prescription-predictions, one per line, plain and gzipped, and their labels."""
    path = folder / "prescriptions_100k.jsonl"
    packed = folder / "prescriptions_100k.jsonl.gz"
    labels = folder / "prescriptions_100k_labels.jsonl"
    rng, label_rng = random.Random(SEED), random.Random(SEED)
    with open_for_writing(path) as out, open_for_writing(labels) as truth:
        for number in range(1, sizes.prescriptions + 1):
            predicted = prescription(rng, number)
            out.write(json.dumps(predicted, ensure_ascii=False) + "\n")
            truth.write(json.dumps(prescription_label(label_rng, predicted), ensure_ascii=False) + "\n")
    with path.open("rb") as plain, gzip.GzipFile(packed, "wb", mtime=0) as archive:
        shutil.copyfileobj(plain, archive)
    sent = write_as_sent(
        path, "doc_id", {}, "documents",
        lambda record: {"doc_id": record["doc_id"], "parse_success": False, "exception": "no JSON in the answer"},
    )  # fmt: skip
    return [path, packed, labels, *sent]


def model_answers(folder: Path, sizes: Sizes) -> list[Path]:
    """benchmark/predictions and benchmark/references, one per line; answers and rationales have ten sentences."""
    from terms import answers  # type: ignore[import-not-found]  # next to this file

    path, truth = folder / "answers_20k.jsonl", folder / "answers_20k_references.jsonl"
    rng = random.Random(SEED)
    texts = [text for language in ("English", "Spanish") for text in answers(language, 1)]
    with open_for_writing(path) as out, open_for_writing(truth) as references:
        for number in range(sizes.answers):
            said = [rng.choice(texts).split(". ") for _ in range(2)]
            known = [sentences[:10] for sentences in said]
            guess = [sorted(sentences[2:12], key=lambda _: rng.random()) for sentences in said]
            ids = {"task_id": f"task-{number % 8}", "sample_id": f"S-{number:06d}"}
            for stream, key, (answer, rationale) in ((references, "reference", known), (out, "prediction", guess)):
                record = {**ids, key: {"answer": ". ".join(answer), "rationale": ". ".join(rationale)}}
                stream.write(json.dumps(record, ensure_ascii=False) + "\n")
    return [path, truth]


def reports_small(folder: Path, sizes: Sizes) -> list[Path]:
    """A small reports/predictions, for the start-up rows."""
    path = folder / "reports_small.json"
    rng = random.Random(SEED)
    header = {"team_name": "Team Example", "event": EVENT, "evaluation_date": "2026-03-14"}
    with open_for_writing(path) as out:
        records = (report_prediction(rng, number) for number in range(sizes.reports))
        write_collection(out, header, "predictions", records)
    return [path]


TARGETS: dict[str, Callable[[Path, Sizes], list[Path]]] = {
    "reports_small": reports_small,
    "triage_10mb": triage_plain,
    "triage_100mb": triage_embeddings,
    "lesions_100k.jsonl": lesion_lines_small,
    "lesions_100k.csv": lesion_table,
    "lesions_1m": lesion_lines,
    "challenge_1m": challenge_lines,
    "challenge_10k": challenge_lines_small,
    "leaderboard_100": submissions,
    "prescriptions_100k": prescriptions,
    "answers_20k": model_answers,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the files that benchmarks/run.py measures.")
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parent / "data", help="folder (default: %(default)s)"
    )
    parser.add_argument(
        "--only", nargs="+", choices=TARGETS, default=list(TARGETS), metavar="NAME", help=", ".join(TARGETS)
    )
    parser.add_argument("--embeddings-mb", type=float, default=100, help="size of triage_100mb.json (%(default)s)")
    parser.add_argument("--plain-mb", type=float, default=10, help="size of triage_10mb.json (%(default)s)")
    parser.add_argument("--lesions", type=int, default=1_000_000, help="records of *_1m.jsonl (%(default)s)")
    parser.add_argument("--lesions-small", type=int, default=100_000, help="records of lesions_100k.* (%(default)s)")
    parser.add_argument("--prescriptions", type=int, default=100_000, help="of prescriptions_100k.* (%(default)s)")
    parser.add_argument("--answers", type=int, default=20_000, help="records of answers_20k.* (%(default)s)")
    parser.add_argument("--reports", type=int, default=250, help="records of reports_small.json (%(default)s)")
    parser.add_argument("--submissions", type=int, default=100, help="files in leaderboard_100 (%(default)s)")
    parser.add_argument("--submission-lesions", type=int, default=10_000, help="records of each (%(default)s)")
    options = parser.parse_args()
    sizes = Sizes(**{name: getattr(options, name) for name in Sizes._fields})
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.only:
        with tempfile.TemporaryDirectory(dir=options.out) as unfinished:
            for path in TARGETS[name](Path(unfinished), sizes):
                put(path, options.out / path.name)


def put(path: Path, place: Path) -> None:
    """Move a finished file or folder to its place: an interrupted run leaves no part of one there."""
    if place.is_dir():
        shutil.rmtree(place)
    path.replace(place)
    size = sum(each.stat().st_size for each in place.rglob("*")) if place.is_dir() else place.stat().st_size
    print(f"{place.name}: {size / 1e6:.1f} MB", flush=True)


if __name__ == "__main__":
    main()
