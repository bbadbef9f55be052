"""PyTorch's operator database on the device, against the CPU: gradients, float32."""

from __future__ import annotations

import pytest
import torch

from pinlab import sim
from tests.sim import op_db_exceptions, op_db_harness
from tests.sim.op_db_tally import Tally

sim.install()


def gradients(samples: int) -> Tally:
    """Of every operator that has them."""
    form, wanted = op_db_harness.backward, op_db_harness.has_gradients
    return Tally(form, torch.float32, samples=samples, wanted=wanted)


# One sample an operator: all of them take over a minute.
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_gradients_are_the_cpus_except_for_operators_in_the_table(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tally = gradients(samples=1)
    with capsys.disabled():
        print(f"\n{tally}")
    assert tally.ran > 500
    tally.check(op_db_exceptions.BACKWARD, ())
    tally.check_page()


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_gradients_are_the_cpus_for_every_sample() -> None:
    gradients(samples=op_db_harness.ALL).check(op_db_exceptions.BACKWARD, ())
