"""Inline ignores: with a reason they silence one rule on one line, without one nothing."""

from __future__ import annotations

import pytest

from pinlab.detect.lint import Level, Options, lint_text

HEAD = 'import torch\nh = torch.ones(1, pin_memory=True)\nd = h.to("cuda", non_blocking=True)\n'


def _rules(text: str, level: Level = Level.WARNING) -> list[tuple[int, str]]:
    return [(f.line, f.rule) for f in lint_text(HEAD + text, Options(level=level))]


def test_without_a_comment_the_line_is_reported() -> None:
    assert _rules("h.fill_(0)\n") == [(4, "PIN003")]


@pytest.mark.parametrize(
    "line",
    [
        "h.fill_(0)  # pinlab: ignore[PIN003] the copy was waited for in the driver\n",
        "h.fill_(0)  #pinlab:ignore[PIN003]: the copy was waited for\n",
        "h.fill_(0)  # pinlab: ignore[PIN001, PIN003] two rules, one reason\n",
        "# pinlab: ignore[PIN003] on the line above\nh.fill_(0)\n",
        "# pinlab: ignore[PIN003] above\n\n# and a remark\nh.fill_(0)\n",
        "h.fill_(\n    0,\n)  # pinlab: ignore[PIN003] at the end of a long statement\n",
    ],
)
def test_a_reason_silences_the_line(line: str) -> None:
    assert "PIN003" not in {rule for _, rule in _rules(line)}


@pytest.mark.parametrize(
    ("comment", "says"),
    [
        ("# pinlab: ignore[PIN003]", "no reason"),
        ("# pinlab: ignore[PIN003]   ", "no reason"),
        ("# pinlab: ignore[PIN003] -", "no reason"),
        ("# pinlab: ignore because I say so", "no rule"),
        ("# pinlab: ignore", "no rule"),
        ("# pinlab: ignore[E501] wrong tool", "E501"),
    ],
)
def test_without_a_reason_the_comment_is_itself_a_finding(comment: str, says: str) -> None:
    findings = lint_text(f"{HEAD}h.fill_(0)  {comment}\n")
    assert [f.rule for f in findings] == ["PIN003", "PIN090"]
    assert says in findings[1].message


def test_it_silences_only_the_rule_named() -> None:
    assert _rules("h.fill_(0)  # pinlab: ignore[PIN001] not that one\n") == [(4, "PIN003")]


def test_an_ignore_that_silences_nothing_is_a_note() -> None:
    text = "x = 1  # pinlab: ignore[PIN003] no longer needed\n"
    assert _rules(text) == []
    assert (4, "PIN091") in _rules(text, Level.NOTE)


def test_the_words_in_a_string_are_no_comment() -> None:
    assert _rules('h.fill_(0); x = "# pinlab: ignore[PIN003] not a comment"\n') == [(4, "PIN003")]
