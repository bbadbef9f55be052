"""Every case, before every tool. A new case's file is tested here with nothing else."""

from __future__ import annotations

import ast
import inspect
import sys
import warnings

import pytest

from pinlab.casebook import Case, cases
from pinlab.casebook.gaps import why_unseen
from tools.casebook_table import PAGE, fenced, gaps, measure, names_culprit, page, unlisted

BUGS = cases(control=False)
CONTROLS = cases(control=True)
REMEDY = "run `python -m tools.casebook_table`"


def by_id(case: Case) -> str:
    return case.id


@pytest.mark.parametrize("case", BUGS, ids=by_id)
def test_the_broken_form_goes_wrong_in_the_way_that_was_reported(case: Case) -> None:
    report = measure(case).report
    assert report.complete
    assert case.wrong in list(report.outcomes)
    assert case.wrong != case.expected


@pytest.mark.parametrize("case", BUGS, ids=by_id)
def test_a_token_shows_the_wrong_value_again(case: Case) -> None:
    token = str(measure(case).report.outcomes[case.wrong][0])
    assert case.replay(token) == case.wrong


@pytest.mark.parametrize("case", BUGS, ids=by_id)
def test_the_fixed_form_is_right_in_every_schedule(case: Case) -> None:
    seen = measure(case, "fixed")
    assert seen.report.correct, seen.report.certificate()
    assert set(map(repr, seen.observed.values())) == {repr(case.expected)}
    assert case.run("fixed")[1] == case.expected


@pytest.mark.parametrize("case", BUGS, ids=by_id)
def test_hazards_names_the_line_unless_a_reason_says_why_not(case: Case) -> None:
    seen = measure(case)
    reason = why_unseen("hazards", case)
    assert names_culprit(case, seen.findings) == (not reason), f"{seen.findings}\n{reason}"


@pytest.mark.parametrize("case", BUGS, ids=by_id)
def test_no_tool_complains_about_the_fixed_form(case: Case) -> None:
    seen = measure(case, "fixed")
    assert not seen.findings, str(seen.findings)
    assert not seen.lint


@pytest.mark.parametrize("case", CONTROLS, ids=by_id)
def test_a_control_is_right_in_every_schedule(case: Case) -> None:
    seen = measure(case)
    assert seen.report.correct, seen.report.certificate()
    assert set(map(repr, seen.observed.values())) == {repr(case.expected)}


@pytest.mark.skipif(sys.platform != "linux", reason="the fence needs Linux")
@pytest.mark.parametrize("case", BUGS, ids=by_id)
def test_the_fence_stops_the_line_unless_a_reason_says_why_not(case: Case) -> None:
    stopped = fenced(case)
    reason = why_unseen("fence", case)
    assert names_culprit(case, stopped) == (not reason), f"{stopped}\n{reason}"


@pytest.mark.skipif(sys.platform != "linux", reason="the fence needs Linux")
@pytest.mark.parametrize("case", CONTROLS, ids=by_id)
def test_the_fence_does_not_stop_a_control(case: Case) -> None:
    assert not fenced(case)


@pytest.mark.parametrize("case", CONTROLS, ids=by_id)
def test_no_tool_complains_about_a_control(case: Case) -> None:
    seen = measure(case)
    assert not seen.findings, str(seen.findings)
    assert not seen.lint


@pytest.mark.parametrize("case", cases(), ids=by_id)
def test_a_case_is_told_in_two_sentences_and_written_one_statement_a_line(case: Case) -> None:
    for text in (case.mechanism, case.repair, case.symptom):
        assert text.endswith((".", "?"))
    assert case.mechanism.count(". ") <= 1
    tree = ast.parse(inspect.getsource(sys.modules[case.broken.__module__]))
    statements = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    assert len(statements) == len(set(statements))


def test_one_of_the_two_lazy_orders_shows_every_bug() -> None:
    for case in BUGS:
        observed = measure(case).observed
        assert case.expected != observed["lazy"] or case.expected != observed["lazy, reversed"]


@pytest.mark.skipif(sys.platform != "linux", reason="the fence needs Linux")
@pytest.mark.parametrize("letter", "BCDWE")
def test_the_fence_does_not_stop_the_fixed_form(letter: str) -> None:
    first = cases(kind=letter, control=False)[0]
    assert not fenced(first, "fixed")


@pytest.mark.skipif(sys.platform != "linux", reason="the fence needs Linux")
def test_every_gap_of_the_coverage_table_has_its_reason() -> None:
    assert [(case.id, tool) for case, tool, reason in gaps() if not reason] == []


@pytest.mark.skipif(sys.platform != "linux", reason="the fence needs Linux")
def test_the_page_is_what_the_tool_writes_of_the_cases_that_it_lists() -> None:
    text = PAGE.read_text(encoding="utf-8")
    new = unlisted(text)
    assert text == page([case for case in cases() if case not in new]), REMEDY
    if new:  # a case is one file: that the page waits for it is a remark, not a failure
        warnings.warn(f"{PAGE.name} lacks {', '.join(map(by_id, new))}: {REMEDY}", stacklevel=1)


def test_a_case_that_the_page_lacks_is_noticed() -> None:
    assert [one.id for one in unlisted("# The casebook\n")] == [one.id for one in cases()]
