"""The persistent batch: one row for each running request, rewritten in place at every step.

Rows are kept between steps, because most requests stay and copying all of them anew would cost
more than moving a few. That economy is why one step's numbers lie where the next step writes.

What is as in vLLM: the names; a removed row is only marked; a new request takes the lowest marked
row; `condense` moves the last rows into the holes that are left; the numbers of prompt tokens are
a pinned tensor with a numpy face. What is left out: sampling parameters, cache blocks, adapters,
and the bookkeeping that tells logits processors about each move. vLLM 0.19 gives the pooler a
clone of the rows, as this class does; 0.17 and 0.18 gave it a view (see ``variants/``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from pinlab.serving.metadata import PoolingMetadata
from pinlab.serving.request import CachedRequestState


class InputBatch:
    """Rows 0 … num_reqs - 1 belong to the requests of the current step.

    Args:
        max_num_reqs: how many rows there are.
        device: where the pooler runs, ``"sim"`` or ``"cuda"``.
        pin_memory: whether the two rows of numbers are pinned.
        max_model_len: how many tokens a row can hold.

    >>> from pinlab import sim
    >>> sim.install()
    >>> batch = InputBatch(max_num_reqs=4, device="sim")
    >>> [batch.add_request(CachedRequestState(name, [7] * n)) for name, n in [("a", 5), ("b", 9)]]
    [0, 1]
    >>> batch.remove_request("a")
    0
    >>> batch.condense()
    >>> batch
    <InputBatch: 1 of 4 rows in use>
     row  request  prompt tokens  computed
       0  b                    9         0
       1  -                    9         0
       2  -                    0         0
       3  -                    0         0
    """

    def __init__(
        self,
        max_num_reqs: int,
        device: torch.device | str,
        pin_memory: bool = True,
        max_model_len: int = 128,
    ) -> None:
        for name, limit in (("max_num_reqs", max_num_reqs), ("max_model_len", max_model_len)):
            if limit < 1:
                raise ValueError(f"{name}={limit}; it must be 1 or more")
        self.max_num_reqs = max_num_reqs
        self.max_model_len = max_model_len
        self.device = torch.device(device)

        self._req_ids: list[str | None] = []  # None marks a row that `condense` has yet to fill
        self.req_id_to_index: dict[str, int] = {}
        self._removed: list[int] = []  # the marked rows

        self.token_ids = np.zeros((max_num_reqs, max_model_len), dtype=np.int32)
        # Pinned, so that a copy to the device need not wait. `.numpy()` is another name for the
        # same bytes: what is written through one is read through the other.
        self.num_prompt_tokens_cpu_tensor = torch.zeros(
            max_num_reqs, dtype=torch.int32, pin_memory=pin_memory
        )
        self.num_prompt_tokens = self.num_prompt_tokens_cpu_tensor.numpy()
        self.num_computed_tokens_cpu_tensor = torch.zeros(
            max_num_reqs, dtype=torch.int32, pin_memory=pin_memory
        )
        self.num_computed_tokens = self.num_computed_tokens_cpu_tensor.numpy()

    # -- what a step asks -----------------------------------------------------------------------

    @property
    def num_reqs(self) -> int:
        """How many requests have a row."""
        return len(self.req_id_to_index)

    @property
    def req_ids(self) -> list[str]:
        """The requests in the order of their rows, a new list.

        Raises `RuntimeError` while a row is empty: the rows are not in order before `condense`.
        """
        if self._removed:
            raise RuntimeError(f"rows {sorted(self._removed)} are empty; call condense() first")
        return [req_id for req_id in self._req_ids if req_id is not None]

    def get_pooling_metadata(self) -> PoolingMetadata:
        """What the pooler needs to know of this step: each prompt's length, [num_reqs] int32."""
        # A copy: the rows belong to the next step as soon as the host goes on.
        prompt_lens = self.num_prompt_tokens_cpu_tensor[: self.num_reqs].clone()
        return PoolingMetadata(prompt_lens, self.req_ids)

    # -- what changes between two steps ---------------------------------------------------------

    def add_request(self, request: CachedRequestState) -> int:
        """Give the request the lowest empty row, or the next one; return its number.

        Raises `ValueError`, with the batch unchanged, for an id that has a row already, a full
        batch, an empty prompt, one longer than a row, and tokens that are no valid ids.
        """
        if request.req_id in self.req_id_to_index:
            raise ValueError(f"request {request.req_id!r} is in the batch already")
        if self.num_reqs == self.max_num_reqs:
            raise ValueError(
                f"request {request.req_id!r}: all {self.max_num_reqs} rows of the batch are in use"
            )
        tokens = self.checked_tokens(request)

        req_index = self._next_row()
        self._req_ids[req_index] = request.req_id
        self.req_id_to_index[request.req_id] = req_index
        self.token_ids[req_index, : len(tokens)] = tokens
        self.num_prompt_tokens[req_index] = len(tokens)
        self.num_computed_tokens[req_index] = request.num_computed_tokens
        return req_index

    def remove_request(self, req_id: str) -> int:
        """Mark the request's row as empty and return its number; `condense` must follow.

        The row's numbers stay as they are until another request is written over them.
        Raises `ValueError` for a request that has no row.
        """
        if req_id not in self.req_id_to_index:
            raise ValueError(f"request {req_id!r} is not in the batch of {self.num_reqs}")
        req_index = self.req_id_to_index.pop(req_id)
        self._removed.append(req_index)
        self._req_ids[req_index] = None
        return req_index

    def refresh(self, request: CachedRequestState) -> int:
        """Add a request again whose prompt or progress has changed; return its row.

        If it has a row, that is given up first. Errors as for `add_request`.
        """
        self.checked_tokens(request)  # before anything changes
        if request.req_id in self.req_id_to_index:
            self.remove_request(request.req_id)
        return self.add_request(request)

    def condense(self) -> None:
        """Move the last rows into the empty ones, so that rows 0 … num_reqs - 1 are in use."""
        while self._removed:
            last_req_index = len(self._req_ids) - 1
            req_id = self._req_ids.pop()
            if req_id is None:
                self._removed.remove(last_req_index)
                continue
            empty_index = self._lowest_removed()
            self._req_ids[empty_index] = req_id
            self.req_id_to_index[req_id] = empty_index
            self.token_ids[empty_index] = self.token_ids[last_req_index]
            self.num_prompt_tokens[empty_index] = self.num_prompt_tokens[last_req_index]
            self.num_computed_tokens[empty_index] = self.num_computed_tokens[last_req_index]

    def swap_states(self, i1: int, i2: int) -> None:
        """Exchange two rows. Raises `ValueError` for a row that no request has."""
        for index in (i1, i2):
            if not 0 <= index < len(self._req_ids) or self._req_ids[index] is None:
                raise ValueError(f"row {index} has no request; {self.num_reqs} rows are in use")
        pair, swapped = [i1, i2], [i2, i1]
        self._req_ids[i1], self._req_ids[i2] = self._req_ids[i2], self._req_ids[i1]
        for index in pair:
            self.req_id_to_index[str(self._req_ids[index])] = index
        # A list of rows on the right makes a copy. `rows[i1], rows[i2] = rows[i2], rows[i1]` would
        # swap two views and leave both rows with the same content.
        self.token_ids[pair] = self.token_ids[swapped]
        self.num_prompt_tokens[pair] = self.num_prompt_tokens[swapped]
        self.num_computed_tokens[pair] = self.num_computed_tokens[swapped]

    # -- where repairs by ordering come in ------------------------------------------------------

    def begin_update(self) -> None:
        """Called before the first row of a step is rewritten. Here nothing needs to be waited for:
        the metadata of earlier steps has memory of its own."""

    def end_step(self, metadata: PoolingMetadata) -> None:
        """Called when everything that reads the step's metadata on the device has been queued."""

    # -- helpers --------------------------------------------------------------------------------

    def checked_tokens(self, request: CachedRequestState) -> np.ndarray[Any, np.dtype[np.int32]]:
        tokens = request.checked_tokens()
        if len(tokens) > self.max_model_len:
            raise ValueError(
                f"request {request.req_id!r}: {len(tokens)} tokens do not fit "
                f"a row of {self.max_model_len}"
            )
        if not 0 <= request.num_computed_tokens <= len(tokens):
            raise ValueError(
                f"request {request.req_id!r}: {request.num_computed_tokens} computed tokens, "
                f"but the prompt has {len(tokens)}"
            )
        return tokens

    def _next_row(self) -> int:
        if self._removed:
            return self._lowest_removed()
        self._req_ids.append(None)
        return len(self._req_ids) - 1

    def _lowest_removed(self) -> int:
        lowest = min(self._removed)
        self._removed.remove(lowest)
        return lowest

    def __repr__(self) -> str:
        lines = [
            f"<{type(self).__name__}: {self.num_reqs} of {self.max_num_reqs} rows in use>",
            " row  request  prompt tokens  computed",
        ]
        names = [*self._req_ids, *[None] * (self.max_num_reqs - len(self._req_ids))]
        for row, req_id in enumerate(names):
            numbers = f"{self.num_prompt_tokens[row]:>13}  {self.num_computed_tokens[row]:>8}"
            lines.append(f"{row:>4}  {req_id or '-':<7}  {numbers}")
        return "\n".join(lines)
