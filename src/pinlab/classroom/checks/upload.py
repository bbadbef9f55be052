"""What an upload brings to the device if the host writes first: by holding the stream."""

from __future__ import annotations

from collections.abc import Callable

import torch

from pinlab.device import hold, pick_device

PATIENCE = 1.0  # seconds; on CUDA an upload from pageable memory may wait for the held stream


def arrives(source: torch.Tensor, write: Callable[[], object]) -> torch.Tensor:
    """What an upload of ``source`` brings to the device if ``write`` runs before the copy can.

    >>> row = torch.tensor([1, 2])
    >>> arrives(row, lambda: row.fill_(0)).tolist()  # pageable: staged before the call returned
    [1, 2]
    """
    device = pick_device()
    with hold(release_after=PATIENCE, warmup=lambda: source.to(device)):
        there = source.to(device, non_blocking=True)
        write()
    return there.cpu()


def reads_late(tensor: torch.Tensor) -> bool:
    """Whether an upload reads the tensor's own bytes after the call: by trying it out."""
    before = tensor.clone()
    return not torch.equal(arrives(tensor, lambda: tensor.add_(10)), before)
