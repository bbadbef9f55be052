"""The records that the pooler reads, on the host and on the device."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import torch

from pinlab import sim
from pinlab.serving.metadata import PoolingMetadata


def metadata_of(*lengths: int) -> PoolingMetadata:
    names = list("abcdefgh"[: len(lengths)])
    return PoolingMetadata(torch.tensor(lengths, dtype=torch.int32), names)


def test_the_cursor_holds_the_first_and_last_token_of_each_request() -> None:
    metadata = metadata_of(2, 3, 1)
    cursor = metadata.build_pooling_cursor(np.array([2, 3, 1]), np.array([2, 3, 1]), "sim")
    assert metadata.get_pooling_cursor() is cursor
    assert cursor.first_token_indices_gpu.tolist() == [0, 2, 5]
    assert cursor.last_token_indices_gpu.tolist() == [1, 4, 5]
    assert cursor.first_token_indices_gpu.device.type == "sim"


def test_the_boundaries_are_sent_without_waiting() -> None:
    metadata = metadata_of(2, 3)
    with sim.mode("lazy"):
        metadata.build_pooling_cursor(np.array([2, 3]), np.array([2, 3]), "sim")
        assert [operation.kind for operation in sim.pending()] == ["upload", "kernel"]


def boundaries_after_reuse() -> list[int]:
    """The first tokens, after others were given pinned memory while the upload was waiting."""
    with sim.mode("lazy"):
        metadata = metadata_of(2, 3)
        cursor = metadata.build_pooling_cursor(np.array([2, 3]), np.array([2, 3]), "sim")
        gc.collect()
        others = [torch.full((3,), 77, pin_memory=True) for _ in range(4)]
        found = cursor.first_token_indices_gpu.tolist()
        assert len(others) == 4
        return found


def test_the_dropped_sum_is_not_handed_out_again_while_its_copy_waits() -> None:
    assert boundaries_after_reuse() == [0, 2]


def test_an_allocator_that_tracks_no_copies_would_hand_the_dropped_sum_out() -> None:
    with sim.platform(sim.Platform(host_allocator_tracks=False)):
        assert boundaries_after_reuse() == [77, 77]


def test_the_cursor_does_not_follow_the_callers_arrays() -> None:
    metadata = metadata_of(2, 3)
    scheduled, seq_lens = np.array([2, 3], np.int32), np.array([2, 3], np.int32)
    metadata.build_pooling_cursor(scheduled, seq_lens, "sim")
    scheduled[:] = seq_lens[:] = 0
    assert metadata.finished_mask() == [True, True]
    assert metadata.partial_prompts() == []


def test_the_mask_tells_which_prompts_are_complete() -> None:
    metadata = metadata_of(2, 3, 8)
    metadata.build_pooling_cursor(np.array([2, 1, 4]), np.array([2, 3, 7]), "sim")
    assert metadata.finished_mask() == [True, True, False]
    assert metadata.partial_prompts() == ["b", "c"]


def test_pinned_lengths_are_read_when_the_stream_gets_there() -> None:
    lengths = torch.tensor([2, 3], dtype=torch.int32, pin_memory=True)
    metadata = PoolingMetadata(lengths, ["a", "b"])
    with sim.mode("lazy"):
        there = metadata.upload_prompt_lens("sim")
        lengths[1] = 40
        assert there.tolist() == [2, 40]


@pytest.mark.parametrize(
    ("scheduled", "seq_lens", "message"),
    [
        ([2], [2, 3], r"scheduled tokens of shape \[1\] for 2 requests"),
        ([2, 3, 4], [2, 3], r"scheduled tokens of shape \[3\] for 2 requests"),
        ([[2, 3]], [2, 3], r"scheduled tokens of shape \[1, 2\] for 2 requests"),
        ([2, 3], [2], r"sequence lengths of shape \[1\] for 2 requests"),
        ([2, 0], [2, 3], "request 'b': scheduled tokens 0; 1 is the least"),
        ([-1, 3], [2, 3], "request 'a': scheduled tokens -1; 1 is the least"),
    ],
)
def test_a_cursor_must_fit_the_metadata(scheduled, seq_lens, message: str) -> None:
    metadata = metadata_of(2, 3)
    with pytest.raises(ValueError, match=message):
        metadata.build_pooling_cursor(np.array(scheduled), np.array(seq_lens), "sim")
    assert metadata.pooling_cursor is None


def test_without_a_cursor_there_is_nothing_to_read() -> None:
    with pytest.raises(RuntimeError, match="no cursor yet; call build_pooling_cursor"):
        metadata_of(2).finished_mask()
