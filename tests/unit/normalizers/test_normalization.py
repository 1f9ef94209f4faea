"""Normalization: the table of the specification, pairs that must stay apart, and properties over all of Unicode."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from unicodedata import category, numeric
from unicodedata import normalize as unicode_form

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import naive
from tests.support import sample

from medcontract.cli.main import main
from medcontract.normalizers.text import (
    _normalize,
    _normalized,
    _tight,
    close,
    equal,
    normalize,
    number,
    steps,
    tight,
)

TABLE = {
    "Metformína 5,0 mg.": "METFORMINA 5.0 MG",
    "5 µg": "5 UG",
    "5 μg": "5 UG",
    "(4,50 - 8,50)": "4.50-8.50",
    "> 100": ">100",
    "Positivo (++) *": "POSITIVO ++",
    "x 10⁶/ul": "X 10^6 UL",
    "1/2 tableta": "1/2 TABLETA",
    "1-2 tabletas": "1-2 TABLETAS",
    "-2,5": "-2.5",
    "[-2,0 a 2,0]": "-2.0 A 2.0",
    "RDW-14": "RDW 14",
    ".5 mg": "0.5 MG",
    ",5 mg": "0.5 MG",
    "-14 - -2": "-14--2",
    "-14 - 2": "-14-2",
    "10⁻³": "10^-3",
    "10⁺³": "10^3",
    "1₅": "1 5",
    "5‰": "5 PERMIL",
    "5 ％": "5 %",
    "1٫5": "1.5",
    "4–8": "4-8",
    "\u0301a": "A",
    "": "",
    " \t\n": "",
}


@pytest.mark.parametrize(("text", "normalized"), TABLE.items())
def test_table(text: str, normalized: str) -> None:
    """The examples of the specification, and a few beside them."""
    assert normalize(text) == normalized


DANGEROUS = [
    *((f"5 {micro}g", "5 mg") for micro in "µμ𝛍𝜇𝝁𝝻𝞵"),
    *((f"5 {micro}{unit}", f"5 m{unit}") for micro in "Μ𝚳𝛭𝜧𝝡𝞛" for unit in ("g", "G", "l", "mol")),
    ("5 µg".upper(), "5 MG"),
    ("1/2", "1-2"),
    ("1/2 tableta", "12 tableta"),
    ("10⁶", "106"),
    ("10⁻³", "10³"),
    ("10³", "103"),
    ("-2.5", "2.5"),
    ("−2.5", "2.5"),
    (".5", "5"),
    (",5", "5"),
    ("< 5", "> 5"),
    ("<= 5", "< 5"),
    ("1.0", "10"),
    ("1,0", "10"),
    ("B1", "B12"),
    ("B 1", "B 12"),
    ("5 %", "5 ‰"),
    ("5 %", "5"),
    ("-14 - -2", "-14 - 2"),
    ("1₅", "15"),
    ("1:640", "1640"),
    ("1/640", "1640"),
    ("4-8", "48"),
    ("++", "+"),
    ("0.5 mg", "0.5 g"),
    ("10 000", "10.000"),
    ("H1N1", "H1N2"),
    *((f"5 {unit}", f"5 {other}") for unit, other in ("㎍㎎", "㎕㎖", "㎛㎜", "㎲㎳", "㎂㎃", "㎶㎷", "㎼㎽")),
    ("1½", "11/2"),
    ("10½", "101/2"),
    ("½", "12"),
    ("≥ 5", "> 5"),
    ("≤ 5", "< 5"),
    ("≤ 5", "≥ 5"),
    ("＜5", "＞5"),
    ("±5", "5"),
    ("±5", "-5"),
    ("+5", "-5"),
    ("5×10³", "5103"),
    ("1 000", "1000"),
    ("1.000", "1000"),
    ("1,000", "1000"),
    ("1’000", "1000"),
    ("3٬500", "3.500"),
    ("٣٫٥", "35"),
    ("5．5", "55"),
    ("1·5", "15"),
    ("5 °C", "5 C"),
    ("Ⅳ", "Ⅵ"),
    ("⅟4", "14"),
    ("-.5", "-5"),
    ("2⁵", "25"),
]


@pytest.mark.parametrize(("one", "other"), DANGEROUS)
def test_dangerous_pairs(one: str, other: str) -> None:
    """What means something else never becomes equal."""
    assert normalize(one) != normalize(other)


KNOWN_EQUAL = [
    ("１０⁶", "106"), ("١٠⁶", "106"), ("5 ‱", "5"), ("x²", "x2"), ("5 γ", "5 g"),
    ("- 2,5", "2,5"), ("-(2,5)", "2,5"), ("→5", "-5"), ("〜5", "-5"), ("..5", "5"), ("A.5", "A 5"), ("(-)", ""),
    ("⩾5", "5"), ("⩽5", "5"), ("≠5", "5"), ("≈5", "5"), ("≪5", "5"), ("≲5", "5"), ("‹5", "5"), ("<\u03385", "<5"),
    ("∓5", "5"), ("√4", "4"), ("∞", ""), ("1②", "12"), ("²5", "25"), ("৴", "1"), ("߅ mg", "mg"), ("5′", "5″"),
    ("5 -3", "5-3"), ("10 ⁻⁶", "10-6"), ("m⁻¹", "m 1"), ("5·0", "5 0"), ("5 mg/kg", "5 mg-kg"), ("1/día", "1 día"),
]  # fmt: skip
"""Equal under the specification as it is written: the normalization is frozen. docs/normalization.md names them."""


@pytest.mark.parametrize(("one", "other"), KNOWN_EQUAL)
def test_known_equalities(one: str, other: str) -> None:
    """A change here is a change of the protocol."""
    assert normalize(one) == normalize(other)


TIGHT = {
    # a dot between two letters, and one after a single letter
    "T.S.H.": "TSH",
    "t.s.h": "TSH",
    "V.O.": "VO",
    "v.o. cada 8 h.": "VO CADA 8 H",
    "p.o": "PO",
    # dashes and apostrophes between two letters
    "co-trimoxazol": "COTRIMOXAZOL",
    "co–trimoxazol": "COTRIMOXAZOL",
    "co trimoxazol": "CO TRIMOXAZOL",
    "anti-TPO": "ANTITPO",
    "O'Higgins": "OHIGGINS",
    "O’Higgins": "OHIGGINS",
    "é’é": "EE",
    "e\u0301’e": "EE",
    # a dot after a word is a space, as in the normalized form
    "mg. y g.": "MG Y G",
    "tab.x": "TABX",
    "tab. x": "TAB X",
    # next to digits nothing is deleted
    "B.12": "B 12",
    "B.-12": "B -12",
    "B-12": "B 12",
    "HbA1c.": "HBA1C",
    "1.A.2": "1 A 2",
    "A.1.B": "A 1 B",
    "5 g.": "5 G",
    "A1.B": "A1 B",
    # a slash, a colon, a comma are never deleted
    "5 U/L": "5 U L",
    "a:b": "A B",
    "a,b": "A B",
    # neighbors are those before any deletion: the second dot follows a dot, not a letter
    "A..B": "A B",
    "A.-B": "A B",
    "-'A": "A",
    # other typographic apostrophes become spaces, also inside of ranges
    "5’ - 3": "5-3",
    "1’000": "1 000",
    "’": "",
    "a’": "A",
    "’a": "A",
    "a’’b": "A B",
    "": "",
}
"""By hand from the rule: `.`, `-`, `'` between two letters, and `.` after a single letter that no digit or `-` follows,
are deleted."""


@pytest.mark.parametrize(("text", "form"), TIGHT.items())
def test_tight_forms(text: str, form: str) -> None:
    """The examples of the specification, and the limits of each condition."""
    assert tight(text) == form


EQUAL = [
    ("T.S.H.", "TSH"), ("T. S. H.", "T.S.H."), ("V.O.", "VO"), ("v.o.", "V.O"), ("co-trimoxazol", "cotrimoxazol"),
    ("co-trimoxazol", "co trimoxazol"), ("5 mg.", "5 mg"), ("O’Higgins", "O'Higgins"), ("O’Higgins", "Ohiggins"),
    ("1 tab. v.o. c/8 h.", "1 tab VO c/8 h"),
]  # fmt: skip
DIFFERENT = [
    ("5 U/L", "5 UL"), ("B.12", "B12"), ("B-12", "B12"), ("cotrimoxazol", "co trimoxazol"), ("T S H", "TSH"),
    ("1.5", "15"), ("A-1", "A1"), ("mg/dl", "mgdl"), ("a,b", "ab"), ("B.-12", "B12"), ("-5", "5"), ("x-5", "x5"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_equal_texts(one: str, other: str) -> None:
    """Texts that differ in punctuation only are equal, in both directions."""
    assert equal(one, other)
    assert equal(other, one)


@pytest.mark.parametrize(("one", "other"), [*DIFFERENT, *DANGEROUS])
def test_different_texts(one: str, other: str) -> None:
    """Texts with another meaning are not equal by their tight forms either."""
    assert not equal(one, other)
    assert not equal(other, one)


_SIGNIFICANT = st.text(st.sampled_from("AbÉ19.-'’‐/, <µ²"), max_size=12)


@settings(max_examples=500, deadline=None)
@given(st.one_of(st.text(), _SIGNIFICANT))
def test_tight_is_total_idempotent_and_normalized(text: str) -> None:
    """No text is refused; a tight form is the tight and the normalized form of itself."""
    once = tight(text)
    assert tight(once) == once
    assert normalize(once) == once
    assert (not once) == (not normalize(text))
    assert once.replace(" ", "") == normalize(text).replace(" ", "")


@settings(max_examples=500, deadline=None)
@given(st.one_of(st.text(), _SIGNIFICANT))
def test_tight_form_of_the_second_implementation(text: str) -> None:
    """Character by character, from the text of the specification."""
    assert tight(text) == naive.tight(text)


@given(st.text(st.characters(exclude_characters=".-'’", exclude_categories=("Pd", "L", "M", "S", "Cs"))))
def test_tight_without_letters_is_normalized(text: str) -> None:
    """Where nothing can be deleted, both forms are the same."""
    assert tight(text) == normalize(text)


def test_tight_over_short_texts() -> None:
    """Idempotent for every short text of the characters that the deletion depends on."""
    for length in range(1, 6):
        for chars in itertools.product("1A.-'’ ", repeat=length):
            once = _tight("".join(chars))
            assert _tight(once) == once
            assert once == naive.tight("".join(chars))


NO_CHARACTER = ("Cn", "Co", "Cs")
ASSIGNED = [chr(code) for code in range(0x110000) if category(chr(code)) not in NO_CHARACTER]


def test_micro_is_never_milli() -> None:
    """Of all characters, none that is a micro sign gives 5 mg."""
    micro = [char for char in ASSIGNED if unicode_form("NFKC", char) in ("μ", "Μ")]
    assert {"µ", "μ", "Μ"} <= set(micro)
    assert [char for char in micro if _normalize(f"5 {char}g") == "5 MG"] == []
    assert _normalize("5 mg") == _normalize("5 Mg") == "5 MG"


def test_idempotent_over_all_characters() -> None:
    """Once is enough, for every character alone and between digits; the outcome is ASCII in upper case."""
    for char in sample(ASSIGNED, 16):
        for text in (char, f"1{char}1"):
            once = _normalize(text)
            assert once.isascii()
            assert once == once.upper()
            assert _normalize(once) == once, (hex(ord(char)), once)


def test_what_is_no_character_is_a_blank() -> None:
    """Code points without a character, of private use, and halves of pairs, each between digits."""
    others = [chr(code) for code in sample(range(0x110000), 16) if category(chr(code)) in NO_CHARACTER]
    assert _normalize("1".join(["", *others, ""])) == " ".join("1" * (len(others) + 1))


def test_idempotent_over_short_texts() -> None:
    """Once is enough, for every short text of what the steps care about."""
    for length in range(1, 6):
        for chars in itertools.product("1A.,-/<( ", repeat=length):
            once = _normalize("".join(chars))
            assert _normalize(once) == once


@settings(max_examples=300, deadline=None)
@given(st.text())
def test_total_and_idempotent(text: str) -> None:
    """No text is refused, and a second time changes nothing."""
    once = normalize(text)
    assert normalize(once) == once
    assert "  " not in once
    assert once == once.strip()


def test_half_a_pair() -> None:
    """A lone surrogate is no character: a blank."""
    assert category("\ud800") == "Cs"
    assert normalize("a\ud800b") == "A B"


def test_a_distinct_text_is_normalized_once() -> None:
    """A million fields of few texts take few steps."""
    _normalized.clear()
    for number_ in range(10_000):
        assert normalize(f"cada {number_ % 7} horas") is normalize(f"cada {number_ % 7} horas")
    assert len(_normalized) == 7


@pytest.mark.parametrize(("text", "found"), [("6,00", "6.00"), ("-2.5", "-2.5"), (" 5 ", "5"), (".5", "0.5")])
def test_numbers(text: str, found: str) -> None:
    """A number is a text whose normalization is nothing else."""
    assert str(number(text)) == found


@pytest.mark.parametrize("text", ["", "> 100", "1/640", "5 mg", "1-2", "1.2.3", "10⁶", "+"])
def test_no_numbers(text: str) -> None:
    """What holds more than a number is none."""
    assert number(text) is None


@pytest.mark.parametrize(
    ("predicted", "labeled", "within"),
    [
        ("1.02", "1.00", True), ("0.98", "1.00", True), ("1.0201", "1.00", False), ("0.9799", "1", False),
        ("-1.02", "-1", True), ("1", "-1", False), ("0", "0", True), ("0.0001", "0", False), ("0,00", "0", True),
        ("102", "100", True), ("5 mg", "5 mg", False), ("0.102", "0.1", True), ("0.1021", "0.1", False),
    ],
)  # fmt: skip
def test_two_percent(predicted: str, labeled: str, within: bool) -> None:
    """The border of the 2 % rule, in decimal: no double is in between."""
    assert close(predicted, labeled, Fraction(2, 100)) == within


def test_steps_end_in_the_normalization() -> None:
    """The last step gives what normalize gives."""
    for text in TABLE:
        assert steps(text)[-1].text == normalize(text)


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    """As text the steps that changed something, as JSON all of them."""
    assert main(["normalize", "5 µg"]) == 0
    out = capsys.readouterr().out
    assert "micro_signs" in out
    assert "decimal_points" not in out
    assert main(["normalize", ".5"]) == 0
    assert "decimal_points" in capsys.readouterr().out
    assert main(["normalize", "--format", "json", "5 µg", ".5"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(each["text"], each["normalized"]) for each in found] == [("5 µg", "5 UG"), (".5", "0.5")]
    assert [list(each) for each in found] == [["text", "normalized", "tight", "steps"]] * 2
    assert found[0]["steps"][0] == {"step": "micro_signs", "text": "5 ug"}


def test_command_shows_both_forms(capsys: pytest.CaptureFixture[str]) -> None:
    """The normalized and the tight form, as text and as JSON."""
    assert main(["normalize", "T.S.H."]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == ["  = T S H", "  tight: TSH"]
    assert main(["normalize", "--format", "json", "T.S.H."]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["normalized"], found["tight"]) == ("T S H", "TSH")


def test_command_shows_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    """A text cannot command the terminal."""
    assert main(["normalize", "a\x1b[2Jb"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "a·[2Jb" in out


def test_json_holds_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    """Nor can it as JSON: what a terminal may obey is escaped, and reads back as it was."""
    text = "a\x1b[2J\x7f\x9b31m\u202eb\ufeff"
    assert main(["normalize", "--format", "json", text]) == 0
    out = capsys.readouterr().out
    assert [c for c in out if not c.isprintable() and c != "\n"] == []
    assert json.loads(out)[0]["text"] == text


def test_digits_of_all_scripts_are_themselves_or_nothing() -> None:
    """No decimal digit becomes another one."""
    digits = [chr(code) for code in range(0x110000) if category(chr(code)) == "Nd"]
    assert [c for c in digits if _normalize(c) not in ("", str(int(c)))] == []


def test_fractions_are_what_they_say() -> None:
    """A character that becomes a fraction is that fraction."""
    found = {c: _normalize(c) for c in map(chr, range(0x110000)) if category(c) == "No"}
    fractions = {c: text for c, text in found.items() if "/" in text}
    assert {"½", "¼", "⅒"} <= fractions.keys()
    assert [c for c, text in fractions.items() if abs(float(Fraction(text)) - numeric(c)) > 1e-9] == []


_PRINTED = st.from_regex(r"-?[0-9]{1,30}(\.[0-9]{1,30})?", fullmatch=True)


@given(_PRINTED, _PRINTED, st.fractions(0, 1, max_denominator=10**6))
def test_close_is_exact(predicted: str, labeled: str, tolerance: Fraction) -> None:
    """The rule says of any two numbers what fractions say."""
    p, g = Fraction(predicted), Fraction(labeled)
    assert close(predicted, labeled, tolerance) == (abs(p - g) <= tolerance * abs(g))


@pytest.mark.parametrize("digits", [50_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_close_with_very_many_digits(digits: int) -> None:
    """Numbers with a million digits are compared digit by digit, before and after the point."""
    ones, zeros = "1" * digits, "0" * (digits - 1)
    assert close(ones, ones + ".5", Fraction(2, 100))
    assert close(f"0.{zeros}51", f"0.{zeros}50", Fraction(2, 100))
    assert not close(f"0.{zeros}52", f"0.{zeros}50", Fraction(2, 100))
    assert not close(ones, "0." + ones, Fraction(2, 100))


def test_long_texts_are_not_kept() -> None:
    """A text of megabytes is normalized, and forgotten."""
    _normalized.clear()
    assert normalize("á" * 5_000) == "A" * 5_000
    assert not _normalized
