"""The naming convention: opt-in, and then its names are believed."""

from __future__ import annotations

from pinlab.detect.lint import Options, lint_text

NAMING = Options(enabled=frozenset({"PIN009"}))
TEXT = """\
import torch
class Batch:
    def __init__(self, n):
        self.lens = torch.zeros(n, pin_memory=True)
        self._rows_cpu_tensor = torch.zeros(n, pin_memory=True)
        self._ids_pinned = torch.zeros(n).pin_memory()
        self._rows_np = self._rows_cpu_tensor.numpy()
        self._face = self._ids_pinned.numpy()
        self.plain = torch.zeros(n)
    def whole(self):
        return self._rows_cpu_tensor
    def _private(self):
        return self._rows_cpu_tensor
    def snapshot(self, k):
        return self._rows_cpu_tensor[:k].clone()
class PairBuffer:
    def __init__(self, n):
        self.cpu = torch.zeros(n, pin_memory=True)
"""


def test_it_is_silent_unless_enabled() -> None:
    assert lint_text(TEXT) == []


def test_public_or_unmarked_buffers_and_returned_ones_are_reported() -> None:
    found = [(f.line, f.rule) for f in lint_text(TEXT, NAMING)]
    assert found == [(4, "PIN009"), (8, "PIN009"), (11, "PIN009")]


def test_messages_say_which_part_of_the_convention_is_broken() -> None:
    first, second, third = lint_text(TEXT, NAMING)
    assert "private" in first.message
    assert "`_cpu_tensor` or `_pinned`" in first.message
    assert "`_np`" in second.message
    assert "private" not in second.message
    assert "returns memory of the pinned buffer" in third.message


def test_a_marked_name_counts_as_perhaps_pinned_where_its_making_is_out_of_sight() -> None:
    text = """\
import torch
class Batch:
    def __init__(self, factory, n):
        self._lens_cpu_tensor = factory(n)
    def view(self, k):
        return Meta(self._lens_cpu_tensor[:k])
"""
    assert lint_text(text) == []
    assert [(f.line, f.rule) for f in lint_text(text, NAMING) if f.rule == "PIN001"] == [
        (6, "PIN001")
    ]


def test_a_marked_name_is_believed_on_any_object_and_as_a_parameter() -> None:
    text = """\
class Runner:
    def __init__(self, batch):
        self.batch = batch
    def keep(self, meta, k):
        meta.lens = self.batch.lens_pinned[:k]
def view(rows_cpu_tensor, k):
    return Meta(rows_cpu_tensor[:k])
def snapshot(rows_cpu_tensor, k):
    return Meta(rows_cpu_tensor[:k].clone())
def upload(rows_pinned, there):
    there.copy_(rows_pinned, non_blocking=True)
    rows_pinned[0] = 3
"""
    found = {(f.line, f.rule) for f in lint_text(text, NAMING) if f.rule != "PIN009"}
    assert found == {(5, "PIN001"), (7, "PIN001"), (12, "PIN003")}
    assert lint_text(text) == []


def test_reaching_into_another_object_for_its_pinned_memory_is_reported() -> None:
    text = """\
class Batch:
    def __init__(self, rows):
        self._rows_pinned = rows
    def equals(self, other):
        return self._rows_pinned.equal(other._rows_pinned)
class Runner:
    def __init__(self, batch):
        self.batch = batch
    def longest(self):
        return int(self.batch._rows_pinned.max())
def total(batch):
    return int(batch._rows_pinned.sum())
"""
    found = [(f.line, f.rule) for f in lint_text(text, NAMING)]
    assert found == [(10, "PIN009"), (12, "PIN009")]
