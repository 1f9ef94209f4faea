"""Measure how fast terms are found in generated clinical text, and print a Markdown table.

python benchmarks/terms.py [--mb N] [--repeats N]

The text is fictitious, and the same for the same options. It consists of answers of about 300 words, like those of a
model. The last rows are hostile: words that start a long phrase but never complete it, and an endless phrase.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable, Sequence

from medcontract.normalizers.folding import fold
from medcontract.normalizers.terms import LEXICON, Terms, built_in_terms

SEED = 20260314
SENTENCES = {
    "English": (
        "The patient is a {age}-year-old {who} who presents with {a} and {b} for {n} days.",
        "Past medical history is notable for {a}; current medication includes {b}, {n} mg twice daily.",
        "On examination the blood pressure was {n}/80 mmHg, heart rate 9{n}, and the abdomen was soft.",
        "First, {a} makes this diagnosis likely, because it is consistent with the guideline.",
        "There was no history of travel, recent contact or allergy; the family was informed about the next steps.",
        "Laboratory tests showed {a} of {n}.{age}, and we therefore recommend {b} before discharge.",
    ),
    "Spanish": (
        "Paciente {who} de {age} años que acude por {a} y {b} de {n} días de evolución.",
        "Antecedentes de {a}; en tratamiento con {b}, {n} mg cada 12 horas, sin otros datos de interés.",
        "A la exploración presenta presión arterial de {n}/80 mmHg, el abdomen es blando y no doloroso.",
        "En primer lugar, {a} hace probable este diagnóstico, porque es compatible con la guía clínica.",
        "No refiere viajes recientes, contactos ni alergias; se informó a la familia sobre los próximos pasos.",
        "La analítica mostró {a} de {n},{age}; por lo tanto se recomienda {b} antes del alta.",
    ),
}
WHO = {"English": ("man", "woman"), "Spanish": ("masculino", "femenina")}


def answers(language: str, mb: float) -> list[str]:
    """Texts in one language, with a total size of `mb` million bytes."""
    rng = random.Random(SEED)
    synonyms = json.loads(LEXICON.read_text(encoding="utf-8"))["synonyms"]
    spellings = [spelling for listed in synonyms.values() for spelling in listed]
    terms = sorted(spelling for spelling in spellings if spelling.isascii() == (language == "English"))
    texts: list[str] = []
    size = 0
    while size < mb * 1e6:
        sentences = [
            rng.choice(SENTENCES[language]).format(
                a=rng.choice(terms), b=rng.choice(terms), n=rng.randint(2, 99), age=rng.randint(18, 95),
                who=rng.choice(WHO[language]),
            )
            for _ in range(20)
        ]  # fmt: skip
        texts.append(" ".join(sentences))
        size += len(texts[-1].encode())
    return texts


def throughput(function: Callable[[str], object], texts: Sequence[str], repeats: int) -> float:
    """Million bytes per second, as the median of the repeats."""
    size = sum(len(text.encode()) for text in texts) / 1e6
    seconds: list[float] = []
    for _ in range(repeats):
        start = time.perf_counter()
        for text in texts:
            function(text)
        seconds.append(time.perf_counter() - start)
    return size / statistics.median(seconds)


def hostile(mb: float) -> dict[str, tuple[Terms, list[str]]]:
    """Terms and texts for which a matcher searches far and finds nothing, or only at the very end."""
    words = "infarto agudo de miocardio con elevacion del segmento"
    endless = Terms.of({"entities": {"diagnoses": ["a " * 31 + "b"]}})
    return {
        "starts a long phrase, never ends it": (built_in_terms(), [f"{words} " * int(mb * 1e6 / (len(words) + 1))]),
        "`a a a …` against a phrase of 32 words": (endless, ["a " * int(mb * 1e6 / 2)]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--mb", type=float, default=10, help="million bytes of text per language (default: 10)")
    parser.add_argument("--repeats", type=int, default=5, help="number of measurements (default: 5)")
    arguments = parser.parse_args()
    terms = built_in_terms()
    print("| text | fold MB/s | normalize MB/s | entities MB/s | fold to entities MB/s |\n|---|---|---|---|---|")
    subjects = {language: (terms, answers(language, arguments.mb)) for language in SENTENCES}
    for name, (mine, texts) in (subjects | hostile(arguments.mb / 10)).items():
        normalized = [mine.normalize(text) for text in texts]
        figures = (
            throughput(fold, texts, arguments.repeats),
            throughput(mine.normalize, texts, arguments.repeats),
            throughput(mine.entities, normalized, arguments.repeats),
            throughput(lambda text, mine=mine: mine.entities(mine.normalize(text)), texts, arguments.repeats),  # type: ignore[misc]
        )
        print(f"| {name} | " + " | ".join(f"{figure:.1f}" for figure in figures) + " |")


if __name__ == "__main__":
    main()
