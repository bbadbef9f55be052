"""Repairs that give the metadata memory of its own. Right for every reader, however late.

The third one of this kind, the tensor's `.clone()`, is `InputBatch` itself.
"""

from __future__ import annotations

import torch

from pinlab.serving.input_batch import InputBatch
from pinlab.serving.metadata import PoolingMetadata


class CopyBatch(InputBatch):
    """Copies the slice of the numpy face: the first fix, vLLM pull request 37775.

    Right: nobody writes to the copy. It is pageable, so the upload is staged before the call
    returns.
    """

    def get_pooling_metadata(self) -> PoolingMetadata:
        prompt_lens = torch.from_numpy(self.num_prompt_tokens[: self.num_reqs].copy())
        return PoolingMetadata(prompt_lens, self.req_ids)


class ClonePinBatch(InputBatch):
    """Clones the slice and pins the clone.

    Right: the device reads late, but from memory that nobody writes to. The only snapshot here
    whose upload is still asynchronous.
    """

    def get_pooling_metadata(self) -> PoolingMetadata:
        prompt_lens = self.num_prompt_tokens_cpu_tensor[: self.num_reqs].clone().pin_memory()
        return PoolingMetadata(prompt_lens, self.req_ids)
