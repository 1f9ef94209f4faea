"""The library calls that a checked, exact and documented score cannot do without, and nothing between them.

references.py lesions TRUTH FILE...
references.py prescriptions LABELS FILE
references.py answers REFERENCES FILE

All bytes are read and hashed, records are decoded into checked types, and the canonical text of the truth is hashed.

- lesions: repeated keys are excluded, probabilities are summed and compared, true and predicted classes are counted.
- prescriptions: repeated keys are excluded, and each pair of items is looked up: it is compared when it first occurs.
- answers: texts are folded, the spellings of the lexicon are searched in all of them and its markers in the rationales
  of the model, and the words of the rationales are counted. Spellings are not replaced, and no score is computed.

Any other order of records, any mistake and anything to report is left out: what a complete program adds to this is
above it.
"""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import astuple

CLASSES = ("AK", "BCC", "SK", "SCC", "VASC", "DF", "NV", "NON", "MEL", "ON")
BLOCK = 1 << 18
LEXICON = Path(__file__).parents[2] / "src" / "medcontract" / "normalizers" / "data" / "lexicon.json"
encode_lines = msgspec.json.Encoder(order="sorted").encode_lines


def blocks(path: Path, digest: hashlib._Hash) -> Iterator[bytes]:
    """Many complete lines at a time."""
    rest = b""
    with path.open("rb") as stream:
        while block := stream.read(BLOCK):
            digest.update(block)
            end = block.rfind(b"\n") + 1
            yield rest + block[:end]
            rest = block[end:]


class Lesion(Struct, gc=False, forbid_unknown_fields=True):
    image_id: Annotated[str, Meta(min_length=1)]
    probabilities: Annotated[list[Annotated[float, Meta(ge=0, le=1)]], Meta(min_length=10, max_length=10)]


class TrueClass(Struct, gc=False):
    image_id: str
    label: str


def count(wanted: bytes, text: bytes) -> int:
    """Much faster than `text.count`, if there are many."""
    return (len(text) - len(text.replace(wanted, b""))) // len(wanted)


def classes_of(lists: Sequence[Sequence[float]]) -> bytes:
    """The class with the largest probability. This takes less than half the time of `max` and `index`."""
    found = []
    for largest, b, c, d, e, f, g, h, i, j in lists:
        index = 0
        if b > largest:
            largest, index = b, 1
        if c > largest:
            largest, index = c, 2
        if d > largest:
            largest, index = d, 3
        if e > largest:
            largest, index = e, 4
        if f > largest:
            largest, index = f, 5
        if g > largest:
            largest, index = g, 6
        if h > largest:
            largest, index = h, 7
        if i > largest:
            largest, index = i, 8
        if j > largest:
            index = 9
        found.append(index)
    return bytes(found)


def read_classes(path: Path) -> tuple[list[str], bytes, str, str]:
    """Ids, classes, the hash of the file and that of its records."""
    digest, content = hashlib.sha256(), hashlib.sha256()
    decode_lines = msgspec.json.Decoder(TrueClass).decode_lines
    rows: list[TrueClass] = []
    for text in blocks(path, digest):
        lines = text if rows else text[text.find(b"\n") + 1 :]  # without the header
        records = lines[:-1].replace(b",", b'","label":"').replace(b"\n", b'"}\n{"image_id":"')
        read = decode_lines(b'{"image_id":"' + records + b'"}\n')
        content.update(encode_lines(read))
        rows += read
    number_of = {name: number for number, name in enumerate(CLASSES)}
    classes = bytes([number_of[row.label] for row in rows])
    return [row.image_id for row in rows], classes, digest.hexdigest(), content.hexdigest()


def lesions(true: str, *sent: str) -> None:
    ids, labels, truth, content = read_classes(Path(true))
    decode_lines = msgspec.json.Decoder(Lesion).decode_lines
    for path in map(Path, sent):
        digest = hashlib.sha256()
        predicted = bytearray()
        known: list[str] = []
        for text in blocks(path, digest):
            rows = decode_lines(text)
            lists = [row.probabilities for row in rows]
            sums = list(map(sum, lists))
            if min(sums) < 0.99 or max(sums) > 1.01 or count(b":", text) != 2 * len(rows):
                raise SystemExit(f"{path.name} is not valid")
            known += [row.image_id for row in rows]
            predicted += classes_of(lists)
        if known != ids:
            raise SystemExit(f"{path.name} has other ids than the truth")
        pairs = (int.from_bytes(labels) << 4 | int.from_bytes(predicted)).to_bytes(len(ids))
        right = sum(times for pair, times in Counter(pairs).items() if pair >> 4 == pair & 15)
        figures = {"accuracy": right / len(ids), "truth": truth, "content": content, "sha256": digest.hexdigest()}
        print(msgspec.json.encode(figures).decode())


DocId = Annotated[str, Meta(min_length=1, max_length=200)]


class Medication(Struct, gc=False, forbid_unknown_fields=True):
    nombre_medicamento: str
    dosis: str
    frecuencia: str
    duracion: str
    instrucciones: str


class Label(Struct, gc=False, forbid_unknown_fields=True):
    doc_id: DocId
    doc_type: Literal["prescription"]
    medications: Annotated[list[Medication], Meta(min_length=1)]


class ReadLabel(Struct, gc=False, forbid_unknown_fields=True):
    doc_id: DocId
    parse_success: bool
    medicamentos: list[Medication]
    latency_sec: Annotated[float, Meta(ge=0)]


Item = tuple[str, ...]
Items = tuple[Item, ...]


def items_of(medications: list[Medication]) -> Items:
    return tuple(map(astuple, medications))


class Compared(dict[tuple[Item, Item], int]):
    """The number of equal fields of two items."""

    def __missing__(self, pair: tuple[Item, Item]) -> int:
        self[pair] = sum(one == other for one, other in zip(*pair, strict=True))
        return self[pair]


def check(text: bytes, records: int, items: int, fields: int) -> None:
    """No record and no item has a repeated key."""
    if count(b'":', text) != fields * records + 5 * items:
        raise SystemExit("the file is not valid")


def prescriptions(true: str, sent: str) -> None:
    digest, content, of_sent = hashlib.sha256(), hashlib.sha256(), hashlib.sha256()
    decode_lines = msgspec.json.Decoder(Label).decode_lines
    labels: dict[str, Items] = {}
    known: dict[Item, Item] = {}
    for text in blocks(Path(true), digest):
        rows = decode_lines(text)
        content.update(encode_lines(rows))
        for row in rows:
            items = items_of(row.medications)
            labels[row.doc_id] = tuple([known.setdefault(item, item) for item in items])
        check(text, len(rows), sum([len(row.medications) for row in rows]), 3)
    decode_sent = msgspec.json.Decoder(ReadLabel).decode_lines
    compared = Compared()
    equal = pairs = 0
    for text in blocks(Path(sent), of_sent):
        answers = decode_sent(text)
        check(text, len(answers), sum([len(answer.medicamentos) for answer in answers]), 4)
        for answer in answers:
            found = list(zip(labels[answer.doc_id], items_of(answer.medicamentos), strict=False))
            pairs += len(found)
            equal += sum(map(compared.__getitem__, found))
    figures = {"equal_fields": equal, "pairs": pairs, "documents": len(labels)}
    hashes = {"truth": digest.hexdigest(), "content": content.hexdigest(), "sha256": of_sent.hexdigest()}
    print(msgspec.json.encode({**figures, **hashes}).decode())


ACCENTS = str.maketrans("áéíóúüñàèìòùâêîôûäëïöç", "aeiouunaeiouaeiouaeioc")
FOLDED = bytes(
    ord(char) if char.isascii() and (char.isalnum() or char in "%.") else 32
    for char in (chr(code).lower().translate(ACCENTS) for code in range(256))
)


class Texts(Struct, gc=False, forbid_unknown_fields=True):
    answer: str
    rationale: str


class Reference(Struct, gc=False, forbid_unknown_fields=True):
    task_id: str
    sample_id: str
    reference: Texts


class Answer(Struct, gc=False, forbid_unknown_fields=True):
    task_id: str
    sample_id: str
    prediction: Texts


def fold(text: str) -> str:
    return text.encode("latin-1", "replace").translate(FOLDED).decode()


def searcher(phrases: Iterable[str]) -> Callable[[str], list[str]]:
    from ahocorasick_rs import AhoCorasick, MatchKind

    find: Callable[[str], list[str]] = AhoCorasick(
        [f" {fold(phrase)} " for phrase in set(phrases)], matchkind=MatchKind.LeftmostLongest, store_patterns=True
    ).find_matches_as_strings
    return find


def spellings_of(lexicon: dict[str, Any]) -> Iterable[str]:
    for name, others in lexicon["synonyms"].items():
        yield from (name, *others)
    for names in lexicon["entities"].values():
        yield from names


def answers(true: str, sent: str) -> None:
    lexicon = msgspec.json.decode(LEXICON.read_bytes())
    find_terms = searcher(spellings_of(lexicon))
    find_markers = searcher(
        phrase for kind in ("structure_markers", "evidence_markers", "fallacies") for phrase in lexicon[kind]
    )
    digest, content, of_sent = hashlib.sha256(), hashlib.sha256(), hashlib.sha256()
    decode_lines = msgspec.json.Decoder(Reference).decode_lines
    rationales: dict[tuple[str, str], str] = {}
    lines: list[bytes] = []
    terms = markers = common = 0
    for text in blocks(Path(true), digest):
        rows = decode_lines(text)
        lines += encode_lines(rows).splitlines(keepends=True)
        for row in rows:
            folded = fold(row.reference.rationale)
            terms += len(find_terms(fold(row.reference.answer))) + len(find_terms(folded))
            rationales[row.task_id, row.sample_id] = folded
    content.update(b"".join(sorted(lines)))
    decode_sent = msgspec.json.Decoder(Answer).decode_lines
    for text in blocks(Path(sent), of_sent):
        for answer in decode_sent(text):
            folded = fold(answer.prediction.rationale)
            terms += len(find_terms(fold(answer.prediction.answer))) + len(find_terms(folded))
            markers += len(find_markers(folded))
            wanted = Counter(rationales[answer.task_id, answer.sample_id].split())
            found = Counter(folded.split())
            common += sum([min(times, found[word]) for word, times in wanted.items() if word in found])
    figures = {"terms": terms, "markers": markers, "common_words": common}
    hashes = {"truth": digest.hexdigest(), "content": content.hexdigest(), "sha256": of_sent.hexdigest()}
    print(msgspec.json.encode({**figures, **hashes}).decode())


KINDS: dict[str, Callable[..., None]] = {"lesions": lesions, "prescriptions": prescriptions, "answers": answers}


if __name__ == "__main__":
    KINDS[sys.argv[1]](*sys.argv[2:])
