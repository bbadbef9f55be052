"""Repairs that keep the view and see to it that no row is rewritten before the device has read it.

Right for the device, within the window that each one states. The view stays: a host reader that
keeps the metadata beyond its step still sees later steps' lengths.
"""

from __future__ import annotations

from typing import Any

import torch

from pinlab.serving.metadata import PoolingMetadata
from pinlab.serving.variants.aliasing import AliasingBatch


class EventWaitBatch(AliasingBatch):
    """Records an event behind the upload and waits for it before the next row is rewritten.

    Right: the stream runs in order, so an event behind the upload is reached after it. The window
    is one step; the host gives up running ahead of the device within it.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._lengths_read = torch.get_device_module(self.device).Event()

    def begin_update(self) -> None:
        self._lengths_read.synchronize()

    def end_step(self, metadata: PoolingMetadata) -> None:
        self._lengths_read.record()


class DoubleBufferBatch(AliasingBatch):
    """Keeps two sets of lengths and changes over before a step rewrites its rows.

    Right as long as the host has waited for step N before it prepares step N + 2, which uses step
    N's set again. An engine with at most two steps in flight does; with three it goes wrong.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        rows = self.num_prompt_tokens_cpu_tensor
        self._other_rows = torch.zeros_like(rows, pin_memory=rows.is_pinned())

    def begin_update(self) -> None:
        rows = self.num_prompt_tokens_cpu_tensor
        self._other_rows.copy_(rows)  # requests that stay keep their lengths
        self.num_prompt_tokens_cpu_tensor, self._other_rows = self._other_rows, rows
        self.num_prompt_tokens = self.num_prompt_tokens_cpu_tensor.numpy()


class NotPinnedBatch(AliasingBatch):
    """Keeps the rows in ordinary, pageable memory, as vLLM did up to 0.18.

    Right where the platform stages uploads from pageable memory before the call returns, as CUDA
    does; the window is that call. Nothing in the code says that it relies on this.
    """

    def __init__(
        self,
        max_num_reqs: int,
        device: torch.device | str,
        pin_memory: bool = False,
        max_model_len: int = 128,
    ) -> None:
        super().__init__(max_num_reqs, device, pin_memory=False, max_model_len=max_model_len)


class SynchronizeBatch(AliasingBatch):
    """Waits for the whole device before the next row is rewritten.

    Right: then nothing is left in any queue. The window is one step; the device has nothing to do
    while the host prepares the next one.
    """

    def begin_update(self) -> None:
        torch.get_device_module(self.device).synchronize()
