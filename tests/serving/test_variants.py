"""The registry's claims that need no schedule, the story's regression test, the differing lines."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from pinlab.serving.input_batch import InputBatch
from pinlab.serving.request import CachedRequestState
from pinlab.serving.scenarios import late_host_reader
from pinlab.serving.variants import KINDS, VARIANTS, AliasingBatch, difference
from pinlab.serving.variants.orderings import EventWaitBatch

SNAPSHOTS = ["copy", "clone", "clone and pin"]
ORDERINGS = ["event wait", "double buffer", "not pinned", "full synchronise"]
LOOKALIKES = [
    "clone after the upload",
    "clone of the destination",
    "event before the copy",
    "guard too late",
    "wrong stream",
    "keep-alive only",
    "contiguous",
    "as_tensor",
]


def batch_of_three(name: str) -> InputBatch:
    batch = VARIANTS[name].batch(4, "sim")
    for req_id, length in (("a", 5), ("b", 7), ("c", 9)):
        batch.add_request(CachedRequestState(req_id, [1] * length))
    return batch


def regression_test(batch: InputBatch, change: Callable[[InputBatch], object]) -> bool:
    """What the fix was given: the metadata must not follow the batch. Needs no race."""
    lengths = batch.get_pooling_metadata().prompt_lens
    before = lengths.tolist()
    change(batch)
    return lengths.tolist() == before


def condense(batch: InputBatch) -> None:
    batch.remove_request("b")
    batch.condense()


CHANGES = {
    "rows written": lambda batch: batch.num_prompt_tokens.__setitem__(0, 99),
    "tensor written": lambda batch: batch.num_prompt_tokens_cpu_tensor.fill_(99),
    "condensed": condense,
    "swapped": lambda batch: batch.swap_states(0, 2),
    "grown": lambda batch: batch.refresh(CachedRequestState("a", [1] * 30)),
}


def test_every_variant_is_registered_once_with_a_reason() -> None:
    assert list(VARIANTS) == ["aliasing", *SNAPSHOTS, *ORDERINGS, *LOOKALIKES]
    assert len({variant.batch for variant in VARIANTS.values()}) == len(VARIANTS)
    for name, variant in VARIANTS.items():
        assert variant.name == name
        assert variant.kind in KINDS
        assert variant.why.endswith(".")
        assert issubclass(variant.batch, InputBatch)
        assert variant.batch.__doc__


def test_the_batch_as_shipped_is_the_clone() -> None:
    assert VARIANTS["clone"].batch is InputBatch


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", SNAPSHOTS)
def test_the_regression_test_passes_on_snapshots(name: str, change: str) -> None:
    assert regression_test(batch_of_three(name), CHANGES[change])


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["aliasing", *ORDERINGS])
def test_the_regression_test_fails_where_the_view_is_kept(name: str, change: str) -> None:
    assert not regression_test(batch_of_three(name), CHANGES[change])


@pytest.mark.parametrize("name", LOOKALIKES)
def test_the_regression_test_fails_on_every_lookalike(name: str) -> None:
    assert not regression_test(batch_of_three(name), condense)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_late_host_reader_is_served_as_claimed(name: str) -> None:
    variant = VARIANTS[name]
    right = late_host_reader(variant.batch)() == [True, True, True]
    assert right == variant.late_host_reader
    assert (variant.kind == "snapshot") <= right


@pytest.mark.parametrize("name", VARIANTS)
def test_only_clone_and_pin_gives_the_pooler_pinned_memory_of_its_own(name: str) -> None:
    batch = batch_of_three(name)
    lengths = batch.get_pooling_metadata().prompt_lens
    rows = batch.num_prompt_tokens_cpu_tensor
    own = lengths.untyped_storage().data_ptr() != rows.untyped_storage().data_ptr()
    assert own == (name in SNAPSHOTS)
    assert lengths.is_pinned() == (name not in ("copy", "clone", "not pinned"))


def test_a_double_buffer_takes_the_lengths_of_staying_requests_along() -> None:
    batch = batch_of_three("double buffer")
    batch.begin_update()
    condense(batch)
    batch.begin_update()
    assert batch.get_pooling_metadata().prompt_lens.tolist() == [5, 9]
    assert batch.num_prompt_tokens.ctypes.data == batch.num_prompt_tokens_cpu_tensor.data_ptr()


@pytest.mark.parametrize("options", [{}, {"pin_memory": True}, {"pin_memory": False}])
def test_not_pinned_stays_so_whatever_is_asked(options: dict[str, bool]) -> None:
    batch = VARIANTS["not pinned"].batch(4, "sim", **options)
    assert not batch.num_prompt_tokens_cpu_tensor.is_pinned()


SLICE = "prompt_lens = self.num_prompt_tokens_cpu_tensor[: self.num_reqs]"
ONE_LINE = {
    "copy": "prompt_lens = torch.from_numpy(self.num_prompt_tokens[: self.num_reqs].copy())",
    "clone": f"{SLICE}.clone()",
    "clone and pin": f"{SLICE}.clone().pin_memory()",
    "contiguous": f"{SLICE}.contiguous()",
    "as_tensor": "prompt_lens = torch.as_tensor(self.num_prompt_tokens[: self.num_reqs])",
}


@pytest.mark.parametrize("name", ONE_LINE)
def test_a_snapshot_differs_from_the_bug_by_its_one_line(name: str) -> None:
    assert difference(AliasingBatch, VARIANTS[name].batch).splitlines() == [
        "get_pooling_metadata",
        f"- {SLICE}",
        f"+ {ONE_LINE[name]}",
    ]


@pytest.mark.parametrize("name", [*ORDERINGS, *LOOKALIKES])
def test_every_other_variant_adds_a_handful_of_lines(name: str) -> None:
    lines = difference(AliasingBatch, VARIANTS[name].batch).splitlines()
    changed = [line for line in lines if line[0] in "+-"]
    assert 1 <= len(changed) <= 6


def test_a_method_that_extends_another_shows_the_added_lines_only() -> None:
    assert difference(AliasingBatch, EventWaitBatch).splitlines() == [
        "__init__",
        "+ self._lengths_read = torch.get_device_module(self.device).Event()",
        "begin_update",
        "+ self._lengths_read.synchronize()",
        "end_step",
        "+ self._lengths_read.record()",
    ]


def test_a_moved_line_shows_where_it_was_and_where_it_went() -> None:
    too_early = VARIANTS["event before the copy"].batch
    assert difference(EventWaitBatch, too_early).splitlines() == [
        "get_pooling_metadata",
        "+ self._lengths_read.record()",
        "end_step",
        "- self._lengths_read.record()",
    ]


def test_equal_classes_have_no_difference() -> None:
    assert difference(InputBatch, InputBatch) == ""


def test_a_clone_of_a_pinned_tensor_is_not_pinned() -> None:
    assert not torch.zeros(3, pin_memory=True).clone().is_pinned()
