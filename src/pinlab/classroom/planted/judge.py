"""Does a test notice a bug: always, never, or by luck?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pinlab import sim
from pinlab.classroom.planted.suite import Test
from pinlab.serving.input_batch import InputBatch
from pinlab.serving.rate import Rate


def is_red(test: Test, batch_cls: type[InputBatch]) -> bool:
    """Whether the test fails: by an assertion, or because something raised on the way to it.

    >>> is_red(lambda batch_cls: None, InputBatch)
    False
    """
    try:
        test(batch_cls)
    except Exception:
        return True
    return False


def tried(test: Test, batch_cls: type[InputBatch], tries: int = 10) -> Rate:
    """How often the test is red in `tries` tries, each under a schedule chosen by its seed.

    Seeds are 0, 1, 2 …, so the rate is the same in every run. A test that brings schedules of its
    own, or queues no work, does not notice the seed.

    >>> from pinlab.classroom.planted import SUITE
    >>> tried(SUITE["metadata stays"], InputBatch, tries=2)
    Rate: 0 of 2, 0 %, 95 % interval 0 % to 66 %
    """
    sim.install()
    red = 0
    for seed in range(tries):
        with sim.mode("random", seed=seed):
            red += is_red(test, batch_cls)
    return Rate(red, tries)


def word(rate: Rate) -> str:
    """``"caught"`` in every try, ``"missed"`` in every try, else ``"luck"``.

    >>> word(Rate(3, 10))
    'luck'
    """
    return "missed" if rate.hits == 0 else "caught" if rate.hits == rate.tries else "luck"


def squares(table: Mapping[str, Mapping[str, Any] | Sequence[Any]], tests: Sequence[str]) -> Any:
    """A table of bugs by tests as one flat dict, the form in which a prediction is recorded.

    A row is a sequence in the order of `tests`, or a dict by test; rates become words.

    >>> squares({"aliasing": [..., "luck"]}, ["score in range", "5 runs equal"])
    {'aliasing: score in range': Ellipsis, 'aliasing: 5 runs equal': 'luck'}
    """
    flat = {}
    for bug, row in table.items():
        entries = [row[test] for test in tests] if isinstance(row, Mapping) else list(row)
        if len(entries) != len(tests):
            raise ValueError(f"{bug}: {len(entries)} entries for {len(tests)} tests")
        for test, entry in zip(tests, entries, strict=True):
            flat[f"{bug}: {test}"] = word(entry) if isinstance(entry, Rate) else entry
    return flat
