"""The rows: where a request goes, what moves, what stays, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pinlab.serving.input_batch import InputBatch
from pinlab.serving.request import CachedRequestState


def request(name: str, length: int, computed: int = 0) -> CachedRequestState:
    return CachedRequestState(name, [ord(name[0])] * length, computed)


def batch_of(*lengths: int, rows: int = 4) -> InputBatch:
    """Requests a, b, c … of these lengths."""
    batch = InputBatch(rows, "sim", max_model_len=8)
    for name, length in zip("abcdefgh", lengths, strict=False):
        batch.add_request(request(name, length))
    return batch


def state_of(batch: InputBatch) -> dict[str, object]:
    """Everything that a caller can see, copied."""
    return {
        "ids": list(batch._req_ids),
        "index": dict(batch.req_id_to_index),
        "removed": sorted(batch._removed),
        "tokens": batch.token_ids.copy().tolist(),
        "prompt": batch.num_prompt_tokens.copy().tolist(),
        "computed": batch.num_computed_tokens.copy().tolist(),
    }


def test_the_numbers_are_pinned_and_the_numpy_faces_are_views_of_them() -> None:
    batch = InputBatch(4, "sim")
    for tensor, face in [
        (batch.num_prompt_tokens_cpu_tensor, batch.num_prompt_tokens),
        (batch.num_computed_tokens_cpu_tensor, batch.num_computed_tokens),
    ]:
        assert tensor.is_pinned()
        assert tensor.dtype == torch.int32
        assert face.ctypes.data == tensor.data_ptr()
        face[2] = 5
        assert tensor[2] == 5


def test_a_batch_can_do_without_pinned_memory() -> None:
    batch = InputBatch(4, "sim", pin_memory=False)
    assert not batch.num_prompt_tokens_cpu_tensor.is_pinned()
    assert not batch.num_computed_tokens_cpu_tensor.is_pinned()


def test_a_request_fills_the_next_row() -> None:
    batch = batch_of(2, 3)
    assert batch.add_request(request("c", 5, computed=4)) == 2
    assert batch.req_ids == ["a", "b", "c"]
    assert batch.req_id_to_index == {"a": 0, "b": 1, "c": 2}
    assert batch.num_reqs == 3
    assert batch.token_ids[2].tolist() == [ord("c")] * 5 + [0] * 3
    assert batch.num_prompt_tokens[:3].tolist() == [2, 3, 5]
    assert batch.num_computed_tokens[:3].tolist() == [0, 0, 4]


def test_a_removed_request_leaves_its_numbers_in_the_row() -> None:
    batch = batch_of(2, 3)
    assert batch.remove_request("a") == 0
    assert batch.num_prompt_tokens[:2].tolist() == [2, 3]
    assert batch.num_reqs == 1


def test_a_new_request_takes_the_lowest_empty_row() -> None:
    batch = batch_of(1, 2, 3, 4)
    batch.remove_request("c")
    batch.remove_request("a")
    assert batch.add_request(request("e", 7)) == 0
    assert batch.add_request(request("f", 8)) == 2
    assert batch.req_ids == ["e", "b", "f", "d"]


@pytest.mark.parametrize("removed", ["ab", "ba"])
def test_condense_moves_the_last_row_into_the_lowest_hole(removed: str) -> None:
    batch = batch_of(1, 2, 3, 4)
    batch.num_computed_tokens[:4] = [0, 1, 2, 3]
    for req_id in removed:
        batch.remove_request(req_id)
    batch.condense()
    assert batch.req_ids == ["d", "c"]
    assert batch.req_id_to_index == {"c": 1, "d": 0}
    assert batch.num_prompt_tokens[:2].tolist() == [4, 3]
    assert batch.num_computed_tokens[:2].tolist() == [3, 2]
    assert batch.token_ids[:2, 0].tolist() == [ord("d"), ord("c")]


def test_condense_moves_nothing_if_only_the_last_rows_are_empty() -> None:
    batch = batch_of(1, 2, 3)
    batch.remove_request("c")
    batch.remove_request("b")
    batch.condense()
    assert batch.req_ids == ["a"]
    assert batch.num_prompt_tokens[:3].tolist() == [1, 2, 3]


def test_condense_of_an_emptied_batch_leaves_no_row() -> None:
    batch = batch_of(1, 2)
    batch.remove_request("a")
    batch.remove_request("b")
    batch.condense()
    assert batch.req_ids == []
    assert batch.add_request(request("c", 3)) == 0


def test_swap_states_exchanges_everything_in_two_rows() -> None:
    batch = batch_of(1, 2, 3)
    batch.num_computed_tokens[:3] = [0, 1, 2]
    batch.swap_states(0, 2)
    assert batch.req_ids == ["c", "b", "a"]
    assert batch.req_id_to_index == {"a": 2, "b": 1, "c": 0}
    assert batch.num_prompt_tokens[:3].tolist() == [3, 2, 1]
    assert batch.num_computed_tokens[:3].tolist() == [2, 1, 0]
    assert batch.token_ids[:3, 0].tolist() == [ord("c"), ord("b"), ord("a")]


def test_swapping_a_row_with_itself_changes_nothing() -> None:
    batch = batch_of(1, 2)
    before = state_of(batch)
    batch.swap_states(1, 1)
    assert state_of(batch) == before


def test_refresh_writes_the_row_from_the_request_as_it_is_now() -> None:
    batch = batch_of(2, 3)
    grown = request("a", 6, computed=2)
    assert batch.refresh(grown) == 0
    assert batch.req_ids == ["a", "b"]
    assert batch.num_prompt_tokens[:2].tolist() == [6, 3]
    assert batch.num_computed_tokens[:2].tolist() == [2, 0]


def test_refresh_adds_a_request_that_has_left() -> None:
    batch = batch_of(2, 3)
    batch.remove_request("a")
    batch.condense()
    assert batch.refresh(request("a", 4, computed=1)) == 1
    assert batch.num_prompt_tokens[:2].tolist() == [3, 4]


def test_a_shorter_prompt_in_a_used_row_leaves_no_wrong_length() -> None:
    batch = batch_of(8)
    batch.remove_request("a")
    batch.add_request(request("b", 2))
    assert batch.get_pooling_metadata().prompt_lens.tolist() == [2]


def test_the_metadata_has_memory_of_its_own() -> None:
    batch = batch_of(2, 3)
    metadata = batch.get_pooling_metadata()
    batch.num_prompt_tokens[:] = 99
    batch.req_id_to_index.clear()
    assert metadata.prompt_lens.tolist() == [2, 3]
    assert metadata.req_ids == ["a", "b"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda b: b.add_request(request("a", 2)), "request 'a' is in the batch already"),
        (lambda b: b.add_request(request("x", 0)), "request 'x': the prompt is empty"),
        (lambda b: b.add_request(request("x", 9)), "request 'x': 9 tokens do not fit a row of 8"),
        (lambda b: b.add_request(request("x", 3, 4)), "'x': 4 computed tokens, but .* has 3"),
        (lambda b: b.add_request(request("x", 3, -1)), "'x': -1 computed tokens"),
        (lambda b: b.add_request(CachedRequestState("x", [-1])), "'x': token -1 is not within"),
        (lambda b: b.add_request(CachedRequestState("x", [0.5])), "'x': .* integers"),
        (lambda b: b.refresh(request("a", 9)), "request 'a': 9 tokens do not fit a row of 8"),
        (lambda b: b.refresh(request("a", 0)), "request 'a': the prompt is empty"),
        (lambda b: b.remove_request("x"), "request 'x' is not in the batch of 3"),
        (lambda b: b.swap_states(0, 3), "row 3 has no request; 3 rows are in use"),
        (lambda b: b.swap_states(-1, 0), "row -1 has no request"),
    ],
)
def test_a_refused_call_names_the_limit_and_leaves_the_batch_as_it_was(call, message) -> None:
    batch = batch_of(2, 3, 4)
    before = state_of(batch)
    with pytest.raises(ValueError, match=message):
        call(batch)
    assert state_of(batch) == before


def test_a_full_batch_takes_no_further_request() -> None:
    batch = batch_of(1, 2, 3, 4)
    before = state_of(batch)
    for call in (batch.add_request, batch.refresh):
        with pytest.raises(ValueError, match="request 'e': all 4 rows of the batch are in use"):
            call(request("e", 1))
    assert state_of(batch) == before


def test_a_refused_request_can_be_added_once_it_is_right() -> None:
    batch = batch_of(1, 2)
    batch.remove_request("a")
    with pytest.raises(ValueError, match="'x'"):
        batch.add_request(request("x", 99))
    assert batch.add_request(request("x", 8)) == 0


def test_rows_with_holes_have_no_order() -> None:
    batch = batch_of(1, 2)
    batch.remove_request("a")
    with pytest.raises(RuntimeError, match=r"rows \[0\] are empty; call condense\(\) first"):
        batch.get_pooling_metadata()


@pytest.mark.parametrize("limits", [{"max_num_reqs": 0}, {"max_model_len": 0}])
def test_a_batch_has_at_least_one_row_of_one_token(limits: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=rf"{next(iter(limits))}=0; it must be 1 or more"):
        InputBatch(**{"max_num_reqs": 2, "device": "sim", **limits})


def test_the_repr_shows_every_row_and_what_an_empty_one_still_holds() -> None:
    batch = batch_of(2, 3, rows=3)
    batch.remove_request("a")
    assert repr(batch).splitlines() == [
        "<InputBatch: 1 of 3 rows in use>",
        " row  request  prompt tokens  computed",
        "   0  -                    2         0",
        "   1  b                    3         0",
        "   2  -                    0         0",
    ]


def test_token_rows_are_int32() -> None:
    assert batch_of(2).token_ids.dtype == np.int32
