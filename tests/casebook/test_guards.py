"""Where a guard was missing is said of every bug of the first thirty-three, and of no control."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pinlab.casebook import GUARDS, case, cases
from pinlab.casebook.guards import BESIDE, PLATFORM
from pinlab.sim.platform import CUDA


def test_every_bug_of_the_first_edition_says_where_its_guard_was_missing() -> None:
    told = [one for one in cases(control=False) if one.id <= "Z71"]
    assert [one.id for one in told if one.guard is None] == []
    assert {str(one.guard) for one in told} == set(GUARDS)


def test_a_case_with_rules_of_its_own_says_platform_or_another_reader() -> None:
    for one in cases(control=False):
        if one.guard is PLATFORM and one.platform == CUDA:
            assert one.kind.letter in "EGI", one.id  # a rule of a library instead


def test_only_beside_is_near() -> None:
    assert [guard.name for guard in GUARDS.values() if not guard.far] == ["beside it"]


def test_a_guard_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="guard 'elsewhere'; it must be one of"):
        replace(case("Z07"), guard="elsewhere")  # type: ignore[arg-type]


def test_a_control_lacks_no_guard() -> None:
    with pytest.raises(ValueError, match="a control lacks no guard"):
        replace(case("C01"), guard=BESIDE)
