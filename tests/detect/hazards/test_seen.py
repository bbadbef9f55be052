"""What `hazards()` sees, one test a row of the table in docs/hazards.md, in every mode.

Each program is ordinary torch code. A row names the finding's kind and the line that is to blame.
"""

from __future__ import annotations

import copy
import inspect
import io
import pickle
from collections.abc import Callable

import numpy as np
import pytest
import torch

from pinlab import sim
from pinlab.detect.hazards import Between, Findings, Kind
from pinlab.device import pick_device

from .blame import Program, blamed, gpu, watched

device = pick_device()
pytestmark = pytest.mark.usefixtures("each_mode")


def test_torch_write_to_an_uploads_source_is_seen_on_its_line() -> None:
    def program() -> None:
        row = torch.tensor([1, 2, 3], pin_memory=True)
        there = row.to(device, non_blocking=True)
        row.fill_(0)
        there.tolist()

    (hazard,) = watched(program)
    assert blamed(Findings([hazard])) == [(Kind.SOURCE_WRITTEN, "row.fill_(0)")]
    assert hazard.buffer.name == "row"
    assert hazard.buffer.shape == (3,)
    assert hazard.allocated_at is not None
    assert hazard.allocated_at.source == "row = torch.tensor([1, 2, 3], pin_memory=True)"
    assert hazard.queued_at.source == "there = row.to(device, non_blocking=True)"
    assert (hazard.before[:1], hazard.after[:1]) == (b"\x01", b"\x00")


def test_torch_write_of_equal_values_is_seen() -> None:
    def program() -> None:
        row = torch.zeros(3, pin_memory=True)
        there = row.to(device, non_blocking=True)
        row.zero_()
        there.tolist()

    assert blamed(watched(program)) == [(Kind.SOURCE_WRITTEN, "row.zero_()")]


def test_numpy_write_is_seen_between_two_places_and_exactly_with_lines() -> None:
    def program() -> None:
        row = torch.tensor([5, 7, 9], pin_memory=True)
        face = row.numpy()
        there = row.to(device, non_blocking=True)
        face[1] = 40
        there.tolist()

    (rough,) = watched(program)
    assert rough.kind is Kind.SOURCE_WRITTEN
    assert isinstance(rough.written_at, Between)
    assert rough.written_at.after.lineno < rough.written_at.before.lineno
    assert blamed(watched(program, lines=True)) == [(Kind.SOURCE_WRITTEN, "face[1] = 40")]


def test_write_through_another_view_and_a_memoryview_is_seen_with_lines() -> None:
    def program() -> None:
        row = torch.zeros(8, dtype=torch.uint8, pin_memory=True)
        view = torch.from_numpy(row.numpy()[2:6])
        raw = memoryview(row.numpy())
        there = view.to(device, non_blocking=True)
        raw[3] = 7
        there.tolist()

    assert blamed(watched(program, lines=True)) == [(Kind.SOURCE_WRITTEN, "raw[3] = 7")]


def test_write_beside_the_bytes_of_the_copy_is_no_hazard() -> None:
    def program() -> None:
        row = torch.zeros(8, dtype=torch.uint8, pin_memory=True)
        there = row[2:6].to(device, non_blocking=True)
        row[7] = 1
        row[:2] = 1
        there.tolist()

    assert not watched(program, lines=True)


def test_download_read_early_by_tolist_item_and_operator_is_seen() -> None:
    def program() -> None:
        late = (torch.ones(2, device=device) * 2).to("cpu", non_blocking=True)
        late.tolist()
        late[0].item()
        late + 1
        gpu.synchronize()

    lines = ["late.tolist()", "late[0].item()", "late + 1"]
    assert blamed(watched(program)) == [(Kind.DESTINATION_READ, line) for line in lines]


def test_download_read_early_through_a_numpy_face_taken_in_flight_is_seen() -> None:
    def program() -> None:
        landing = torch.zeros(3, pin_memory=True)
        landing.copy_(torch.ones(3, device=device), non_blocking=True)
        face = landing.numpy()
        tail = face[1:]
        tail.sum()
        gpu.synchronize()
        tail.sum()

    found = watched(program)
    assert blamed(found) == [(Kind.DESTINATION_READ, "tail.sum()")]


def test_arrays_of_pending_downloads_in_a_list_are_read_by_a_numpy_function() -> None:
    def program() -> None:
        faces = [torch.ones(1, device=device).to("cpu", non_blocking=True).numpy() for _ in "ab"]
        np.concatenate(faces)
        gpu.synchronize()
        assert np.stack(faces, axis=1).tolist() == [[1.0, 1.0]]

    assert blamed(watched(program)) == [(Kind.DESTINATION_READ, "np.concatenate(faces)")] * 2


@pytest.mark.parametrize(
    "read",
    [
        lambda face: face.astype("int32"),
        lambda face: face.argmax(),
        lambda face: face.dot(face),
        lambda face: face.flatten(),
        lambda face: copy.deepcopy(face),
        lambda face: pickle.dumps(face),
        lambda face: 1 in face,
        lambda face: f"{face[:1]}",
    ],
)
def test_methods_of_an_array_that_read_its_elements_are_seen(
    read: Callable[[np.ndarray], object],
) -> None:
    def program() -> None:
        read(torch.ones(3, device=device).to("cpu", non_blocking=True).numpy())

    assert [hazard.kind for hazard in watched(program)] == [Kind.DESTINATION_READ]


def test_download_pickled_or_saved_early_is_seen() -> None:
    def program() -> None:
        back = torch.ones(3, device=device).to("cpu", non_blocking=True)
        pickle.dumps(back)
        torch.save({"weight": back}, io.BytesIO())

    assert blamed(watched(program)) == [
        (Kind.DESTINATION_READ, "pickle.dumps(back)"),
        (Kind.DESTINATION_READ, 'torch.save({"weight": back}, io.BytesIO())'),
    ]


def test_a_question_about_a_downloads_destination_is_no_read() -> None:
    def program() -> None:
        back = torch.ones(3, device=device).to("cpu", non_blocking=True)
        assert back.is_pinned()
        assert back.is_same_size(torch.zeros_like(back))
        assert len(back.new_zeros(back.shape)) == back.numel()

    assert not watched(program, lines=True)


def test_a_view_of_a_downloads_destination_is_no_read() -> None:
    def program() -> list[float]:
        landing = torch.zeros(3, pin_memory=True)
        landing.copy_(torch.ones(3, device=device), non_blocking=True)
        done = gpu.current_stream().record_event()
        parts = landing.unbind()
        landing.numpy()[1:]
        done.synchronize()
        return [part.item() for part in parts]

    assert not watched(program)


def test_host_write_to_a_downloads_destination_is_seen_and_the_devices_is_not() -> None:
    def program() -> None:
        state = torch.tensor([9, 9, 9], pin_memory=True)
        state.copy_(torch.tensor([4, 3, 2]).to(device) + 0, non_blocking=True)
        state[0] = 1
        gpu.synchronize()

    assert blamed(watched(program, lines=True)) == [(Kind.DESTINATION_WRITTEN, "state[0] = 1")]


def test_pinned_memory_freed_and_reused_while_pending_is_seen_where_nobody_tracks_it() -> None:
    def program() -> None:
        with sim.platform(sim.Platform(host_allocator_tracks=False)):
            one = torch.tensor([5, 6]).pin_memory().to(device, non_blocking=True)
            two = torch.tensor([7, 8]).pin_memory().to(device, non_blocking=True)
            one + two
            gpu.synchronize()

    kinds = [hazard.kind for hazard in watched(program)]
    assert kinds == [Kind.FREED, Kind.REUSED, Kind.FREED]


def test_a_slice_that_the_allocator_does_not_recognise_counts_as_freed() -> None:
    def program() -> None:
        with sim.platform(sim.Platform(track_by="data_ptr")):
            batch = torch.tensor([1, 2, 3, 4], pin_memory=True)
            there = batch[2:4].to(device, non_blocking=True)
            del batch
            there.tolist()

    assert [hazard.kind for hazard in watched(program)] == [Kind.FREED]


def test_two_streams_without_an_event_are_unordered_and_with_one_are_not() -> None:
    def program(ordered: bool) -> None:
        weights, side = torch.zeros(1, device=device), gpu.Stream()
        source = torch.tensor([3.0], pin_memory=True)
        if ordered:
            side.wait_stream(gpu.current_stream())
        with gpu.stream(side):
            weights.copy_(source, non_blocking=True)
        if ordered:
            gpu.current_stream().wait_stream(side)
        weights * 10
        gpu.synchronize()

    found = watched(lambda: program(ordered=False))
    assert (Kind.UNORDERED, "weights * 10") in blamed(found)
    assert not watched(lambda: program(ordered=True))


def test_host_wait_between_two_streams_orders_them() -> None:
    def program() -> None:
        side = gpu.Stream()
        with gpu.stream(side):
            there = torch.tensor([3.0], pin_memory=True).to(device, non_blocking=True)
        side.synchronize()
        there * 10

    assert not watched(program)


def test_host_memory_handed_from_one_stream_to_another_without_an_event_is_unordered() -> None:
    def program() -> None:
        stage, side = torch.zeros(1, pin_memory=True), gpu.Stream()
        value = torch.ones(1, device=device)
        side.wait_stream(gpu.current_stream())
        with gpu.stream(side):
            stage.copy_(value, non_blocking=True)
        stage.to(device, non_blocking=True)
        gpu.synchronize()

    expected = (Kind.UNORDERED, "stage.to(device, non_blocking=True)")
    assert expected in blamed(watched(program))


def test_device_block_reused_under_another_stream_is_seen_unless_recorded() -> None:
    def program(recorded: bool) -> None:
        side, landing = gpu.Stream(), torch.zeros(1, pin_memory=True)
        source = torch.ones(1, device=device)
        side.wait_stream(gpu.current_stream())
        with gpu.stream(side):
            landing.copy_(source, non_blocking=True)
        if recorded:
            source.record_stream(side)
        del source
        fresh = torch.full((1,), -1.0, device=device)
        gpu.synchronize()
        fresh.tolist()

    expected = (Kind.BLOCK_REUSED, "fresh = torch.full((1,), -1.0, device=device)")
    assert expected in blamed(watched(lambda: program(recorded=False)))
    assert not watched(lambda: program(recorded=True))


# -- what is not seen: documented, and held here so that the table stays true ---------------------


def test_numpy_read_through_a_face_made_before_is_not_seen() -> None:
    def program() -> None:
        landing = torch.zeros(2, pin_memory=True)
        face = landing.numpy()
        landing.copy_(torch.ones(2, device=device), non_blocking=True)
        face.tolist()
        gpu.synchronize()

    assert not watched(program, lines=True)


def test_a_read_through_a_memoryview_is_not_seen() -> None:
    def program() -> None:
        back = torch.ones(3, device=device).to("cpu", non_blocking=True)
        memoryview(back.numpy()).tolist()

    assert not watched(program, lines=True)


def test_numpy_write_of_equal_values_is_not_seen() -> None:
    def program() -> None:
        row = torch.zeros(2, pin_memory=True)
        there = row.to(device, non_blocking=True)
        row.numpy()[0] = 0
        there.tolist()

    assert not watched(program, lines=True)


# -- controls ------------------------------------------------------------------------------------


def edit_after_an_event_wait() -> None:
    row = torch.tensor([1, 2, 3], pin_memory=True)
    there = row.to(device, non_blocking=True)
    gpu.current_stream().record_event().synchronize()
    row.fill_(0)
    there.tolist()


def edit_after_a_true_query() -> None:
    row = torch.tensor([1, 2, 3], pin_memory=True)
    row.to(device, non_blocking=True)
    done = gpu.current_stream().record_event()
    while not done.query():
        pass
    row.fill_(0)


def dropped_pinned_temporary() -> None:
    there = torch.tensor([1, 2, 3]).pin_memory().to(device, non_blocking=True)
    other = torch.tensor([8, 8, 8], pin_memory=True)
    there.tolist(), other.tolist()


def reused_pageable_buffer() -> None:
    row = torch.zeros(1)
    for value in (1, 2):
        row[0] = value
        row.to(device, non_blocking=True)
    gpu.synchronize()


def same_stream_kernel_after_upload() -> None:
    there = torch.zeros(1, device=device)
    there.copy_(torch.tensor([3.0], pin_memory=True), non_blocking=True)
    there.mul_(2).tolist()


def alias_that_nobody_writes() -> None:
    row = torch.tensor([1, 2], pin_memory=True)
    torch.from_numpy(row.numpy()).to(device, non_blocking=True).tolist()


def blocking_copies() -> None:
    row = torch.tensor([1, 2], pin_memory=True)
    row.to(device)
    row.fill_(3)
    row.copy_(torch.ones(2, dtype=torch.int64, device=device))
    row.tolist()


def strided_source_is_packed_at_the_call() -> None:
    grid = torch.zeros(4, 4, pin_memory=True)
    grid[:, 1].to(device, non_blocking=True)
    grid.fill_(1)
    gpu.synchronize()


def double_buffer_with_events() -> None:
    buffers = [torch.zeros(1, pin_memory=True) for _ in range(2)]
    events = [gpu.Event() for _ in range(2)]
    for step in range(4):
        events[step % 2].synchronize()
        buffers[step % 2][0] = step
        buffers[step % 2].to(device, non_blocking=True)
        events[step % 2].record()
    gpu.synchronize()


def numpy_only() -> None:
    rows = np.zeros(3)
    rows[0] = 1


CONTROLS = [
    edit_after_an_event_wait,
    edit_after_a_true_query,
    dropped_pinned_temporary,
    reused_pageable_buffer,
    same_stream_kernel_after_upload,
    alias_that_nobody_writes,
    blocking_copies,
    strided_source_is_packed_at_the_call,
    double_buffer_with_events,
    numpy_only,
]


@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: control.__name__)
@pytest.mark.parametrize("lines", [False, True], ids=["", "lines"])
def test_control_is_clean(control: Program, lines: bool) -> None:
    assert not watched(control, lines=lines), inspect.getsource(control)


def test_everything_is_put_back_after_the_block() -> None:
    before = torch.Tensor.tolist, torch.Tensor.numpy
    watched(numpy_only, lines=True)
    assert (torch.Tensor.tolist, torch.Tensor.numpy) == before
    assert not [o for o in sim.state.accelerator().observers if "Tracker" in type(o).__name__]


def test_findings_print_with_the_lines_and_the_bytes() -> None:
    def program() -> None:
        row = torch.tensor([1, 2], dtype=torch.uint8, pin_memory=True)
        there = row.to(device, non_blocking=True)
        row.fill_(9)
        there.tolist()

    text = str(watched(program))
    assert "write to an upload's source: row (uint8[2], 2 bytes), allocated at" in text
    assert "row.fill_(9)" in text
    assert "bytes 01 02 became 09 09" in text
    assert str(watched(numpy_only)) == "no hazards"
