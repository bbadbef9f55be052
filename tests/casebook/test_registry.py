"""Finding the cases by their files, and saying which file is wrong."""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from pinlab.casebook import KINDS, CaseFileError, case, cases, scan

PROPER = """
    from pinlab.casebook.case import Case
    from pinlab.casebook.kinds import HOST_ALIAS

    def broken(device):
        return 1, 2

    def fixed(device):
        return 2, 2

    CASE = Case(
        id="Z98", title="A title", public_id="owner/repository#1", kind=HOST_ALIAS,
        symptom="Seen.", mechanism="So.", repair="Thus.", broken=broken, fixed=fixed,
        culprit="return 1, 2", wrong=1,
    )
"""
Book = Callable[..., ModuleType]


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Book:
    """Makes a package of cases from files given by name, as a reader with bugs of their own."""

    def make(**files: str) -> ModuleType:
        name = f"book_{tmp_path.name}"
        folder = tmp_path / name
        folder.mkdir()
        (folder / "__init__.py").touch()
        for stem, text in files.items():
            (folder / f"{stem}.py").write_text(textwrap.dedent(text))
        monkeypatch.syspath_prepend(str(tmp_path))
        return importlib.import_module(name)

    return make


def test_a_file_is_all_that_a_new_case_needs(book: Book) -> None:
    found = scan(book(z98_mine=PROPER, c99_none=_control()))
    assert list(found) == ["Z98", "C99"]
    assert found["Z98"].run("fixed") == (2, 2)


def _control() -> str:
    text = PROPER.replace("Z98", "C99").replace("fixed=fixed,", "")
    return text.replace('culprit="return 1, 2", wrong=1,', "")


@pytest.mark.parametrize(
    ("stem", "text", "message"),
    [
        ("z98_mine", "X = 1", "z98_mine.py: CASE is None"),
        ("z98_mine", "CASE = 'a case'", "z98_mine.py: CASE is 'a case'"),
        ("z98_mine", "import nothing_of_this_name", "z98_mine.py cannot be imported: No module"),
        ("z98_mine", "def f(:", "z98_mine.py cannot be imported: invalid syntax"),
        ("z97_mine", PROPER, "z97_mine.py: CASE is Z98, the file's name says Z97"),
        ("z98", PROPER, "z98.py: a case's file is named zNN_what.py"),
        ("helpers", PROPER, "helpers.py: a case's file is named zNN_what.py"),
        ("z98_mine", PROPER.replace("wrong=1,", ""), "a bug needs its culprit and its wrong value"),
        ("z98_mine", PROPER.replace("fixed=fixed,", ""), "a bug needs a fixed form"),
        ("z98_mine", PROPER.replace("HOST_ALIAS,", "'A',"), "kind 'A'; it must be one of"),
        ("z98_mine", PROPER.replace('1, 2"', '3"'), "culprit 'return 3' is no statement"),
        ("z98_mine", PROPER.replace("repository#1", "repository"), "public_id 'owner/repository'"),
        ("z98_mine", PROPER.replace("Seen.", " "), "symptom is empty"),
        ("z98_mine", PROPER.replace("=broken", "=None"), "broken is None; it must be a function"),
        (
            "z98_mine",
            PROPER + "    from pinlab.casebook.z07_edited_after_upload import CASE\n",
            "CASE is Z07, the file's name says Z98",
        ),
    ],
)
def test_a_file_without_a_proper_case_is_named(
    book: Book, stem: str, text: str, message: str
) -> None:
    with pytest.raises(CaseFileError) as caught:
        scan(book(**{stem: text}))
    assert message in str(caught.value)
    assert f"{stem}.py" in str(caught.value)


def test_two_files_for_one_case_are_an_error(book: Book) -> None:
    with pytest.raises(CaseFileError, match=r"z98_two\.py: there is another file for Z98"):
        scan(book(z98_one=PROPER, z98_two=PROPER))


def test_a_form_of_another_file_is_an_error(book: Book) -> None:
    elsewhere = PROPER.replace(
        "return 2, 2", "return 2, 2\n\n    from os.path import join as fixed"
    )
    with pytest.raises(CaseFileError, match="its fixed form is from posixpath"):
        scan(book(z98_mine=elsewhere))


def test_cases_are_filtered_by_kind_and_by_being_a_bug() -> None:
    everything = cases()
    assert {one.id for one in cases(control=True)} >= {f"C{i:02}" for i in range(1, 11)}
    assert len(cases(control=False)) + len(cases(control=True)) == len(everything)
    for letter, kind in KINDS.items():
        assert cases(kind=letter) == cases(kind=kind.name) == cases(kind=kind)
        assert cases(kind=letter) == [one for one in everything if one.kind is kind]


def test_unknown_names_are_answered_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="no kind 'Q'; known are A, host alias; B, source edited"):
        cases(kind="Q")
    with pytest.raises(KeyError, match="no case 'Z00'; there are Z01, Z02"):
        case("Z00")
    with pytest.raises(ValueError, match="C01 has no form 'fixed', only broken"):
        case("C01").explore("fixed")


def test_a_form_of_ones_own_is_held_against_the_case() -> None:
    z07 = case("Z07")

    def mine(device: object) -> tuple[list[int], None]:
        return [1, 2, 3], None

    report = z07.explore(mine)
    assert report.correct
    assert report.name == 'case("Z07").program(mine)'


def test_what_a_report_says_can_be_run_as_it_stands() -> None:
    report = case("Z11").explore()
    call = report.replay_call(report.counterexample)
    assert call == 'replay(case("Z11").program("broken"), "h")'
    assert repr(case("Z11")).startswith("<Z11 vllm-project/vllm#24527, kind C, buffer refilled:")
    assert "control, suspected of B" in repr(case("C09"))


def test_source_and_difference_show_the_lines_that_matter() -> None:
    z08 = case("Z08")
    assert "used.zero_()" in z08.source("broken")
    assert z08.difference().splitlines() == [
        "-    there.copy_(used, non_blocking=True)",
        "+    there.copy_(used.clone().pin_memory(), non_blocking=True)",
    ]
    assert case("C01").difference() == ""
