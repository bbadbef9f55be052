"""No check is satisfied by an answer that does not look at what it is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from pinlab.classroom.checks import Check, find_check
from pinlab.device import pick_device

device = pick_device()
NUMBERS = (None, True, False, 0, 1, 5, 0.0, "right", [], [3, 5, 2], [2, 4], {}, (1, 2))
ARRAYS = (np.array([3, 5, 2], dtype=np.int32), torch.tensor([3, 5, 2], dtype=torch.int32))


def checks() -> list[Check]:
    found = []
    for lesson in range(10):
        for number in range(1, 5):
            try:
                found.append(find_check(f"{lesson:02}.{number}"))
            except LookupError:
                break
    return found


def returns(value: Any) -> Callable[..., Any]:
    return lambda *arguments: value


class Nothing:
    """A class whose every method is a constant."""

    def __init__(self, *arguments: Any) -> None:
        self.kept = arguments

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return returns(torch.zeros(3, dtype=torch.int32, device=device))


@pytest.mark.parametrize("check", checks(), ids=lambda check: check.name)
def test_a_constant_is_never_right(check: Check) -> None:
    answers: list[Any] = [*NUMBERS, *ARRAYS, Nothing, returns]
    answers += [returns(value) for value in (*NUMBERS, *ARRAYS)]
    answers += [(returns(value), returns(value)) for value in (None, True, [6, 10, 4])]
    right = [answer for answer in answers if check.judge(answer).state == "right"]
    assert right == []


def test_every_lesson_is_tried() -> None:
    assert {check.id[:2] for check in checks()} == {f"{lesson:02}" for lesson in range(10)}
