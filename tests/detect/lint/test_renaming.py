"""Names, blank lines and comments are not what the findings rest on."""

from __future__ import annotations

import ast
import io
import keyword
import random
import re
import tokenize

import pytest

from pinlab.detect.lint import lint_text
from tests.detect.lint.snippets import Snippet, load

WRONG = [snippet for snippet in load() if snippet.expected]
# Words whose meaning the lint knows, and those that decide what a call may do.
FIXED = re.compile(
    r"^(__\w+__|self|cls|np|th|torch|numpy|wait|synchronize|_.*|[A-Z].*|on_?\w*|.*event.*)$"
)
each_wrong_form = pytest.mark.parametrize("snippet", WRONG, ids=lambda snippet: snippet.name)


def _own_names(text: str) -> set[str]:
    """Locals, parameters and attributes that the snippet itself introduces."""
    tree = ast.parse(text)
    own: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            own.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            own.add(node.attr)
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    known = {"data", "grad", "value", "stream", "lib", "work", "pin_memory", "device", "T", "size"}
    called = {
        node.func.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    keywords = {
        k.arg
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for k in node.keywords
        if k.arg
    }
    return {
        name
        for name in own - imported - known - called - keywords
        if not FIXED.match(name) and not keyword.iskeyword(name)
    }


def _renamed(text: str, suffix: str) -> str:
    """Names only: a word inside a string, `device="cpu"`, is no name, whatever `self.cpu` is."""
    names = _own_names(text)
    if not names:
        return text
    pattern = re.compile(r"\b(" + "|".join(sorted(names)) + r")\b")
    lines = text.splitlines(keepends=True)
    for token in reversed(list(tokenize.generate_tokens(io.StringIO(text).readline))):
        new = token.string
        if token.type == tokenize.NAME:
            new = pattern.sub(rf"\1_q{suffix}", new)
        elif token.type == tokenize.STRING and new.startswith("f"):
            new = re.sub(r"\{.*?\}", lambda m: pattern.sub(rf"\1_q{suffix}", m[0]), new)
        if new != token.string:
            (row, start), end = token.start, token.end[1]
            line = lines[row - 1]
            lines[row - 1] = line[:start] + new + line[end:]
    return "".join(lines)


def _rules(text: str) -> list[tuple[int, str]]:
    return [(finding.line, finding.rule) for finding in lint_text(text)]


@each_wrong_form
def test_renaming_what_a_snippet_names_changes_no_finding(snippet: Snippet) -> None:
    assert _rules(_renamed(snippet.text, "a")) == _rules(snippet.text)


@each_wrong_form
def test_blank_lines_and_comments_only_move_the_findings(snippet: Snippet) -> None:
    chance = random.Random(snippet.name)
    moved: dict[int, int] = {}
    spread: list[str] = []
    for number, line in enumerate(snippet.text.splitlines(), 1):
        spread += chance.choice([[], [], [], [""], ["# a remark"], ["", "    # no"]])
        spread.append(line)
        moved[number] = len(spread)
    before = [(moved[line], rule) for line, rule in _rules(snippet.text)]
    assert _rules("\n".join(spread) + "\n") == before


def test_the_renaming_does_rename() -> None:
    text = "import torch\nh = torch.zeros(1, pin_memory=True)\nh.fill_(0)\n"
    assert "h_qx.fill_(0)" in _renamed(text, "x")


def test_the_renaming_leaves_strings_alone() -> None:
    text = 'def f(self):\n    self.cpu = zeros(1, device="cpu")\n    f"cpu {self.cpu}"\n'
    new = 'def f(self):\n    self.cpu_qx = zeros(1, device="cpu")\n    f"cpu {self.cpu_qx}"\n'
    assert _renamed(text, "x") == new
