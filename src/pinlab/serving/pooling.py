"""From one vector a token to one vector a request, on the device.

Three ways, as in vLLM: the mean of a prompt's vectors, its last one, its first one ("CLS").
All are queued and return at once; nothing here waits for the device.
"""

from __future__ import annotations

from typing import ClassVar

import torch

from pinlab.serving.metadata import PoolingCursor, PoolingMetadata


class Pool:
    """Base: `__call__` checks what it is given, `forward` queues the work."""

    name: ClassVar[str]
    takes_partial_prompts: ClassVar[bool] = False

    def __call__(self, hidden_states: torch.Tensor, metadata: PoolingMetadata) -> torch.Tensor:
        """Return the pooled vectors, [num_reqs, hidden], on the device.

        hidden_states: [number of scheduled tokens, hidden], on the device.
        Raises `ValueError` for another number of tokens than was scheduled, and, in MEAN and CLS,
        for a prompt of which only a part was scheduled: they need all of it in one step.
        """
        cursor = metadata.get_pooling_cursor()
        scheduled = int(cursor.num_scheduled_tokens.sum())
        if len(hidden_states) != scheduled:
            raise ValueError(f"{len(hidden_states)} hidden states for {scheduled} scheduled tokens")
        if not self.takes_partial_prompts and (partial := metadata.partial_prompts()):
            raise ValueError(f"{self.name} pooling needs whole prompts; partial here: {partial}")
        return self.forward(hidden_states, metadata, cursor)

    def forward(
        self, hidden_states: torch.Tensor, metadata: PoolingMetadata, cursor: PoolingCursor
    ) -> torch.Tensor:
        """Queue the pooling itself."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{self.name} pooling"


class MeanPool(Pool):
    """The mean of each prompt's vectors. The only one that reads `prompt_lens` on the device.

    >>> import numpy as np
    >>> from pinlab import sim
    >>> sim.install()
    >>> metadata = PoolingMetadata(torch.tensor([2, 3]), ["a", "b"])
    >>> cursor = metadata.build_pooling_cursor(np.array([2, 3]), np.array([2, 3]), "sim")
    >>> hidden_states = torch.tensor([[1.0], [3.0], [10.0], [20.0], [60.0]], device="sim")
    >>> MeanPool()(hidden_states, metadata).tolist()
    [[2.0], [30.0]]
    """

    name = "MEAN"

    def forward(
        self, hidden_states: torch.Tensor, metadata: PoolingMetadata, cursor: PoolingCursor
    ) -> torch.Tensor:
        prompt_lens = metadata.upload_prompt_lens(hidden_states.device)
        # One running sum over all tokens of the step; a prompt's sum is a difference of two of
        # its rows. In float32 also for smaller inputs, where a long sum would lose digits.
        cumsum = torch.cumsum(hidden_states, dim=0, dtype=torch.float32)
        first = cursor.first_token_indices_gpu
        last = cursor.last_token_indices_gpu
        sums = cumsum[last] - cumsum[first] + hidden_states[first]
        return sums / prompt_lens.unsqueeze(1)


class LastPool(Pool):
    """The vector of each request's last token in this step; a chunk of a prompt will do."""

    name = "LAST"
    takes_partial_prompts = True

    def forward(
        self, hidden_states: torch.Tensor, metadata: PoolingMetadata, cursor: PoolingCursor
    ) -> torch.Tensor:
        return hidden_states[cursor.last_token_indices_gpu]


class CLSPool(Pool):
    """The vector of each prompt's first token."""

    name = "CLS"

    def forward(
        self, hidden_states: torch.Tensor, metadata: PoolingMetadata, cursor: PoolingCursor
    ) -> torch.Tensor:
        return hidden_states[cursor.first_token_indices_gpu]


POOLS: dict[str, type[Pool]] = {pool.name: pool for pool in (MeanPool, LastPool, CLSPool)}
