"""An executor without processes: runs portions in this one, and answers in an order of its own."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any

import pytest

from pinlab.schedules import crew, worker


class InTurn:
    """Runs a random one of the portions that are out, whenever the crew waits.

    Args:
        seed: of the order. lose: so many portions are lost at first, each with an error.
    """

    def __init__(self, seed: int, lose: int = 0) -> None:
        self.random = random.Random(seed)
        self.lose = lose
        self.out: dict[Future[Any], Callable[[], Any]] = {}
        self.portions: list[worker.Portion] = []

    def submit(self, work: Callable[..., Any], job: Any, portion: worker.Portion) -> Future[Any]:
        future: Future[Any] = Future()
        self.portions.append(portion)
        self.out[future] = lambda: work(job, portion)
        return future

    def wait(self, futures: Iterable[Future[Any]], **options: Any) -> Any:
        """What stands for `concurrent.futures.wait`."""
        future = self.random.choice([f for f in self.out if f in set(futures)])
        run = self.out.pop(future)
        if self.lose:
            self.lose -= 1
            future.set_exception(ConnectionError("the worker went away"))
        else:
            future.set_result(run())
        return {future}, set()


@pytest.fixture
def in_turn(monkeypatch: pytest.MonkeyPatch) -> Callable[..., InTurn]:
    """Makes such executors; the check for threads is off, as no two portions run at once."""

    def make(seed: int = 0, lose: int = 0, most: int = 3) -> InTurn:
        executor = InTurn(seed, lose)
        portion_of = worker.Portion

        def small(*args: Any) -> worker.Portion:
            number, plans, _, left = args
            return portion_of(number, plans, 60.0, min(left, most))

        monkeypatch.setattr(crew, "wait", executor.wait)
        monkeypatch.setattr(crew, "Portion", small)
        monkeypatch.setattr(crew, "conducted", set())
        return executor

    return make
