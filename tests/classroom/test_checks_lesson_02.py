"""Lesson 02: the reference solution of each exercise passes; named wrong answers fail, each so."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from pinlab import sim
from pinlab.classroom.checks import find_check
from pinlab.classroom.checks.batch import upload_then_rewrite
from pinlab.classroom.checks.lesson_02 import CHECKS, SAMPLES
from pinlab.classroom.checks.upload import arrives, reads_late
from pinlab.classroom.questions.lesson_02 import QUESTIONS
from pinlab.device import pick_device
from pinlab.schedules import explore, replay

pick_device()

# --- 02.1 ---------------------------------------------------------------------------------------


def pinned_and_contiguous(tensor):
    return tensor.is_pinned() and tensor.is_contiguous()


def one_piece_of_pinned_memory(tensor):
    if not tensor.is_pinned():
        return False
    return tensor.numel() == 1 + sum(
        (n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True)
    )


def pinned_alone(tensor):
    return tensor.is_pinned()


def always(tensor):
    return True


def never(tensor):
    return False


def contiguous_alone(tensor):
    return tensor.is_contiguous()


def whole_blocks_only(tensor):
    return tensor.is_pinned() and tensor.is_contiguous() and tensor.storage_offset() == 0


def writes_the_tensor(tensor):
    tensor.add_(1)
    return tensor.is_pinned()


def uploads(tensor):
    return tensor.to(pick_device())


def forgets_to_return(tensor):
    tensor.is_pinned()


# --- 02.2 ---------------------------------------------------------------------------------------


def quotient(new_pinned, reused, new_pageable):
    saved = new_pageable - reused
    return math.ceil(new_pinned / saved) if saved > 0 else math.inf


def by_counting(new_pinned, reused, new_pageable):
    for k in range(1, 1000):
        if new_pinned + k * reused <= k * new_pageable:
            return k
    return math.inf


def reuse_is_free(new_pinned, reused, new_pageable):
    return math.ceil(new_pinned / new_pageable)


def not_whole(new_pinned, reused, new_pageable):
    saved = new_pageable - reused
    return new_pinned / saved if saved > 0 else math.inf


def wrong_sign(new_pinned, reused, new_pageable):
    saved = reused - new_pageable
    return math.ceil(new_pinned / saved) if saved else math.inf


def always_pays(new_pinned, reused, new_pageable):
    return math.ceil(new_pinned / max(new_pageable - reused, 1e-9))


def first_step_is_free(new_pinned, reused, new_pageable):
    saved = new_pageable - reused
    return math.ceil((new_pinned - reused) / saved) if saved > 0 else math.inf


def none_for_never(new_pinned, reused, new_pageable):
    saved = new_pageable - reused
    return math.ceil(new_pinned / saved) if saved > 0 else None


def one_too_many(new_pinned, reused, new_pageable):
    return quotient(new_pinned, reused, new_pageable) + 1


def divides_by_zero(new_pinned, reused, new_pageable):
    return math.ceil(new_pinned / (new_pageable - reused))


def forgets_the_quotient(new_pinned, reused, new_pageable):
    new_pinned / (new_pageable - reused + 1)


def says_it_in_words(new_pinned, reused, new_pageable):
    return "never"


# --- 02.3 ---------------------------------------------------------------------------------------


class Batch:
    def __init__(self, max_num_reqs):
        self.cpu_tensor = torch.zeros(max_num_reqs, dtype=torch.int32, pin_memory=True)
        self.num_prompt_tokens = self.cpu_tensor.numpy()

    def prompt_lens(self, n):
        return torch.from_numpy(self.num_prompt_tokens[:n])


class NumpyCopy(Batch):
    def prompt_lens(self, n):
        return torch.from_numpy(self.num_prompt_tokens[:n].copy())


class TensorClone(Batch):
    def prompt_lens(self, n):
        return self.cpu_tensor[:n].clone()


class PinnedAgain(Batch):
    def prompt_lens(self, n):
        return self.cpu_tensor[:n].pin_memory()


class SameType(Batch):
    def prompt_lens(self, n):
        return self.cpu_tensor[:n].to(torch.int32)


class PinnedSnapshot(Batch):
    def prompt_lens(self, n):
        return self.cpu_tensor[:n].clone().pin_memory()


class OneBufferForAllCalls(Batch):
    def __init__(self, max_num_reqs):
        super().__init__(max_num_reqs)
        self.out = torch.zeros(max_num_reqs, dtype=torch.int32)

    def prompt_lens(self, n):
        return self.out[:n].copy_(self.cpu_tensor[:n])


class OnceForAll(Batch):
    def prompt_lens(self, n):
        if not hasattr(self, "kept"):
            self.kept = self.cpu_tensor[:n].clone()
        return self.kept


class AlwaysThree(Batch):
    def prompt_lens(self, n):
        return torch.from_numpy(self.num_prompt_tokens[:3].copy())


class NotPinned(Batch):
    def __init__(self, max_num_reqs):
        self.cpu_tensor = torch.zeros(max_num_reqs, dtype=torch.int32)
        self.num_prompt_tokens = self.cpu_tensor.numpy()

    def prompt_lens(self, n):
        return self.cpu_tensor[:n].clone()


class FaceLost(Batch):
    def __init__(self, max_num_reqs):
        super().__init__(max_num_reqs)
        self.num_prompt_tokens = self.num_prompt_tokens.copy()

    def prompt_lens(self, n):
        return torch.from_numpy(self.num_prompt_tokens[:n].copy())


class NoBuffer(Batch):
    def __init__(self, max_num_reqs):
        pass

    def prompt_lens(self, n):
        return torch.zeros(n, dtype=torch.int32)


class WiderType(Batch):
    def prompt_lens(self, n):
        return self.cpu_tensor[:n].to(torch.int64)


class OnTheDevice(Batch):
    def prompt_lens(self, n):
        return self.cpu_tensor[:n].to(pick_device())


class AsArray(Batch):
    def prompt_lens(self, n):
        return self.num_prompt_tokens[:n].copy()


class NothingReturned(Batch):
    def prompt_lens(self, n):
        self.cpu_tensor[:n].clone()


class Stub(Batch):
    def prompt_lens(self, n): ...


REFERENCE: dict[str, tuple[Any, ...]] = {
    "02.1": (pinned_and_contiguous, one_piece_of_pinned_memory),
    "02.2": (quotient, by_counting),
    "02.3": (NumpyCopy, TensorClone),
}

# Wrong answer -> belief and a piece of the message that no other wrong answer of the check gets.
WRONG: dict[str, dict[Any, tuple[str | None, str]]] = {
    "02.1": {
        pinned_alone: (None, "do not lie side by side"),
        always: ("M5", "An ordinary tensor is staged"),
        never: ("M4", "after the call had returned"),
        contiguous_alone: (None, "that memory is pageable"),
        whole_blocks_only: ("M2", "pinned[2:5] was missed"),
        writes_the_tensor: (None, "changed the tensor"),
        uploads: (None, "yours returned SimTensor"),
    },
    "02.2": {
        reuse_is_free: (None, "Reusing a buffer is not free"),
        not_whole: (None, "round up to whole steps"),
        wrong_sign: (None, "subtracted the higher price"),
        always_pays: (None, "never paid back"),
        first_step_is_free: (None, "the first step costs `reused` too"),
        none_for_never: (None, "“never” is math.inf"),
        one_too_many: (None, "After 32 steps 160 stand against 160"),
        divides_by_zero: (None, "ZeroDivisionError"),
        says_it_in_words: (None, "yours returned str"),
    },
    "02.3": {
        Batch: ("M2", "still moves with the batch"),
        PinnedSnapshot: (None, "a pinned one"),
        OneBufferForAllCalls: ("M12", "second call changed the result of the first"),
        OnceForAll: (None, "does not see what was written"),
        NotPinned: (None, "not pinned any more"),
        FaceLost: (None, "no face of cpu_tensor"),
        NoBuffer: (None, "has no cpu_tensor"),
        WiderType: (None, "(int64), should be"),
        OnTheDevice: (None, "a tensor of the host"),
        AsArray: (None, "yours returns ndarray"),
    },
}


def named(table: dict[str, Any]) -> list[Any]:
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


@pytest.mark.parametrize("answer", [PinnedAgain, SameType])
def test_calls_that_have_nothing_to_do_are_no_snapshot(answer: type) -> None:
    verdict = find_check("02.3").judge(answer)
    assert verdict.belief == "M2"
    assert "[13, 15, 12] arrives instead of [3, 5, 2]" in verdict.text


def test_the_schedule_in_the_verdict_replays_the_wrong_numbers() -> None:
    verdict = find_check("02.3").judge(PinnedAgain)
    token = verdict.text.split("“")[1].split("”")[0]
    program = upload_then_rewrite(PinnedAgain)
    assert replay(program, token, trace=[PinnedAgain.prompt_lens]) == [13, 15, 12]


def test_a_repaired_batch_is_right_in_every_schedule_of_the_full_space() -> None:
    report = explore(upload_then_rewrite(NumpyCopy), expect=[3, 5, 2], full=True)
    assert report.correct
    broken = explore(upload_then_rewrite(Batch), expect=[3, 5, 2], full=True)
    assert len(broken.outcomes) == 2
    assert [3, 5, 2] in broken.outcomes
    assert [13, 15, 12] in broken.outcomes


@pytest.mark.parametrize(
    ("check", "answer"),
    [("02.1", forgets_to_return), ("02.2", forgets_the_quotient), ("02.3", NothingReturned)],
)
def test_a_forgotten_return_is_not_called_wrong(check: str, answer: Callable) -> None:
    verdict = find_check(check).judge(answer)
    assert verdict.state == "open"
    assert "is `return` missing?" in verdict.text


def test_another_number_of_lengths_is_asked_for_as_well() -> None:
    assert "prompt_lens(2) shows [13, 15, 12]" in find_check("02.3").judge(AlwaysThree).text


def test_a_method_with_dots_is_not_answered_yet() -> None:
    verdict = find_check("02.3").judge(Stub)
    assert (verdict.state, verdict.text) == ("open", "check_02_3.hint() gives a first hint.")


def test_the_batch_itself_instead_of_its_class_is_told_apart() -> None:
    assert "takes the class" in find_check("02.3").judge(NumpyCopy(6)).text


def test_the_samples_are_read_late_exactly_where_the_copy_table_says() -> None:
    late = {name for name, make in SAMPLES if reads_late(make())}
    assert late == {
        "a pinned tensor",
        "pinned[2:5]",
        "torch.from_numpy(pinned.numpy()[1:])",
        "pinned.view(2, 3)",
        "ordinary.pin_memory()",
    }


def test_what_arrives_is_decided_by_the_platform_and_not_by_the_check() -> None:
    """Without staging, a pageable source is read late as well: the check sees what happens."""
    row = torch.tensor([3, 5, 2])
    with sim.platform(sim.Platform(stage_pageable_uploads=False)):
        assert arrives(row, lambda: row.fill_(0)).tolist() == [0, 0, 0]


def test_the_questions_are_numbered_in_order_and_wrong_options_name_beliefs() -> None:
    assert [question.id for question in QUESTIONS] == [f"02.{n}" for n in range(1, 7)]
    behind = {"02.1": ("3 MiB", ""), "02.2": ("pageable", "row[2:5]")}
    for question in QUESTIONS[:2]:
        assert question.belief_behind(*behind[question.id]) == "M2"
    third = QUESTIONS[2]
    assert third.belief_behind("5", "pinned row") == "M6"
    assert third.belief_behind("40", "pageable row") == "M5"
    assert third.belief_behind("40", "pinned row") is None
