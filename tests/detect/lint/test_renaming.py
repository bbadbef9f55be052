"""Names, blank lines and comments are not what the findings rest on."""

from __future__ import annotations

import ast
import keyword
import re
import string

from hypothesis import given, settings
from hypothesis import strategies as st

from pinlab.detect.lint import lint_text
from tests.detect.lint.snippets import Snippet, load

WRONG = [snippet for snippet in load() if snippet.expected]
# Words whose meaning the lint knows, and those that decide what a call may do.
FIXED = re.compile(
    r"^(__\w+__|self|cls|np|th|torch|numpy|wait|synchronize|_.*|[A-Z].*|on_?\w*|.*event.*)$"
)
SUFFIX = st.text(string.ascii_lowercase, min_size=1, max_size=6)


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
    known = {"data", "value", "stream", "lib", "work", "pin_memory", "device", "T", "size"}
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
    names = _own_names(text)
    if not names:
        return text
    pattern = re.compile(r"\b(" + "|".join(sorted(names, key=len, reverse=True)) + r")\b")
    return pattern.sub(lambda match: f"{match[1]}_q{suffix}", text)


def _rules(text: str) -> list[tuple[int, str]]:
    return [(finding.line, finding.rule) for finding in lint_text(text)]


@settings(max_examples=60, deadline=None)
@given(snippet=st.sampled_from(WRONG), suffix=SUFFIX)
def test_renaming_what_a_snippet_names_changes_no_finding(snippet: Snippet, suffix: str) -> None:
    renamed = _renamed(snippet.text, suffix)
    assert _rules(renamed) == _rules(snippet.text)


@settings(max_examples=60, deadline=None)
@given(snippet=st.sampled_from(WRONG), data=st.data())
def test_blank_lines_and_comments_only_move_the_findings(
    snippet: Snippet, data: st.DataObject
) -> None:
    lines = snippet.text.splitlines()
    moved: dict[int, int] = {}
    spread: list[str] = []
    for number, line in enumerate(lines, 1):
        extra = data.draw(st.sampled_from([[], [], [], [""], ["# a remark"], ["", "    # no"]]))
        spread += extra
        spread.append(line)
        moved[number] = len(spread)
    before = [(moved[line], rule) for line, rule in _rules(snippet.text)]
    assert _rules("\n".join(spread) + "\n") == before


def test_the_renaming_does_rename() -> None:
    text = "import torch\nh = torch.zeros(1, pin_memory=True)\nh.fill_(0)\n"
    assert "h_qx.fill_(0)" in _renamed(text, "x")
