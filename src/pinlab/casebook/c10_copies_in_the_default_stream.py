"""C10: copies run in the stream that the arena knows."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.casebook.case import Case
from pinlab.casebook.kinds import PLATFORM_ASSUMED


def run(device: torch.device, copy_in_default_stream: bool) -> tuple[Any, Any]:
    gpu = torch.get_device_module(device)
    output = torch.tensor([7]).to(device)
    host = torch.zeros(1, dtype=torch.int64, pin_memory=True)
    copies = gpu.current_stream() if copy_in_default_stream else gpu.Stream()
    copies.wait_stream(gpu.current_stream())
    with gpu.stream(copies):
        host.copy_(output, non_blocking=True)
    del output
    _scratch = torch.full((1,), -1, device=device)
    gpu.synchronize()
    return host.item(), 7


def broken(device: torch.device) -> tuple[Any, Any]:
    return run(device, copy_in_default_stream=True)


CASE = Case(
    id="C10",
    title="Copies in the one stream that the arena knows",
    public_id="microsoft/onnxruntime#5445",
    kind=PLATFORM_ASSUMED,
    symptom=(
        "A block is handed out again while a copy from it is pending; the setting is documented "
        "as racy when it is off."
    ),
    mechanism=(
        "The arena recycles a block for the stream it knows, and by default copies run in that "
        "stream, so the next user comes after the copy. With copies in a stream of their own "
        "the same code is a bug: the configuration decides."
    ),
    repair="None by default.",
    broken=broken,
)
