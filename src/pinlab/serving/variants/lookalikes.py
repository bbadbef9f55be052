"""Repairs that look right and are not. Each leaves a schedule in which the device reads too late.

All keep the view. They wait for the wrong thing, wait at the wrong time, or copy what needs no
copy.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import torch

from pinlab.serving.metadata import PoolingMetadata
from pinlab.serving.variants.aliasing import AliasingBatch
from pinlab.serving.variants.orderings import EventWaitBatch


class CloneAfterUploadBatch(AliasingBatch):
    """Clones the lengths once the step has been queued.

    Wrong: the queued upload holds the address of the rows, not of the clone. A late host reader is
    served well, as it asks the metadata again.
    """

    def end_step(self, metadata: PoolingMetadata) -> None:
        metadata.prompt_lens = metadata.prompt_lens.clone()


class CloneDestinationBatch(AliasingBatch):
    """Clones what arrived on the device.

    Wrong: the clone is made after the upload has read the rows, so it copies what was read,
    right or not.
    """

    class Metadata(PoolingMetadata):
        """Metadata that uploads into memory of its own."""

        def upload_prompt_lens(self, device: torch.device | str) -> torch.Tensor:
            return self.prompt_lens.to(device, non_blocking=True).clone()

    def get_pooling_metadata(self) -> PoolingMetadata:
        prompt_lens = self.num_prompt_tokens_cpu_tensor[: self.num_reqs]
        return self.Metadata(prompt_lens, self.req_ids)


class EventTooEarlyBatch(EventWaitBatch):
    """Records the event when the metadata is made.

    Wrong: the upload is queued behind the event, and a wait for the event does not cover it.
    """

    def get_pooling_metadata(self) -> PoolingMetadata:
        self._lengths_read.record()
        return super().get_pooling_metadata()

    def end_step(self, metadata: PoolingMetadata) -> None:
        pass


class GuardTooLateBatch(EventWaitBatch):
    """Waits for the right event when the next step asks for its metadata.

    Wrong: by then the next step's rows have been written. The wait only delays the next upload.
    """

    def begin_update(self) -> None:
        pass

    def get_pooling_metadata(self) -> PoolingMetadata:
        self._lengths_read.synchronize()
        return super().get_pooling_metadata()


class WrongStreamBatch(AliasingBatch):
    """Waits for a stream before the next row is rewritten, but not for the one that uploads.

    Wrong: the other stream has nothing queued, so the wait returns at once.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._side_stream = torch.get_device_module(self.device).Stream()

    def begin_update(self) -> None:
        self._side_stream.synchronize()


class KeepAliveBatch(AliasingBatch):
    """Keeps the metadata of the last steps, so that nobody frees what the device has yet to read.

    Wrong: the memory was never freed. It is written to, and a reference does not prevent that.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._kept: deque[PoolingMetadata] = deque(maxlen=8)

    def end_step(self, metadata: PoolingMetadata) -> None:
        self._kept.append(metadata)


class ContiguousBatch(AliasingBatch):
    """Asks for contiguous memory.

    Wrong: a slice of leading rows is contiguous already, and then `.contiguous()` returns the
    same tensor, not a copy.
    """

    def get_pooling_metadata(self) -> PoolingMetadata:
        prompt_lens = self.num_prompt_tokens_cpu_tensor[: self.num_reqs].contiguous()
        return PoolingMetadata(prompt_lens, self.req_ids)


class AsTensorBatch(AliasingBatch):
    """Makes a tensor of the numpy face with `torch.as_tensor`.

    Wrong: it shares memory wherever it can, here too; `torch.tensor` would copy.
    """

    def get_pooling_metadata(self) -> PoolingMetadata:
        prompt_lens = torch.as_tensor(self.num_prompt_tokens[: self.num_reqs])
        return PoolingMetadata(prompt_lens, self.req_ids)
