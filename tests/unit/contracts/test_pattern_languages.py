"""The patterns of the schemas mean the same in Python, JavaScript, Rust and Java, line breaks at the end included."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter, ValidationError

from medcontract.contracts.base import Date, Guid, Matching, NoError, RelativePath, Str

LINE_BREAKS = ("\n", "\r", "\r\n", "\x0b", "\x0c", "\x85", "\u2028", "\u2029")
"""What `$` may stop before, in one language or another."""
TYPES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "text": (Str, ("a", " a ", "", " ", "\xa0", "\t\n\v\f\r \xa0", "\u3000", "\u200b")),
    "no error": (NoError, ("", " ", "\t\n\v\f\r \xa0", "a", " a", "a ", "\u3000", "\u200b")),
    "date": (Date, ("2026-03-31", "2026-03-31T10:00:00Z", "2026-13-01", "2026-3-1", "x2026-03-31")),
    "guid": (Guid, ("01234567-89ab-cdef-0123-456789ABCDEF", "01234567-89ab-cdef-0123-456789ABCDE", "x")),
    "path": (RelativePath, ("a/b.png", "a", "../a", "a/..", "/a", "C:", "C:\\a", ".", "..", "a//b", "")),
    "matching": (Annotated[str, Matching("ICU-[0-9]{4}")], ("ICU-0001", "ICU-001", "xICU-0001", "ICU-00011")),
    "matching anything": (Annotated[str, Matching("[^a]*")], ("", "b", "a", "ba", "\u3000")),
}
STRINGS = {
    name: [
        made for string in strings for end in ("", *LINE_BREAKS) for made in dict.fromkeys((string + end, end + string))
    ]
    for name, (_, strings) in TYPES.items()
}
each_type = pytest.mark.parametrize("name", sorted(TYPES))

Find = Callable[[list[tuple[str, str]]], list[bool]]
"""Whether patterns are found in strings."""


def schema_of(name: str) -> dict[str, Any]:
    schema = TypeAdapter(TYPES[name][0]).json_schema()
    found: dict[str, Any] = schema.get("anyOf", [schema])[0]
    assert set(found) <= {"type", "pattern", "not", "maxLength"}
    return found


def by_model(name: str) -> list[bool]:
    """What Pydantic says, which uses the patterns of Rust."""
    adapter = TypeAdapter(TYPES[name][0])

    def accepts(string: str) -> bool:
        try:
            adapter.validate_python(string)
        except ValidationError:
            return False
        return True

    return [accepts(string) for string in STRINGS[name]]


def by_search(name: str, find: Find) -> list[bool]:
    """What a validator says that searches for the patterns of the schema with the patterns of its language."""
    schema = schema_of(name)
    strings = STRINGS[name]
    verdict = [len(string) <= schema.get("maxLength", 1000) for string in strings]
    for pattern, wanted in ((schema.get("pattern"), True), (schema.get("not", {}).get("pattern"), False)):
        if pattern is not None:
            found = find([(pattern, string) for string in strings])
            verdict = [so_far and here == wanted for so_far, here in zip(verdict, found, strict=True)]
    return verdict


@each_type
def test_python_and_rust(name: str) -> None:
    """jsonschema (Python) and Pydantic (Rust) agree, and neither accepts or refuses everything."""
    validator = Draft202012Validator(schema_of(name))
    verdict = by_model(name)
    assert [validator.is_valid(string) for string in STRINGS[name]] == verdict
    assert {True, False} == set(verdict)


@pytest.mark.sampled(4)
@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
@each_type
def test_javascript(name: str, tmp_path: Path) -> None:
    """JavaScript, in Unicode mode, agrees."""

    def find(pairs: list[tuple[str, str]]) -> list[bool]:
        question = tmp_path / "pairs.json"
        question.write_text(json.dumps(pairs), encoding="utf-8")
        script = (
            'const pairs = JSON.parse(require("fs").readFileSync(process.argv[1], "utf8"));'
            'console.log(JSON.stringify(pairs.map(([pattern, text]) => new RegExp(pattern, "u").test(text))));'
        )
        done = subprocess.run(["node", "-e", script, str(question)], capture_output=True, check=True)
        found: list[bool] = json.loads(done.stdout)
        return found

    assert by_search(name, find) == by_model(name)


JAVA = """
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import java.util.regex.Pattern;

class Search {
  public static void main(String[] files) throws Exception {
    for (String line : Files.readAllLines(Path.of(files[0]))) {
      String[] pair = line.split(" ", -1);
      System.out.print(Pattern.compile(text(pair[0])).matcher(text(pair[1])).find() ? "1" : "0");
    }
  }

  static String text(String hex) {
    return new String(HexFormat.of().parseHex(hex), StandardCharsets.UTF_8);
  }
}
"""


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> Find:
    """Java's `find()`, compiled once."""
    folder = tmp_path_factory.mktemp("java")
    (folder / "Search.java").write_text(JAVA, encoding="utf-8")
    subprocess.run(["javac", "-d", str(folder), str(folder / "Search.java")], check=True)

    def find(pairs: list[tuple[str, str]]) -> list[bool]:
        question = folder / "pairs.txt"
        lines = [f"{pattern.encode().hex()} {string.encode().hex()}\n" for pattern, string in pairs]
        question.write_text("".join(lines), encoding="utf-8")
        done = subprocess.run(
            ["java", "-cp", str(folder), "Search", str(question)], capture_output=True, encoding="utf-8", check=True
        )
        return [sign == "1" for sign in done.stdout]

    return find


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("javac") is None, reason="no Java")
@each_type
def test_java(name: str, java: Find) -> None:
    """Java agrees, although its `$` stops before U+0085, U+2028 and U+2029 too."""
    assert by_search(name, java) == by_model(name)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("javac") is None, reason="no Java")
def test_java_reads_the_dollar_sign_otherwise(java: Find) -> None:
    """Why no schema may rely on `$` alone: Java finds `^[ ]*$` in a string that is not blank."""
    assert java([("^[ ]*$", "\u2028"), ("^[ ]*$", "a\u2028"), ("^a$", "a\r")]) == [True, False, True]
