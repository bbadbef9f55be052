"""How every check behaves: open stubs, hints, learners' exceptions, and where checks are found."""

from __future__ import annotations

from functools import partial

import pytest

from pinlab import classroom
from pinlab.classroom.checks import Check, find_check
from pinlab.classroom.checks.attempt import LearnerError, attempt, is_stub
from pinlab.classroom.checks.verdict import right, wrong


def doubled(function: object) -> object:
    return right("Twice.") if attempt(function, 2) == 4 else wrong("Not twice.", "M3", "print(2)")


@pytest.fixture
def check() -> Check:
    return Check("01.9", doubled, hints=("first", "second", "third"))


def dots(x): ...


def docstring_only(x):
    """Return it twice."""


def returns_dots(x):
    return ...


@pytest.mark.parametrize("stub", [..., None, dots, docstring_only, returns_dots])
def test_an_unfilled_stub_is_not_answered_yet(check: Check, stub: object, capsys) -> None:
    check(stub)
    out = capsys.readouterr().out
    assert out.startswith("check_01_9: not answered yet.")
    assert "check_01_9.hint()" in out


def test_a_filled_function_is_no_stub() -> None:
    assert not any(map(is_stub, (lambda x: x, lambda: 5, print, Check, 3)))


def test_right_and_wrong_are_told_in_words(check: Check, capsys) -> None:
    check(lambda x: 2 * x)
    assert capsys.readouterr().out == "check_01_9: right. Twice.\n"
    check(lambda x: x)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "check_01_9: not yet. Not twice."
    assert lines[1].startswith("  M3: “")
    assert lines[-1] == "  To see it: print(2)"


def test_hints_come_one_after_the_other_and_the_last_stays(check: Check, capsys) -> None:
    for _ in range(4):
        check.hint()
    lines = capsys.readouterr().out.splitlines()
    assert [line[:6] for line in lines] == ["hint 1", "hint 2", "hint 3", "hint 3"]
    assert lines[0] == "hint 1 of 3: first"
    assert "solution" in lines[2]
    assert "solution" not in lines[1]


def test_a_hint_can_be_asked_for_by_number(check: Check, capsys) -> None:
    check.hint(2)
    check.hint()
    assert [line[:6] for line in capsys.readouterr().out.splitlines()] == ["hint 2", "hint 3"]
    for number in (0, 4, "two"):
        with pytest.raises(ValueError, match=r"check_01_9 has hints 1 to 3, not"):
            check.hint(number)


def raises_in_its_second_line(x):
    y = x
    return y.clone()


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (raises_in_its_second_line, ("AttributeError", "return y.clone()", "numpy's is copy()")),
        (lambda: 3, ("TypeError", "keep the parameters of the stub")),
        (lambda x: unknown_name, ("NameError", "neither your function nor a cell above")),  # noqa: F821
        (lambda x: x / 0, ("ZeroDivisionError", "division by zero")),
        (lambda x: x + ..., ("TypeError", "still dots")),
        (4, ("takes the function itself, not 4",)),
    ],
)
def test_a_learners_exception_becomes_a_verdict(check: Check, function, words) -> None:
    verdict = check.judge(function)
    assert verdict.state == "wrong"
    for word in words:
        assert word in str(verdict)


def test_an_interrupt_is_not_swallowed() -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attempt(stop)
    with pytest.raises(LearnerError):
        attempt(lambda: 1 / 0)


class Careless:
    def look(self) -> object:
        return self.nothing_of_this_name  # type: ignore[attr-defined]


def test_the_line_shown_is_the_learners_also_within_a_class() -> None:
    with pytest.raises(LearnerError, match=r"in the line: return self\.nothing_of_this_name"):
        attempt(Careless().look)
    with pytest.raises(LearnerError, match=r"in the line: return self\.nothing_of_this_name"):
        attempt(partial(Careless.look, Careless()))


def test_a_mistake_in_the_grading_itself_is_not_blamed_on_the_learner() -> None:
    broken = Check("01.9", lambda answer: 1 / 0, hints=("a", "b"))
    with pytest.raises(ZeroDivisionError):
        broken.judge(3)


def test_a_check_needs_two_hints_and_an_id_and_beliefs_must_exist() -> None:
    with pytest.raises(ValueError, match="1 hints, should be 2 or more"):
        Check("01.9", doubled, hints=("one",))
    with pytest.raises(ValueError, match="of the form"):
        Check("1.9", doubled, hints=("one", "two"))
    with pytest.raises(ValueError, match="no belief 'M99'"):
        wrong("No.", "M99")


def test_checks_are_attributes_of_the_classroom_by_lesson_and_number() -> None:
    assert classroom.check_01_2 is find_check("01.2")
    with pytest.raises(AttributeError, match=r"no 01\.99 among the checks of lesson 01: 01\.1"):
        classroom.check_01_99  # noqa: B018
    with pytest.raises(AttributeError, match="lesson 99 has no checks"):
        classroom.check_99_1  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'chekc_01_1'"):
        classroom.chekc_01_1  # noqa: B018
