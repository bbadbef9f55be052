"""Both directions: what must be reported is, and nothing else."""

from __future__ import annotations

import pytest

from pinlab.detect.lint import lint_text
from tests.detect.lint.snippets import Snippet, load

SNIPPETS = load()


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda s: s.name)
def test_exactly_the_marked_lines_are_reported(snippet: Snippet) -> None:
    found = {(f.line, f.rule) for f in lint_text(snippet.text)}
    beside = {pair for pair in found - snippet.expected if pair[1] in snippet.anywhere}
    assert found - beside == snippet.expected
    assert {rule for _, rule in beside} == snippet.anywhere


def test_the_corpus_holds_right_and_wrong_code_of_every_rule() -> None:
    rules = {rule for snippet in SNIPPETS for _, rule in snippet.expected}
    assert rules >= {f"PIN00{n}" for n in (1, 3, 4, 5, 6, 7, 8)}
    assert sum(snippet.is_right for snippet in SNIPPETS) >= 20
