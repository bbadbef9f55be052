"""What `explore`, `replay` and `fence` refuse, and that the message names the value."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import numpy as np
import pytest

from pinlab.detect import fence
from pinlab.schedules import explore, replay


def takes_a_batch(batch: int = 1) -> int:
    return batch


async def asynchronous() -> int:
    return 1


async def streaming() -> AsyncIterator[int]:
    yield 1


def generating() -> Iterator[int]:
    yield 1


class Engine:
    def step(self, batch: int) -> int:
        return batch


@pytest.mark.parametrize("run", [explore, fence, lambda program: replay(program, "h")])
@pytest.mark.parametrize(
    ("program", "message"),
    [
        (None, "got None"),
        (lambda batch: batch, "missing a required argument: 'batch'"),
        (Engine().step, "step cannot be called so: missing a required argument: 'batch'"),
        (asynchronous, "asynchronous is an async function"),
        (functools.partial(asynchronous), "is an async function"),
        (streaming, "streaming is an async generator"),
        (generating, "generating is a generator"),
    ],
)
def test_a_program_that_would_not_run_is_refused(run: Any, program: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        run(program)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pieces": True}, "pieces=True"),
        ({"max_schedules": True}, "max_schedules=True"),
        ({"trace": "numpy"}, "trace='numpy'; it must be a list"),
        ({"trace": np}, "it must be a list"),
        ({"trace": 3}, "trace=3; it must be a list"),
    ],
)
def test_an_argument_of_the_wrong_type_is_named(arguments: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        explore(takes_a_batch, **arguments)


def test_a_token_must_be_text() -> None:
    with pytest.raises(TypeError, match="got None"):
        replay(takes_a_batch, None)  # type: ignore[arg-type]


def test_arguments_with_defaults_and_partials_are_programs() -> None:
    assert explore(takes_a_batch, expect=1).correct
    assert explore(functools.partial(Engine().step, 3), expect=3).correct


def test_a_wrapper_that_brings_the_arguments_is_a_program() -> None:
    def form(values: list[int]) -> list[int]:
        return list(values)

    @functools.wraps(form)
    def bound() -> list[int]:
        return form([5, 7])

    assert explore(bound, expect=[5, 7]).correct
