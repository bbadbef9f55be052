"""Random programs of views, in-place operators and results, run on the CPU and on the device.

Both sides take the same steps; after some of them all tensors are compared. What torch does about
memory that is shared (a write seen through other views, outputs that overlap inputs, headers that
move) is thereby checked against torch itself.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

Tensors = list[torch.Tensor]
Step = Callable[[Tensors], Any]

# Given the tensors, one of them (x), another (y), a dimension, a number.
VIEWS: dict[str, Callable[..., Any]] = {
    "slice": lambda x, y, d, n: torch.ops.aten.slice(x, d, 1, 9, 2),
    "narrow": lambda x, y, d, n: x.narrow(d, 0, 1),
    "select": lambda x, y, d, n: x.select(d, 0),
    "unsqueeze": lambda x, y, d, n: x.unsqueeze(0),
    "transpose": lambda x, y, d, n: x.transpose(d, 0),
    "squeeze": lambda x, y, d, n: x.squeeze(),
    "reshape": lambda x, y, d, n: x.reshape(-1),
    "view": lambda x, y, d, n: x.view(-1),
    "expand": lambda x, y, d, n: x.expand(2, *x.shape),
    "contiguous": lambda x, y, d, n: x.contiguous(),
    "to": lambda x, y, d, n: x.to(x.dtype),
    "detach": lambda x, y, d, n: x.detach(),
    "data": lambda x, y, d, n: x.data,
    "diagonal": lambda x, y, d, n: x.diagonal(),
    "unfold": lambda x, y, d, n: x.unfold(d, 1, 1),
    "real": lambda x, y, d, n: torch.real(x),
    "imag": lambda x, y, d, n: x.imag,
    "conj": lambda x, y, d, n: x.conj(),
    "complex pairs": lambda x, y, d, n: torch.view_as_real(torch.view_as_complex(x)),
    "other dtype": lambda x, y, d, n: x.view(torch.int32),
    "chunk": lambda x, y, d, n: x.chunk(2, d)[0],
    "unbind": lambda x, y, d, n: x.unbind(d)[0],
    "unsafe_split": lambda x, y, d, n: x.unsafe_split(1, d)[0],
    "as_strided": lambda x, y, d, n: x.as_strided(x.shape, x.stride(), x.storage_offset()),
    "positive": lambda x, y, d, n: x.positive(),
    "mT": lambda x, y, d, n: x.mT,
    "atleast_2d": lambda x, y, d, n: torch.atleast_2d(x),
}
RESULTS: dict[str, Callable[..., Any]] = {
    "neg": lambda x, y, d, n: -x,
    "clone": lambda x, y, d, n: x.clone(),
    "flip": lambda x, y, d, n: x.flip(d),
    "cumsum": lambda x, y, d, n: x.cumsum(d),
    "sort": lambda x, y, d, n: x.sort()[0],
    "argmax": lambda x, y, d, n: x.argmax(),
    "unique": lambda x, y, d, n: torch.unique(x),
    "nonzero": lambda x, y, d, n: x.nonzero(),
    "half": lambda x, y, d, n: x.half(),
    "long": lambda x, y, d, n: x.long(),
    "bool": lambda x, y, d, n: x.bool(),
    "add": lambda x, y, d, n: x + y,
    "scale": lambda x, y, d, n: x * n,
    "less": lambda x, y, d, n: x < y,
    "divide": lambda x, y, d, n: x / n,
    "where": lambda x, y, d, n: torch.where(x > 0, y, n),
    "matmul": lambda x, y, d, n: x @ y,
    "cat": lambda x, y, d, n: torch.cat([x, y]),
    "lerp": lambda x, y, d, n: torch.lerp(x, y, 0.5),
    "zeros": lambda x, y, d, n: torch.zeros_like(x),
}
WRITES: dict[str, Callable[..., Any]] = {
    "zero_": lambda x, y, d, n: x.zero_(),
    "fill_": lambda x, y, d, n: x.fill_(n),
    "add_ number": lambda x, y, d, n: x.add_(n),
    "mul_ number": lambda x, y, d, n: x.mul_(n),
    "clamp_": lambda x, y, d, n: x.clamp_(max=n),
    "relu_": lambda x, y, d, n: x.relu_(),
    "cumsum_": lambda x, y, d, n: x.cumsum_(d),
    "masked_fill_": lambda x, y, d, n: x.masked_fill_(x > 0, n),
    "add_": lambda x, y, d, n: x.add_(y),
    "sub_": lambda x, y, d, n: x.sub_(y),
    "copy_": lambda x, y, d, n: x.copy_(y),
    "fill_ tensor": lambda x, y, d, n: x.fill_(y.sum()),
    "item assignment": lambda x, y, d, n: x.__setitem__((..., slice(0, 2)), y[..., 0:2]),
    "mask assignment": lambda x, y, d, n: x.__setitem__(x > 0, n),
    "out=": lambda x, y, d, n: torch.maximum(x, y, out=x),
    "index_add_": lambda x, y, d, n: x.index_add_(0, torch.zeros_like(y[:1], dtype=int), y[:1]),
    "scatter_": lambda x, y, d, n: x.scatter_(0, torch.zeros_like(x[:1], dtype=torch.long), 1),
    "lerp_": lambda x, y, d, n: x.lerp_(y, 0.5),
    "addcmul_": lambda x, y, d, n: x.addcmul_(x, y),
}
MOVES: dict[str, Callable[..., Any]] = {
    "t_": lambda x, y, d, n: x.t_(),
    "squeeze_": lambda x, y, d, n: x.squeeze_(),
    "unsqueeze_": lambda x, y, d, n: x.unsqueeze_(0),
    "transpose_": lambda x, y, d, n: x.transpose_(d, 0),
    "as_strided_": lambda x, y, d, n: x.as_strided_(x.shape[::-1], x.stride()[::-1]),
    "shrink": lambda x, y, d, n: x.resize_(x.numel() // 2),
    "set_": lambda x, y, d, n: x.set_(y),
    "data =": lambda x, y, d, n: setattr(x, "data", y),
}
KINDS = (VIEWS, VIEWS, VIEWS, RESULTS, RESULTS, WRITES, WRITES, WRITES, MOVES)
SHAPES = ((3,), (2, 3), (), (4,), (2, 2, 2), (0,))
DTYPES = (torch.float32,) * 3 + (
    torch.int64,
    torch.float64,
    torch.complex64,
    torch.bool,
    torch.float16,
)


@dataclass
class Draw:
    """One step: its name and how to take it."""

    name: str
    take: Step


def draw_step(dice: random.Random, tensors: Tensors) -> Draw:
    """A step that may be taken with as many tensors of these shapes, on any device."""
    if dice.random() < 0.08:
        shape, dtype = torch.Size(dice.choice(SHAPES)), dice.choice(DTYPES)
        values = [dice.randrange(-4, 5) for _ in range(shape.numel())]
        made = torch.tensor(values, dtype=dtype).reshape(shape)
        return Draw(f"new {tuple(shape)} {dtype}", lambda ts: made.clone().to(ts[0].device))
    name, step = dice.choice(list(dice.choice(KINDS).items()))
    i, j = dice.randrange(len(tensors)), dice.randrange(len(tensors))
    dim = dice.randrange(max(1, tensors[i].dim()))
    number = dice.choice((2, 0.5, -3, 1.5, True))
    return Draw(f"{name} {i} {j}", lambda ts: step(ts[i], ts[j], dim, number))


def difference(expected: torch.Tensor, found: torch.Tensor) -> str:
    """Empty if equal."""
    if (expected.shape, expected.dtype) != (found.shape, found.dtype):
        return f"{found.shape} {found.dtype} instead of {expected.shape} {expected.dtype}"
    try:
        torch.testing.assert_close(found.detach().cpu(), expected.detach(), equal_nan=True)
    except AssertionError:
        return f"{found} instead of {expected}"
    return ""


# Where the device refuses although the CPU would go on. Then the program ends here.
REFUSALS = (
    "other tensors share the memory",  # a storage that would have to grow under its other views
    "incompatible tensor type",  # set_ and data= to a tensor with a conjugate bit
)


def run(seed: int, steps: int = 25) -> list[str]:
    """Run one program on both; return what differed, with the steps that led there."""
    gpu: Any = torch.get_device_module("sim")
    dice = random.Random(seed)
    here: Tensors = [torch.arange(6.0).reshape(2, 3).clone(), torch.ones(3)]
    there = [tensor.to("sim") for tensor in here]
    history: list[str] = []
    for number in range(steps):
        step = draw_step(dice, here)
        history.append(step.name)
        results, problems = zip(_taken(step, here), _taken(step, there), strict=True)
        if any(problems):
            late = _taken(Draw("", lambda ts: gpu.synchronize()), there)[1]
            refusal = problems[1] or late
            if refusal and any(text in str(refusal) for text in REFUSALS):
                return []
            if not (problems[0] and refusal):
                return [*history, f"seed {seed}: CPU {problems[0]!r}, device {refusal!r}"]
            continue
        if isinstance(results[0], torch.Tensor) and results[0].numel() < 200:
            _keep(dice, here, there, results)
        if dice.random() < 0.15 or number == steps - 1:
            for a, b in zip(here, there, strict=True):
                if problem := difference(a, b):
                    return [*history, f"seed {seed}: {problem}"]
    return []


def _taken(step: Draw, tensors: Tensors) -> tuple[Any, Exception | None]:
    try:
        return step.take(tensors), None
    except Exception as error:
        return None, error


def _keep(dice: random.Random, here: Tensors, there: Tensors, results: tuple[Any, Any]) -> None:
    if results[0].dim() > 5:
        return
    at = dice.randrange(8)
    if at < len(here) and len(here) > 5:
        here[at], there[at] = results  # the old one dies; its memory may be used again
    else:
        here.append(results[0])
        there.append(results[1])
