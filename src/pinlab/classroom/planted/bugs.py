"""Batches with one bug each, to find out which test notices it.

Two of the bugs are known from the repairs that only look right; three are made for this. Each is a
subclass that differs from a right batch in the lines that matter: ``difference(bug.of, bug.batch)``
prints them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from pinlab.serving.input_batch import InputBatch
from pinlab.serving.metadata import PoolingMetadata
from pinlab.serving.variants import AliasingBatch, CloneAfterUploadBatch


class ReusedSnapshotBatch(InputBatch):
    """Keeps one pinned snapshot and fills it anew for each step; no allocation in a step.

    Right: the snapshot is filled only after the upload of the step before has read it.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        rows = self.num_prompt_tokens_cpu_tensor
        self._snapshot = torch.zeros_like(rows, pin_memory=rows.is_pinned())
        self._filled = torch.get_device_module(self.device).Event()
        self._uploaded = torch.get_device_module(self.device).Event()

    def get_pooling_metadata(self) -> PoolingMetadata:
        self._uploaded.synchronize()
        self._snapshot.copy_(self.num_prompt_tokens_cpu_tensor)
        self._filled.record()
        return PoolingMetadata(self._snapshot[: self.num_reqs], self.req_ids)

    def end_step(self, metadata: PoolingMetadata) -> None:
        self._uploaded.record()


class WrongEventBatch(ReusedSnapshotBatch):
    """Waits for the event that says "filled", not for the one that says "uploaded".

    Wrong: the event stands before the upload in the stream, so a wait for it does not cover it.
    """

    def get_pooling_metadata(self) -> PoolingMetadata:
        self._filled.synchronize()
        self._snapshot.copy_(self.num_prompt_tokens_cpu_tensor)
        self._filled.record()
        return PoolingMetadata(self._snapshot[: self.num_reqs], self.req_ids)


class WrongSliceBatch(InputBatch):
    """Clones the last rows of the batch, not the first ones.

    Wrong whenever a row is free; in a full batch the two slices are the same.
    """

    def get_pooling_metadata(self) -> PoolingMetadata:
        prompt_lens = self.num_prompt_tokens_cpu_tensor[-self.num_reqs :].clone()
        return PoolingMetadata(prompt_lens, self.req_ids)


class OffByOneBatch(InputBatch):
    """Sends a snapshot, and counts one token too many on the device.

    Wrong in every run, and in every run in the same way.
    """

    class Metadata(PoolingMetadata):
        """Metadata that counts a closing token that no prompt has."""

        def upload_prompt_lens(self, device: torch.device | str) -> torch.Tensor:
            return self.prompt_lens.to(device, non_blocking=True) + 1

    def get_pooling_metadata(self) -> PoolingMetadata:
        prompt_lens = self.num_prompt_tokens_cpu_tensor[: self.num_reqs].clone()
        return self.Metadata(prompt_lens, self.req_ids)


@dataclass(frozen=True)
class Planted:
    """A bug.

    Attributes:
        name: what lessons and tests call it.
        batch: the class with the bug.
        of: the right class that it was planted in.
        is_race: whether the result depends on the schedule.
    """

    name: str
    batch: type[InputBatch]
    of: type[InputBatch]
    is_race: bool

    def __repr__(self) -> str:
        return f"<{self.name}, planted in {self.of.__name__}>"


PLANTED: dict[str, Planted] = {
    bug.name: bug
    for bug in (
        Planted("aliasing", AliasingBatch, InputBatch, is_race=True),
        Planted("wrong slice", WrongSliceBatch, InputBatch, is_race=False),
        Planted("clone too late", CloneAfterUploadBatch, InputBatch, is_race=True),
        Planted("wrong event", WrongEventBatch, ReusedSnapshotBatch, is_race=True),
        Planted("off by one", OffByOneBatch, InputBatch, is_race=False),
    )
}
