"""The verdicts on all operators in one form and dtype, counted and held against the table."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from tests.sim import op_db_harness as harness

if TYPE_CHECKING:
    from torch.testing._internal.opinfo.core import OpInfo

SHARE = 0.99
PAGE = Path(__file__).resolve().parents[2] / "docs" / "device.md"
Wanted = Callable[["OpInfo"], bool]


class Tally:
    """How every operator of the database did.

    Attributes:
        ran: how many operators the CPU runs at all. matching: those with the CPU's result.
        wrong: what differs in silence. raising, not_run: names.
    """

    def __init__(
        self,
        form: harness.Form,
        dtype: torch.dtype = torch.float32,
        mode: str = "eager",
        samples: int = harness.SAMPLES,
        wanted: Wanted = lambda op: True,
    ) -> None:
        self.form, self.dtype = form.__name__, str(dtype).removeprefix("torch.")
        verdicts = harness.run_all(form, wanted, mode, dtype, samples)
        kinds: dict[str, list[Any]] = {"matches": [], "raises": [], "wrong": [], "not run": []}
        for verdict in verdicts:
            kinds[verdict.kind].append(verdict)
        self.wrong = [str(verdict) for verdict in kinds["wrong"]]
        self.raising = {verdict.name: verdict.why for verdict in kinds["raises"]}
        self.not_run = {verdict.name for verdict in kinds["not run"]}
        self.matching = len(kinds["matches"])
        self.ran = len(verdicts) - len(self.not_run)

    @property
    def share(self) -> float:
        """Of the operators that the CPU runs, how many give its result."""
        return self.matching / self.ran

    def __repr__(self) -> str:
        return (
            f"operator database, torch {torch.__version__}, {self.dtype}, {self.form}: "
            f"{self.matching} of {self.ran} operators give the CPU's result ({self.share:.1%})"
        )

    def check(self, exceptions: Collection[str], refused: Collection[str]) -> None:
        """Nothing is wrong in silence, and exactly what the table names does not match."""
        assert not self.wrong, self.wrong
        assert self.raising.keys() == set(exceptions), self.raising
        assert self.not_run == set(refused), self.not_run
        assert self.share >= SHARE, self

    def check_page(self) -> None:
        """The documentation has these counts; they are those of one version of torch."""
        if torch.__version__.startswith("2.13."):
            row = f"| {self.dtype}, {self.form} | {self.matching} of {self.ran} |"
            assert row in PAGE.read_text(encoding="utf-8"), row
