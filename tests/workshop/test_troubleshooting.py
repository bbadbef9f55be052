"""Troubleshooting: each entry has message, cause and cure, and our own messages are still ours."""

from __future__ import annotations

import ast
import re

import pytest

from pinlab.environment import locked
from tests.workshop.markdown import ROOT, headings, section

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
ENTRIES = [words for level, words in headings(PAGE) if level == 3]


def strings_of_the_project() -> str:
    """Every string constant of the sources, f-strings in parts; and the Makefile."""
    found = [(ROOT / "Makefile").read_text(encoding="utf-8")]
    for folder in ("src", "tools", "tests/browser"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "lint/flow" in path.as_posix():
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found.append(node.value)
    return "\n".join(found)


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_has_a_message_a_cause_and_a_cure(entry: str) -> None:
    text = section(PAGE, f"### {entry}")
    message, cause = text.index("```"), text.index("\n**Because** ")
    assert message < cause < text.index("\n**Do** ")


def test_there_are_entries_for_what_is_known_to_go_wrong() -> None:
    assert len(ENTRIES) >= 25
    for word in ("There is no make", "Python is too old", "gigabytes", "port", "root", "conda"):
        assert any(word in entry for entry in ENTRIES), word
    for word in ("HeldStreamError", "ulimit -l", "OMP_NUM_THREADS", "git restore notebooks"):
        assert word in PAGE, word


def test_messages_of_the_project_are_quoted_as_they_are() -> None:
    ours = re.findall(r"^```text\n(.*?)\n```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(ours) >= 12
    known = strings_of_the_project()
    for message in ours:
        if message.startswith(("note ", "FAIL ")):
            continue  # a line of the check, put together from parts; see below
        for part in re.split("…|(?=; leave)", message):  # … and where two strings are joined
            assert part.strip() in known, part


def test_lines_of_the_check_are_quoted_as_it_prints_them() -> None:
    line = str(locked(True, False, "0 bytes")).splitlines()[0]
    assert f"```text\n{line}\n```" in PAGE


def test_the_check_refers_to_an_entry_that_exists() -> None:
    source = (ROOT / "src" / "pinlab" / "environment.py").read_text(encoding="utf-8")
    (named,) = re.findall(r"see “([^”]+)” there", source)
    assert named in ENTRIES
