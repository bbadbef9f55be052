"""PyTorch's operator database on the device, against the CPU: forward, by dtype."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import pytest
import torch

from pinlab import sim
from tests.sim import op_db_exceptions, op_db_harness
from tests.sim.op_db_tally import Tally

sim.install()


@dataclass(frozen=True)
class Row:
    """A dtype: what is tried of it in `make test`, and what the table has for it."""

    dtype: torch.dtype
    mode: str
    samples: int
    least: int  # operators that the CPU runs
    table: Collection[str]


ROWS = {
    "float32": Row(torch.float32, "eager", op_db_harness.SAMPLES, 600, op_db_exceptions.FORWARD),
    # In lazy mode, so that results are promised, and made only when somebody looks.
    "int64": Row(torch.int64, "lazy", 3, 450, op_db_exceptions.INT64),
    "bool": Row(torch.bool, "lazy", 3, 330, op_db_exceptions.BOOL),
}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_operators_give_the_cpus_result_except_those_in_the_table(
    row: Row, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = Tally(op_db_harness.forward, row.dtype, row.mode, samples=row.samples)
    with capsys.disabled():
        print(f"\n{tally}")
    assert tally.ran > row.least
    tally.check(row.table, op_db_exceptions.NOT_ON_CPU)
    tally.check_page()


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_operators_give_the_cpus_result_for_every_sample(row: Row) -> None:
    tally = Tally(op_db_harness.forward, row.dtype, samples=op_db_harness.ALL)
    tally.check(row.table, op_db_exceptions.NOT_ON_CPU)


def test_the_harness_notices_a_wrong_value_a_wrong_shape_and_a_table_that_is_out_of_date() -> None:
    from torch.testing._internal.opinfo.core import SampleInput

    class Wrong:
        """An entry of the database whose operator is off on the device only."""

        def __init__(self, entry: object, change: object) -> None:
            self.entry, self.change = entry, change

        def __getattr__(self, name: str) -> object:
            return getattr(self.entry, name)

        def __call__(self, value: torch.Tensor) -> torch.Tensor:
            result = value.exp()
            return self.change(result) if value.device.type == "sim" else result  # type: ignore[operator]

    entry = next(op for op in op_db_harness.entries() if op.name == "exp")
    judge = op_db_harness.judge
    assert judge(Wrong(entry, lambda r: r), op_db_harness.forward).kind == "matches"
    changes = (lambda r: r + 1, lambda r: r[None], lambda r: r.double())
    for change in changes:
        assert judge(Wrong(entry, change), op_db_harness.forward).kind == "wrong"
    late = Wrong(entry, lambda r: r + 1)
    empty, full = (SampleInput(torch.ones(count)) for count in (0, 3))
    vars(late)["sample_inputs"] = lambda *args, **options: [empty] * 9 + [full]
    assert (
        judge(late, op_db_harness.forward).kind == "wrong"
    )  # samples without elements say nothing
    sparse = judge(Wrong(entry, lambda r: r.to_sparse()), op_db_harness.forward)
    assert sparse.kind == "raises"


def test_a_tally_notices_an_operator_that_is_missing_in_the_table_and_one_too_many() -> None:
    tally = Tally(op_db_harness.forward, wanted=lambda op: op.name in ("exp", "to_sparse"))
    assert (tally.matching, tally.ran, tally.share) == (1, 2, 0.5)
    for table in ((), ("to_sparse", "exp")):
        with pytest.raises(AssertionError, match="to_sparse"):
            tally.check(table, ())
    fine = Tally(op_db_harness.forward, wanted=lambda op: op.name == "exp")
    fine.check((), ())
    fine.wrong.append("exp: wrong")
    with pytest.raises(AssertionError, match="exp: wrong"):
        fine.check((), ())
