"""All variants side by side against rows in plain Python, under random sequences of calls.

The device runs every operation at submission and the metadata is used before the next call on the
batch: then no variant, the aliasing one included, may differ from the model.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

import numpy as np
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pinlab import sim
from pinlab.serving.pooling import CLSPool, LastPool, MeanPool
from pinlab.serving.request import CachedRequestState
from pinlab.serving.variants import VARIANTS

ROWS, WIDTH = 4, 8
names = st.sampled_from("abcdef")
prompts = st.lists(st.integers(0, 9), min_size=1, max_size=WIDTH)


class Rows:
    """The batch in plain Python: a list of requests, None for a hole."""

    def __init__(self) -> None:
        self.rows: list[CachedRequestState | None] = []

    def find(self, name: str) -> int | None:
        for row, request in enumerate(self.rows):
            if request is not None and request.req_id == name:
                return row
        return None

    def add(self, request: CachedRequestState) -> int:
        row = self.rows.index(None) if None in self.rows else len(self.rows)
        self.rows[row : row + 1] = [request]
        return row

    def condense(self) -> None:
        while None in self.rows:
            last = self.rows.pop()
            if last is not None:
                self.rows[self.rows.index(None)] = last

    @property
    def in_use(self) -> int:
        return sum(request is not None for request in self.rows)

    @property
    def has_holes(self) -> bool:
        return None in self.rows


class BatchMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        sim.install()
        self.mode = ExitStack()
        self.mode.enter_context(sim.mode("eager"))
        self.model = Rows()
        self.batches = [v.batch(ROWS, "sim", max_model_len=WIDTH) for v in VARIANTS.values()]

    def teardown(self) -> None:
        self.mode.close()

    @rule(name=names, prompt=prompts)
    def add(self, name: str, prompt: list[int]) -> None:
        request = CachedRequestState(name, prompt)
        if self.model.find(name) is not None or self.model.in_use == ROWS:
            self.all_refuse(lambda batch: batch.add_request(request))
        else:
            row = self.model.add(request)
            assert [batch.add_request(request) for batch in self.batches] == [row] * len(VARIANTS)

    @rule(name=names)
    def remove(self, name: str) -> None:
        row = self.model.find(name)
        if row is None:
            self.all_refuse(lambda batch: batch.remove_request(name))
        else:
            self.model.rows[row] = None
            assert [batch.remove_request(name) for batch in self.batches] == [row] * len(VARIANTS)

    @rule(name=names, prompt=prompts)
    def refresh(self, name: str, prompt: list[int]) -> None:
        request = CachedRequestState(name, prompt)
        row = self.model.find(name)
        if row is None and self.model.in_use == ROWS:
            self.all_refuse(lambda batch: batch.refresh(request))
            return
        if row is not None:
            self.model.rows[row] = None
        row = self.model.add(request)
        assert [batch.refresh(request) for batch in self.batches] == [row] * len(VARIANTS)

    @rule()
    def condense(self) -> None:
        self.model.condense()
        for batch in self.batches:
            batch.condense()

    @rule(i=st.integers(0, ROWS - 1), j=st.integers(0, ROWS - 1))
    def swap(self, i: int, j: int) -> None:
        rows = self.model.rows
        if max(i, j) >= len(rows) or rows[i] is None or rows[j] is None:
            self.all_refuse(lambda batch: batch.swap_states(i, j))
        else:
            rows[i], rows[j] = rows[j], rows[i]
            for batch in self.batches:
                batch.swap_states(i, j)

    @precondition(lambda self: self.model.rows and not self.model.has_holes)
    @rule()
    def step(self) -> None:
        """Pool every request whole, in all three ways; then the next update begins."""
        prompts = [np.array(request.prompt_token_ids) for request in self.model.rows]
        lengths = np.array([len(prompt) for prompt in prompts])
        hidden = torch.from_numpy(np.concatenate(prompts)).float().unsqueeze(1).to("sim")
        for batch in self.batches:
            metadata = batch.get_pooling_metadata()
            metadata.build_pooling_cursor(lengths, lengths, "sim")
            mean = MeanPool()(hidden, metadata).flatten().tolist()
            np.testing.assert_allclose(mean, [p.mean() for p in prompts], rtol=1e-5)
            assert LastPool()(hidden, metadata).flatten().tolist() == [p[-1] for p in prompts]
            assert CLSPool()(hidden, metadata).flatten().tolist() == [p[0] for p in prompts]
            assert metadata.finished_mask() == [True] * len(prompts)
            batch.end_step(metadata)
        for batch in self.batches:
            batch.begin_update()

    @precondition(lambda self: self.model.rows and not self.model.has_holes)
    @rule(tokens=st.integers(1, WIDTH))
    def progress(self, tokens: int) -> None:
        """The last request gets on, as by a chunk of its prompt."""
        request = self.model.rows[-1]
        done = min(tokens, request.num_prompt_tokens)
        self.model.rows[-1] = replace(request, num_computed_tokens=done)
        for batch in self.batches:
            batch.num_computed_tokens[batch.num_reqs - 1] = done

    @invariant()
    def the_rows_are_the_models(self) -> None:
        rows = self.model.rows
        used = [(row, request) for row, request in enumerate(rows) if request is not None]
        for batch in self.batches:
            assert batch.num_reqs == len(used)
            assert batch.req_id_to_index == {request.req_id: row for row, request in used}
            if not self.model.has_holes:
                assert batch.req_ids == [request.req_id for _, request in used]
            for row, request in used:
                length = request.num_prompt_tokens
                assert batch.num_prompt_tokens[row] == length
                assert batch.num_computed_tokens[row] == request.num_computed_tokens
                assert batch.token_ids[row, :length].tolist() == list(request.prompt_token_ids)

    def all_refuse(self, call) -> None:
        for batch in self.batches:
            try:
                call(batch)
            except ValueError:
                continue
            raise AssertionError(f"{type(batch).__name__} accepted what the model refuses")


BatchMachine.TestCase.settings = settings(max_examples=20, stateful_step_count=20, deadline=None)
TestBatchAgainstModel = BatchMachine.TestCase
