"""Lesson 01: the reference solution of each exercise passes; named wrong answers fail, each so."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from pinlab.classroom.checks import find_check
from pinlab.classroom.checks.lesson_01 import CHECKS

# --- 01.1 ---------------------------------------------------------------------------------------


def swap_by_fancy_index(rows, i, j):
    rows[[i, j]] = rows[[j, i]]


def swap_by_saved_copy(rows, i, j):
    saved = rows[i].copy()
    rows[i] = rows[j]
    rows[j] = saved


def swap_by_tuple_assignment(rows, i, j):
    rows[i], rows[j] = rows[j], rows[i]


def swap_by_saved_view(rows, i, j):
    saved = rows[j]
    rows[j] = rows[i]
    rows[i] = saved


def swap_into_a_new_array(rows, i, j):
    swapped = rows.copy()
    swapped[[i, j]] = rows[[j, i]]
    return swapped


def swap_by_binding_anew(rows, i, j):
    order = list(range(len(rows)))
    order[i], order[j] = order[j], order[i]
    rows = rows[order]


def swap_by_reversing_all(rows, i, j):
    rows[:] = rows[::-1].copy()


def swap_one_column(rows, i, j):
    rows[i, 0], rows[j, 0] = rows[j, 0].copy(), rows[i, 0].copy()


def swap_that_zeroes_equal_rows(rows, i, j):
    saved = rows[i].copy()
    rows[i] = 0
    rows[i] += rows[j]
    rows[j] = saved
    if i == j:
        rows[i] = 0


# --- 01.2 and 01.3 ------------------------------------------------------------------------------


def snapshot(lens, n):
    return torch.from_numpy(lens[:n].copy())


def view(lens, n):
    return torch.from_numpy(lens[:n])


def view_by_as_tensor(lens, n):
    return torch.as_tensor(lens)[:n]


def numpy_view(lens, n):
    return lens[:n]


def view_of_one_too_many(lens, n):
    return torch.from_numpy(lens[: n + 1])


def view_from_the_second(lens, n):
    return torch.from_numpy(lens[1 : n + 1])


def view_that_writes(lens, n):
    lens[n] = 0
    return torch.from_numpy(lens[:n])


def nothing_returned(lens, n):
    torch.from_numpy(lens[:n].copy())


def tensor_clone(lens, n):
    return torch.from_numpy(lens[:n]).clone()


def contiguous_view(lens, n):
    return torch.from_numpy(lens[:n]).contiguous()


def same_type_view(lens, n):
    return torch.from_numpy(lens[:n]).to(torch.int32)


def wider_type(lens, n):
    return torch.from_numpy(lens[:n]).to(torch.int64)


def locked_buffer(lens, n):
    lens.flags.writeable = False
    return torch.tensor(lens[:n])


_KEPT = torch.zeros(8, dtype=torch.int32)


def one_buffer_for_all_calls(lens, n):
    return _KEPT[:n].copy_(torch.from_numpy(lens[:n]))


def array_word_on_a_tensor(lens, n):
    return torch.from_numpy(lens[:n]).copy()


def view_of_three(lens, n):
    return torch.from_numpy(lens[:3])


def snapshot_of_three(lens, n):
    return torch.from_numpy(lens[:3].copy())


# --- 01.4 ---------------------------------------------------------------------------------------


def rewrites_and_restores(get, lens):
    result, kept = get(lens), lens.copy()
    before = result.clone()
    lens += 1
    moved = not torch.equal(result, before)
    lens[:] = kept
    return moved


def asks_numpy(get, lens):
    return np.shares_memory(lens, get(lens).numpy())


def compares_values(get, lens):
    return np.array_equal(get(lens).numpy(), lens[: len(get(lens))])


def compares_objects(get, lens):
    return get(lens) is lens


def binds_anew(get, lens):
    result = get(lens)
    before = result.clone()
    lens = lens + 1
    return not torch.equal(result, before)


def leaves_the_buffer_changed(get, lens):
    result = get(lens)
    before = result.clone()
    lens += 1
    return not torch.equal(result, before)


def rewrites_the_first_element(get, lens):
    result, kept = get(lens), lens.copy()
    before = result.clone()
    lens[0] += 1
    moved = not torch.equal(result, before)
    lens[:] = kept
    return moved


def rewrites_both_ends(get, lens):
    tensor = get(lens)
    before = tensor.clone()
    lens[[0, -1]] += 1
    moved = not torch.equal(tensor, before)
    lens[[0, -1]] -= 1
    return moved


def rewrites_the_first_half(get, lens):
    tensor = get(lens)
    before = tensor.clone()
    lens[:3] += 1
    moved = not torch.equal(tensor, before)
    lens[:3] -= 1
    return moved


def compares_addresses(get, lens):
    return get(lens).data_ptr() == lens.ctypes.data


def swaps_the_rows_of_the_check(rows, i, j):
    rows[[1, 3]] = rows[[3, 1]]


def writes_zeros(get, lens):
    result, kept = get(lens), lens.copy()
    before = result.clone()
    lens[:] = 0
    moved = not torch.equal(result, before)
    lens[:] = kept
    return moved


def writes_sevens(get, lens):
    result, kept = get(lens), lens.copy()
    before = result.clone()
    lens[:] = 7
    moved = not torch.equal(result, before)
    lens[:] = kept
    return moved


def writes_sevens_one_by_one(get, lens):
    result, kept = get(lens), lens.copy()
    before = result.clone()
    for row in range(len(lens)):
        lens[row] = 7
    moved = not torch.equal(result, before)
    lens[:] = kept
    return moved


def writes_what_is_no_length(get, lens):
    result, kept = get(lens), lens.copy()
    before = result.clone()
    lens[:] = -1
    moved = not torch.equal(result, before)
    lens[:] = kept
    return moved


def returns_the_tensor(get, lens):
    return get(lens)


def forgets_to_return(get, lens):
    get(lens)


def always_true(get, lens):
    return True


REFERENCE: dict[str, tuple[Callable, ...]] = {
    "01.1": (swap_by_fancy_index, swap_by_saved_copy),
    "01.2": (view, view_by_as_tensor, contiguous_view, same_type_view),
    "01.3": (snapshot, tensor_clone),
    "01.4": (rewrites_and_restores, asks_numpy, writes_what_is_no_length),
}

# Wrong answer -> belief and a piece of the message that no other wrong answer of the check gets.
WRONG: dict[str, dict[Callable, tuple[str | None, str]]] = {
    "01.1": {
        swap_by_tuple_assignment: ("M2", "Both rows now hold row 3"),
        swap_by_saved_view: ("M2", "Both rows now hold row 1"),
        swap_into_a_new_array: ("M1", "swap it in place"),
        swap_by_binding_anew: ("M1", "may be bound anew"),
        swap_by_reversing_all: (None, "Write rows i and j only"),
        swap_one_column: (None, "not a swap"),
        swap_that_zeroes_equal_rows: (None, "swap_rows(rows, 2, 2) changes the buffer"),
    },
    "01.2": {
        snapshot: (None, "Still safe"),
        numpy_view: (None, "yours returns a ndarray"),
        view_of_one_too_many: (None, "has shape (4,), should be (3,)"),
        view_from_the_second: (None, "is [5, 2, 8], should be [3, 5, 2]"),
        view_that_writes: (None, "Reading it must not write it"),
        wider_type: (None, "type int64"),
    },
    "01.3": {
        view: ("M2", "still moves with the buffer"),
        wider_type: (None, "type int64"),
        locked_buffer: (None, "became read-only"),
        one_buffer_for_all_calls: (None, "second call changed the result of the first"),
        array_word_on_a_tensor: (None, "copy() is numpy's word for it"),
    },
    "01.4": {
        compares_values: ("M1", "A copy was called an alias: the result of lens[:3].copy()"),
        binds_anew: ("M1", "Only a write in place shows it"),
        leaves_the_buffer_changed: (None, "put its numbers back"),
        rewrites_the_first_element: (None, "Which elements did you rewrite?"),
        writes_zeros: (None, "Writing 0 over 0 changes no byte"),
        writes_sevens: (None, "buffer [7, 7, 7, 7, 7, 7]. Writing 7 over 7 changes no byte"),
        returns_the_tensor: (None, "yours returned Tensor"),
    },
}


def named(table: dict) -> list:
    return [
        pytest.param(check, answer, id=f"{check}-{answer.__name__}")
        for check, answers in table.items()
        for answer in answers
    ]


def test_every_check_of_the_lesson_has_a_reference_and_two_wrong_answers() -> None:
    ids = [check.id for check in CHECKS]
    assert ids == list(REFERENCE) == list(WRONG)
    assert all(REFERENCE.values())
    assert all(len(answers) >= 2 for answers in WRONG.values())


@pytest.mark.parametrize(("check", "answer"), named(REFERENCE))
def test_the_reference_passes_with_one_sentence_of_why(check: str, answer: Callable) -> None:
    verdict = find_check(check).judge(answer)
    assert verdict.state == "right", str(verdict)
    assert verdict.text.count(". ") == 0
    assert verdict.text.endswith(".")


@pytest.mark.parametrize(("check", "answer"), named(WRONG))
def test_a_wrong_answer_gets_its_own_message(check: str, answer: Callable) -> None:
    belief, words = WRONG[check][answer]
    verdict = find_check(check).judge(answer)
    assert verdict.state == "wrong"
    assert verdict.belief == belief
    assert words in str(verdict)
    for other in WRONG[check]:
        if other is not answer:
            assert words not in str(find_check(check).judge(other)), other.__name__


@pytest.mark.parametrize(
    ("check", "answer", "words"),
    [
        ("01.3", contiguous_view, "still moves"),
        ("01.3", same_type_view, "still moves"),
        ("01.1", swaps_the_rows_of_the_check, "changes the buffer"),
        ("01.4", compares_objects, "An alias was missed"),
        ("01.4", rewrites_both_ends, "lens[1:2]"),
        ("01.4", rewrites_the_first_half, "lens[3:4]"),
        ("01.4", compares_addresses, "a view may begin further back"),
        ("01.4", always_true, "A copy was called an alias"),
        ("01.4", writes_sevens_one_by_one, "Writing 7 over 7 changes no byte"),
        ("01.2", view_of_three, "has shape (3,), should be (2,)"),
        ("01.3", snapshot_of_three, "has shape (3,), should be (2,)"),
        ("01.3", lambda lens, n: torch.tensor([3, 5, 2], dtype=torch.int32), "should be"),
    ],
)
def test_further_wrong_answers_are_recognised(check: str, answer: Callable, words: str) -> None:
    assert words in find_check(check).judge(answer).text


@pytest.mark.parametrize(
    ("check", "answer"),
    [("01.2", nothing_returned), ("01.3", nothing_returned), ("01.4", forgets_to_return)],
)
def test_a_forgotten_return_is_not_called_wrong(check: str, answer: Callable) -> None:
    verdict = find_check(check).judge(answer)
    assert verdict.state == "open"
    assert "is `return` missing?" in verdict.text
