"""PyTorch's operator database on the device, against the CPU: forward, float32."""

from __future__ import annotations

import pytest
import torch

from pinlab import sim
from tests.sim import op_db_exceptions, op_db_harness
from tests.sim.op_db_harness import Verdict

sim.install()
SHARE = 0.97


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    """One verdict for each operator."""
    found = op_db_harness.run_all(op_db_harness.forward, lambda op: True, mode="eager")
    return {verdict.name: verdict for verdict in found}


# On one core about 20 s; more where others use the machine.
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_nearly_all_operators_give_the_cpus_result(
    verdicts: dict[str, Verdict], record_property: object, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = [verdict for verdict in verdicts.values() if verdict.kind != "not run"]
    matching = [verdict for verdict in ran if verdict.kind == "matches"]
    share = len(matching) / len(ran)
    with capsys.disabled():
        print(
            f"\noperator database, torch {torch.__version__}, float32, forward: "
            f"{len(matching)} of {len(ran)} operators give the CPU's result ({share:.1%})"
        )
    assert len(ran) > 600
    assert share >= SHARE


def test_no_operator_is_silently_wrong(verdicts: dict[str, Verdict]) -> None:
    assert [str(verdict) for verdict in verdicts.values() if verdict.kind == "wrong"] == []


def test_the_table_of_exceptions_is_exact(verdicts: dict[str, Verdict]) -> None:
    raising = {name for name, verdict in verdicts.items() if verdict.kind == "raises"}
    assert raising == set(op_db_exceptions.FORWARD)


def test_what_the_cpu_refuses_is_left_out(verdicts: dict[str, Verdict]) -> None:
    not_run = {name for name, verdict in verdicts.items() if verdict.kind == "not run"}
    assert not_run == op_db_exceptions.NOT_ON_CPU


def test_the_harness_notices_a_wrong_value_a_wrong_shape_and_a_table_that_is_out_of_date() -> None:
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
    for change in (lambda r: r + 1, lambda r: r[None], lambda r: r.double()):
        assert judge(Wrong(entry, change), op_db_harness.forward).kind == "wrong"
    sparse = judge(Wrong(entry, lambda r: r.to_sparse()), op_db_harness.forward)
    assert sparse.kind == "raises"
