"""The result of a step, on its way from the device to the host."""

from __future__ import annotations

import torch


class AsyncPoolingOutput:
    """Pooled vectors that a stream of their own copies into pinned memory; an event tells when.

    The copy waits, on the device, for the pooling. The host waits for nothing until `get_output`.

    Args:
        pooled: [num_reqs, hidden], queued on the current stream.
        req_ids: [num_reqs], whose vectors these are.
        finished_mask: [num_reqs], False for prompts that are not complete yet.
        copy_stream: the stream that the results travel on.
    """

    def __init__(
        self,
        pooled: torch.Tensor,
        req_ids: list[str],
        finished_mask: list[bool],
        copy_stream: torch.Stream,
    ) -> None:
        gpu = torch.get_device_module(pooled.device)
        self.req_ids = req_ids
        self.finished_mask = finished_mask
        # Kept until the copy is done: its block belongs to the stream of the pooling, which knows
        # nothing of a reader on another stream and would hand the block out again.
        self._pooled = pooled
        self._copied = gpu.Event()
        copy_stream.wait_stream(gpu.current_stream())
        with gpu.stream(copy_stream):
            self._host = pooled.to("cpu", non_blocking=True)  # a new pinned tensor, filled later
            self._copied.record(copy_stream)

    def get_output(self) -> dict[str, torch.Tensor]:
        """Wait for the copy; return the vector of each finished request, [hidden], on the host."""
        self._copied.synchronize()
        rows = zip(self.req_ids, self._host.clone(), self.finished_mask, strict=True)
        return {req_id: vector for req_id, vector, finished in rows if finished}

    def __repr__(self) -> str:
        return f"AsyncPoolingOutput of {', '.join(self.req_ids)}"
