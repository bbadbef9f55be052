"""How many operators of PyTorch's own database give the CPU's result on the simulated device?

Counted as the tests do: up to five samples an operator forward, one for gradients. The operators
that do not, and why, are listed in `tests/sim/op_db_exceptions.py`.

    python -m benchmarks.bench_operators
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator

import torch

from benchmarks.row import Row, report
from pinlab import sim
from tests.sim import op_db_harness
from tests.sim.op_db_tally import SHARE, Tally

FORWARD = (torch.float32, torch.int64, torch.bool)


def rows() -> Iterator[Row]:
    """Forward in three dtypes, against the limit; gradients in float32, reported."""
    sim.install()
    tallies = [Tally(op_db_harness.forward, dtype) for dtype in FORWARD]
    yield from (_row(tally, SHARE) for tally in tallies)
    wanted = op_db_harness.has_gradients
    tallies.append(Tally(op_db_harness.backward, torch.float32, samples=1, wanted=wanted))
    yield _row(tallies[-1], 0)
    wrong = [one for tally in tallies for one in tally.wrong]
    yield Row("operators wrong in silence", len(wrong), "of all these", "exact", at_most=0)


def _row(tally: Tally, share: float) -> Row:
    """How many match."""
    limit = math.ceil(share * tally.ran) if share else None
    name = f"operators with the CPU's result, {tally.dtype}, {tally.form}"
    unit = f"of {tally.ran}"
    return Row(name, tally.matching, unit, "exact", at_least=limit, note=f"{tally.share:.1%}")


if __name__ == "__main__":
    sys.exit(report(rows()))
