"""Check 04.3: mean pooling by cumulative sums, without a wait and without a loop over requests.

Graded by what it returns, by what moves when only one of its inputs is wrong, and by what it
queues. Numbers are compared with the plain mean of each prompt in float64.
"""

from __future__ import annotations

from typing import Any

import torch

from pinlab import sim
from pinlab.classroom.checks.attempt import attempt
from pinlab.classroom.checks.verdict import Verdict, right, wrong
from pinlab.device import pick_device

CASES = ((4, 6, 2), (1, 1, 1, 4), (6,), (2, 1, 7, 1, 3, 2))
HIDDEN = 4
ROUNDING = 1e-4  # float32 sums of small numbers; a missing token moves far more


def hidden_states(lens: tuple[int, ...]) -> torch.Tensor:
    """Seeded vectors for prompts of these lengths, [sum of lens, 4] float32, on the host."""
    generator = torch.Generator().manual_seed(len(lens))
    return torch.randn(sum(lens), HIDDEN, generator=generator) + 1.0


def plain_mean(hidden: torch.Tensor, lens: tuple[int, ...]) -> torch.Tensor:
    """The mean of each prompt by a loop, [requests, hidden] float64.

    >>> plain_mean(torch.tensor([[1.0], [3.0], [10.0]]), (2, 1)).tolist()
    [[2.0], [10.0]]
    """
    return torch.stack([part.double().mean(0) for part in hidden.split(list(lens))])


def grade_mean_pool(mean_pool: Any) -> Verdict:
    for lens in CASES:
        said = _compared(mean_pool, lens)
        if said is not None:
            return said
    said = _divisor(mean_pool)
    if said is not None:
        return said
    if pick_device().type == "sim":
        said = _queued(mean_pool)
        if said is not None:
            return said
    return right(
        "The means agree with the loop, the host waits for nothing, boundaries come from the "
        "scheduled tokens, and prompt_lens is read by the division alone."
    )


def _pooled(mean_pool: Any, lens: tuple[int, ...], divisor: int = 1) -> Any:
    return attempt(mean_pool, *_inputs(lens, divisor))


def _inputs(lens: tuple[int, ...], divisor: int = 1) -> tuple[torch.Tensor, ...]:
    """What the exercise is given: vectors on the device, two tensors of lengths on the host."""
    prompt_lens = torch.tensor(lens, dtype=torch.int32) // divisor
    return hidden_states(lens).to(pick_device()), torch.tensor(lens), prompt_lens


def _compared(mean_pool: Any, lens: tuple[int, ...]) -> Verdict | None:
    result = _pooled(mean_pool, lens)
    if not isinstance(result, torch.Tensor):
        return wrong(f"mean_pool should return a tensor, yours returns {type(result).__name__}.")
    if result.device.type != pick_device().type:
        return wrong(
            "The result is on the host. Pooled vectors stay on the device until asked for."
        )
    shape = [len(lens), HIDDEN]
    if list(result.shape) != shape:
        return wrong(
            f"For prompts of {lens} tokens the result has the shape {list(result.shape)}, should "
            f"be {shape}: one vector a request."
        )
    host, got = hidden_states(lens).double(), attempt(result.cpu).double()
    means, sums = plain_mean(host, lens), [part.sum(0) for part in host.split(list(lens))]
    if torch.allclose(got, means, atol=ROUNDING):
        return None
    firsts = torch.stack([part[0] for part in host.split(list(lens))])
    column = torch.tensor(lens).unsqueeze(1)
    if torch.allclose(got, torch.stack(sums), atol=ROUNDING):
        return wrong("These are the sums. The division is missing.")
    if torch.allclose(got, means - firsts / column, atol=ROUNDING):
        return wrong(
            "Each sum lacks its first token: running[last] - running[first] takes away what stood "
            "at the first token, and that includes the token itself."
        )
    row = int((got - means).abs().amax(1).argmax())
    return wrong(
        f"For prompts of {lens} tokens request {row} gets {_short(got[row])}, the loop gives "
        f"{_short(means[row])}."
    )


def _divisor(mean_pool: Any) -> Verdict | None:
    """Only the division may read prompt_lens: half the length is twice the vector."""
    lens = CASES[0]
    once = _pooled(mean_pool, lens).cpu()
    halved = _pooled(mean_pool, lens, divisor=2)
    if not isinstance(halved, torch.Tensor) or halved.shape != once.shape:
        return wrong("With other prompt_lens the shape changes. Boundaries come from `scheduled`.")
    got = attempt(halved.cpu)
    if torch.allclose(got, once * 2, atol=ROUNDING):
        return None
    if torch.allclose(got, once, atol=ROUNDING):
        return wrong(
            "Right means, but prompt_lens is not read: you divide by `scheduled`. vLLM divides by "
            "prompt_lens, and which of the two is read will matter."
        )
    return wrong("With other prompt_lens the boundaries move. Take them from `scheduled` alone.")


def _queued(mean_pool: Any) -> Verdict | None:
    counts = []
    for lens in (CASES[0], CASES[-1]):
        inputs = _inputs(lens)
        with sim.mode("lazy"):
            with sim.record() as run:
                attempt(mean_pool, *inputs)
            if any(event.kind == "wait" for event in run.host):
                return wrong(
                    "Right, but the host waits for the device in between. A .to(device) without "
                    "non_blocking=True does, an .item(), .tolist() or .cpu() of a device tensor, "
                    "and a Python loop over one. Boundaries are known on the host."
                )
        counts.append(len(run.operations))
    if counts[0] == counts[1]:
        return None
    return wrong(
        f"Right, but it queues {counts[0]} operations for {len(CASES[0])} requests and "
        f"{counts[1]} for {len(CASES[-1])}. With a running sum the number is the same for any."
    )


def _short(vector: torch.Tensor) -> str:
    return "[" + ", ".join(f"{value:.3f}" for value in vector.tolist()) + "]"
