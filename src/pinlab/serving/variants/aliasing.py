"""The batch with the bug: its metadata is a view of the rows."""

from __future__ import annotations

from pinlab.serving.input_batch import InputBatch
from pinlab.serving.metadata import PoolingMetadata


class AliasingBatch(InputBatch):
    """Hands out the rows themselves: no copy, another name for the same pinned bytes.

    Wrong: the device reads them when its stream gets there, and by then the host may have written
    the next step's lengths over them.
    """

    def get_pooling_metadata(self) -> PoolingMetadata:
        prompt_lens = self.num_prompt_tokens_cpu_tensor[: self.num_reqs]
        return PoolingMetadata(prompt_lens, self.req_ids)
