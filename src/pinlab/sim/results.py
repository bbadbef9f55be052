"""Results of operators: new device tensors for promised layouts, and bytes into them later."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.sim.memory import new_tensor
from pinlab.sim.queue import StreamQueue
from pinlab.sim.shapes import Layout


def new_tensors(layouts: Any, stream: StreamQueue) -> Any:
    """Tensors for a layout, or for a tuple of them; None for None."""
    if layouts is None:
        return None
    if type(layouts) is Layout:
        return new_tensor(layouts, stream)
    return tuple([new_tensors(part, stream) for part in layouts])


def flat(value: Any) -> list[Any]:
    """The leaves of nested lists and tuples, None left out.

    >>> flat([1, (2, None), []])
    [1, 2]
    """
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in flat(part)]
    return [] if value is None else [value]


def packed(results: list[Any]) -> Any:
    """As an operator returns them: nothing, one, or a tuple."""
    if len(results) > 1:
        return tuple(results)
    return results[0] if results else None


def store(results: list[torch.Tensor], outputs: tuple[torch.Tensor, ...]) -> None:
    """Copy what an operator made into the device memory that was promised for it."""
    for result, output in zip(results, outputs, strict=True):
        check_promise(result, output)
        output.copy_(result)


def check_promise(result: torch.Tensor, output: torch.Tensor) -> None:
    """Refuse a result that is not what was promised at submission.

    Raises:
        RuntimeError: naming both; the operation fails, and the next wait says so.
    """
    if result.shape != output.shape or result.dtype != output.dtype:
        raise RuntimeError(
            f"expected a result of {tuple(output.shape)} {output.dtype}, "
            f"got {tuple(result.shape)} {result.dtype}"
        )
