"""One request: what the engine remembers of it while it waits, runs and leaves.

Compared with vLLM's class of the same name there are no sampling parameters, no cache blocks, no
generated tokens and no images: a pooling request reads its prompt and is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

MAX_TOKEN = 2**31 - 1  # rows of the batch hold int32


@dataclass
class CachedRequestState:
    """A request and how far it has got. It outlives its row in the batch.

    A request that leaves the batch unfinished comes back later, and then its row is written from
    this object, not from what the row still holds.

    >>> request = CachedRequestState("a", [7, 8, 9])
    >>> request.num_prompt_tokens, request.num_computed_tokens
    (3, 0)
    """

    req_id: str
    prompt_token_ids: Sequence[int] | npt.NDArray[np.integer]
    num_computed_tokens: int = 0  # tokens of the prompt that a step has scheduled so far

    @property
    def num_prompt_tokens(self) -> int:
        """Length of the prompt."""
        return len(self.prompt_token_ids)

    def checked_tokens(self) -> npt.NDArray[np.int32]:
        """Return the prompt as an array, shape [num_prompt_tokens] int32.

        Raises `ValueError` for an empty prompt, tokens that are not integers, negative ones and
        ones above 2**31 - 1; the message names the request.

        >>> CachedRequestState("a", [7, -1]).checked_tokens()
        Traceback (most recent call last):
            ...
        ValueError: request 'a': token -1 is not within 0 … 2147483647
        """
        try:
            tokens = np.asarray(self.prompt_token_ids)
        except ValueError:  # a ragged nested list
            tokens = np.zeros((0, 0))
        if tokens.ndim != 1 or (tokens.size and tokens.dtype.kind not in "iu"):
            raise ValueError(
                f"request {self.req_id!r}: the prompt must be a flat sequence of integers, "
                f"got {self.prompt_token_ids!r:.60}"
            )
        if not tokens.size:
            raise ValueError(f"request {self.req_id!r}: the prompt is empty; 1 token is the least")
        for token in (tokens.min(), tokens.max()):
            if not 0 <= token <= MAX_TOKEN:
                raise ValueError(
                    f"request {self.req_id!r}: token {token} is not within 0 … {MAX_TOKEN}"
                )
        return tokens.astype(np.int32)
