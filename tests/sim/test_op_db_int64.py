"""PyTorch's operator database on the device, against the CPU: forward, int64."""

from __future__ import annotations

import pytest
import torch

from pinlab import sim
from tests.sim import op_db_exceptions, op_db_harness
from tests.sim.op_db_tally import Tally

sim.install()


# In lazy mode, so that results are promised, and made only when somebody looks.
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_operators_give_the_cpus_result_except_those_in_the_table(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tally = Tally(op_db_harness.forward, torch.int64, "lazy", samples=3)
    with capsys.disabled():
        print(f"\n{tally}")
    assert tally.ran > 450
    tally.check(op_db_exceptions.INT64, op_db_exceptions.NOT_ON_CPU)
    tally.check_page()


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_operators_give_the_cpus_result_for_every_sample() -> None:
    tally = Tally(op_db_harness.forward, torch.int64, samples=op_db_harness.ALL)
    tally.check(op_db_exceptions.INT64, op_db_exceptions.NOT_ON_CPU)
