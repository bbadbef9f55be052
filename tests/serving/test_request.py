"""What a prompt may be, and what the errors say."""

from __future__ import annotations

import numpy as np
import pytest

from pinlab.serving.request import MAX_TOKEN, CachedRequestState


@pytest.mark.parametrize("prompt", [[1, 2], (1, 2), np.array([1, 2]), np.array([1, 2], np.uint8)])
def test_a_prompt_is_any_flat_sequence_of_integers(prompt: object) -> None:
    tokens = CachedRequestState("a", prompt).checked_tokens()
    assert tokens.dtype == np.int32
    assert tokens.tolist() == [1, 2]


def test_the_array_is_a_copy_of_the_prompt() -> None:
    prompt = np.array([1, 2], np.int32)
    tokens = CachedRequestState("a", prompt).checked_tokens()
    prompt[0] = 9
    assert tokens.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ([], "the prompt is empty; 1 token is the least"),
        ([3, -2], "token -2 is not within 0 … 2147483647"),
        ([MAX_TOKEN + 1], "token 2147483648 is not within"),
        ([1.0, 2.0], r"must be a flat sequence of integers, got \[1.0, 2.0\]"),
        ([1, 2.5], "must be a flat sequence of integers"),
        (["x"], "must be a flat sequence of integers"),
        ([True, False], "must be a flat sequence of integers"),
        ([[1], [2]], "must be a flat sequence of integers"),
        ([[1], [2, 3]], "must be a flat sequence of integers"),
        (np.array(3), "must be a flat sequence of integers"),
    ],
)
def test_what_is_no_prompt_is_refused_with_the_request_and_the_limit(
    prompt: object, message: str
) -> None:
    with pytest.raises(ValueError, match=f"request 'r7': .*{message}"):
        CachedRequestState("r7", prompt).checked_tokens()
