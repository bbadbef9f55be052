"""What the pooler is told about a step: the length of each prompt, and where its tokens lie.

Two records, as in vLLM. `PoolingMetadata` comes from the batch and carries `prompt_lens`, the
numbers this series is about. `PoolingCursor` is built for one step from the scheduled tokens and
carries the boundaries between requests. Only the division of mean pooling reads `prompt_lens` on
the device, so a wrong length rescales a vector and moves no boundary.

Simplified: no task, no parameters, no prompt tokens, no state between chunks; in vLLM the cursor
holds the lengths as well, here they stand in one place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch


@dataclass
class PoolingCursor:
    """Where each request's tokens lie in the step's hidden states.

    >>> from pinlab import sim
    >>> sim.install()
    >>> metadata = PoolingMetadata(torch.tensor([2, 3]), ["a", "b"])
    >>> metadata.build_pooling_cursor(np.array([2, 3]), np.array([2, 3]), "sim")
    PoolingCursor: 2 requests, 2 + 3 tokens
    """

    first_token_indices_gpu: torch.Tensor  # [num_reqs] int64, on the device
    last_token_indices_gpu: torch.Tensor  # [num_reqs] int64, on the device
    num_scheduled_tokens: npt.NDArray[np.int32]  # [num_reqs], tokens of this step
    seq_lens: npt.NDArray[np.int32]  # [num_reqs], tokens of this step and of earlier ones

    def __repr__(self) -> str:
        tokens = " + ".join(map(str, self.num_scheduled_tokens.tolist()))
        return f"PoolingCursor: {len(self.seq_lens)} requests, {tokens} tokens"


@dataclass
class PoolingMetadata:
    """The lengths of a step's prompts, and the cursor once it is built."""

    prompt_lens: torch.Tensor  # [num_reqs] int32, on the host
    req_ids: list[str]  # [num_reqs], in the order of the rows
    pooling_cursor: PoolingCursor | None = None

    def build_pooling_cursor(
        self,
        num_scheduled_tokens: npt.NDArray[np.integer],
        seq_lens: npt.NDArray[np.integer],
        device: torch.device | str,
    ) -> PoolingCursor:
        """Compute the boundaries and send them to the device, without waiting.

        num_scheduled_tokens: tokens of each request in this step, [num_reqs].
        seq_lens: tokens of each request in this step and before, [num_reqs].
        Raises `ValueError` if either has another length, or schedules no token for a request.
        """
        # Copies: this record outlives the arrays that the caller reuses.
        scheduled = self._checked("scheduled tokens", num_scheduled_tokens, least=1)
        seq_lens = self._checked("sequence lengths", seq_lens, least=1)
        # Fresh memory for every step. It is dropped while the copy may still be waiting, and that
        # is safe: nobody writes to it again, and the allocator of pinned memory does not hand the
        # block out before the copies that read it are done.
        cumsum = torch.zeros(len(scheduled) + 1, dtype=torch.int64, pin_memory=True)
        torch.cumsum(torch.from_numpy(scheduled), dim=0, out=cumsum[1:])
        boundaries = cumsum.to(device, non_blocking=True)
        self.pooling_cursor = PoolingCursor(
            first_token_indices_gpu=boundaries[:-1],
            last_token_indices_gpu=boundaries[1:] - 1,
            num_scheduled_tokens=scheduled,
            seq_lens=seq_lens,
        )
        return self.pooling_cursor

    def get_pooling_cursor(self) -> PoolingCursor:
        """The cursor; raises `RuntimeError` if none was built."""
        if self.pooling_cursor is None:
            raise RuntimeError("no cursor yet; call build_pooling_cursor() first")
        return self.pooling_cursor

    def upload_prompt_lens(self, device: torch.device | str) -> torch.Tensor:
        """Send the lengths to the device without waiting; [num_reqs] int32.

        If `prompt_lens` is pinned, its bytes are read when the stream gets there: later than this
        call. They must not change until then.
        """
        return self.prompt_lens.to(device, non_blocking=True)

    def partial_prompts(self) -> list[str]:
        """Requests of which this step schedules only a part. Read on the host, now."""
        scheduled = self.get_pooling_cursor().num_scheduled_tokens.tolist()
        lengths = zip(self.req_ids, self.prompt_lens.tolist(), scheduled, strict=True)
        return [req_id for req_id, prompt_len, now in lengths if prompt_len != now]

    def finished_mask(self) -> list[bool]:
        """Whether each request's prompt is complete after this step. Read on the host, now.

        Called within the step this is right even with a view of the rows. Called after the rows
        were rewritten, a view compares this step's tokens with the next step's lengths.
        """
        seq_lens = self.get_pooling_cursor().seq_lens.tolist()
        pairs = zip(seq_lens, self.prompt_lens.tolist(), strict=True)
        return [seq_len == prompt_len for seq_len, prompt_len in pairs]

    def _checked(
        self, name: str, values: npt.NDArray[np.integer], least: int
    ) -> npt.NDArray[np.int32]:
        checked: npt.NDArray[np.int32] = np.array(values, dtype=np.int32)
        if checked.shape != (len(self.prompt_lens),):
            raise ValueError(
                f"{name} of shape {list(checked.shape)} for {len(self.prompt_lens)} requests"
            )
        for req_id, value in zip(self.req_ids, checked.tolist(), strict=True):
            if value < least:
                raise ValueError(f"request {req_id!r}: {name} {value}; {least} is the least")
        return checked
