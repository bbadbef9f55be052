"""The buffer that knows what is in flight: what it refuses, what it waits for, and the attackers.

Attacks are proved over all schedules. What is known to get through is tested to get through, so
that the documentation cannot claim more than holds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

from pinlab import sim
from pinlab.detect.hazards import hazards
from pinlab.schedules import Report, explore
from pinlab.serving import InFlightBuffer, InFlightError

Attack = Callable[[InFlightBuffer], None]


def filled(**options: Any) -> InFlightBuffer:
    buffer = InFlightBuffer("lens", 3, device="sim", **options)
    with buffer.writing() as rows:
        rows[:] = [2, 4, 8]
    return buffer


def proved(attack: Attack, **options: Any) -> Report:
    """Upload, attack, look at what arrived; a refusal of any kind ends the attack."""

    def program() -> list[int]:
        buffer = filled(**options)
        arrived = buffer.upload() + 0
        try:
            attack(buffer)
        except (ValueError, TypeError, InFlightError):
            pass
        found: list[int] = arrived.tolist()
        return found

    return explore(program, expect=[2, 4, 8], trace=[attack])


def writes_a_row(buffer: InFlightBuffer) -> None:
    with buffer.writing() as rows:
        rows[1] = 40


def writes_through_np(buffer: InFlightBuffer) -> None:
    buffer.np[1] = 40


def writes_through_a_memoryview(buffer: InFlightBuffer) -> None:
    memoryview(buffer.np)[1] = 40


def writes_through_an_unlocked_np(buffer: InFlightBuffer) -> None:
    face = buffer.np
    face.flags.writeable = True
    face[1] = 40


def writes_through_torch(buffer: InFlightBuffer) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.from_numpy(buffer.np)[1] = 40


def writes_through_cpu(buffer: InFlightBuffer) -> None:
    buffer.cpu[1] = 40


def uploads_again_and_writes(buffer: InFlightBuffer) -> None:
    buffer.upload()
    writes_a_row(buffer)


def leaves_a_block_by_an_exception(buffer: InFlightBuffer) -> None:
    with buffer.writing() as rows:
        rows[1] = 40
        raise ValueError("the step is called off")


ATTACKS = (
    writes_a_row,
    writes_through_np,
    writes_through_a_memoryview,
    writes_through_an_unlocked_np,
    writes_through_torch,
    writes_through_cpu,
    uploads_again_and_writes,
    leaves_a_block_by_an_exception,
)


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("policy", ["wait", "refuse"])
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_no_attack_reaches_the_bytes_in_flight(attack: Attack, policy: str, direct: bool) -> None:
    report = proved(attack, when_pending=policy, direct=direct)
    through_torch = direct and attack is writes_through_torch  # torch knows no read-only tensors
    assert report.complete
    assert report.correct != through_torch, str(report)


@pytest.mark.parametrize(
    ("keep", "reaches_a_direct_buffer"),
    [(lambda rows: rows, False), (lambda rows: rows[:], True), (memoryview, True)],
    ids=["the rows", "a view of them", "a memoryview"],
)
@pytest.mark.parametrize("direct", [False, True])
def test_what_is_kept_from_a_block_reaches_at_most_a_direct_buffer(
    keep: Callable[[Any], Any], reaches_a_direct_buffer: bool, direct: bool
) -> None:
    """The array of the block is locked when it ends; Python cannot lock what was made of it."""

    def program() -> list[int]:
        buffer = InFlightBuffer("lens", 3, device="sim", direct=direct)
        with buffer.writing() as rows:
            rows[:] = [2, 4, 8]
            kept = keep(rows)
        arrived = buffer.upload() + 0
        try:
            kept[1] = 40
        except ValueError:
            pass
        return arrived.tolist()

    report = explore(program, expect=[2, 4, 8])
    assert report.correct != (direct and reaches_a_direct_buffer), str(report)


def test_uploads_of_two_streams_are_both_waited_for() -> None:
    def program() -> list[int]:
        buffer, side = filled(), torch.sim.Stream()
        with torch.sim.stream(side):
            first = buffer.upload() + 0
        second = buffer.upload() + 0
        writes_a_row(buffer)
        torch.sim.synchronize()
        return [*first.tolist(), *second.tolist()]

    report = explore(program, expect=[2, 4, 8, 2, 4, 8], trace=[writes_a_row])
    assert report.correct, str(report)


def test_an_upload_on_a_stream_of_its_own_arrives_over_the_zeros_of_the_beginning() -> None:
    def program() -> list[int]:
        buffer = filled()
        with torch.sim.stream(torch.sim.Stream()):
            return buffer.upload().tolist()

    assert explore(program, expect=[2, 4, 8]).correct


def test_steps_without_a_reader_in_between_all_arrive() -> None:
    def program() -> list[int]:
        buffer, arrived = filled(), []
        for step in range(3):
            with buffer.writing() as rows:
                rows[0] = step
            arrived.append(buffer.upload(2) + 0)
        return [row for tensor in arrived for row in tensor.tolist()]

    assert explore(program, expect=[0, 4, 1, 4, 2, 4]).correct


@pytest.mark.parametrize("mode", ["eager", "lazy", "threaded"])
@pytest.mark.parametrize("direct", [False, True])
def test_the_tracker_finds_nothing_in_the_use_that_is_meant(mode: str, direct: bool) -> None:
    with sim.mode(mode), hazards() as found:
        buffer = filled(direct=direct)
        for step in range(3):
            buffer.upload()
            with buffer.writing() as rows:
                rows[step] = step
    assert not list(found), str(found)


def test_a_wait_is_counted_and_says_for_which_upload() -> None:
    buffer = filled()
    assert (buffer.waits, buffer.last_wait) == (0, "")
    buffer.upload()
    writes_a_row(buffer)
    assert buffer.waits == 1
    assert buffer.last_wait.startswith("waited at test_in_flight.py:")
    assert "for the upload queued at test_in_flight.py:" in buffer.last_wait


def test_a_refusal_names_the_buffer_and_both_lines_and_does_not_depend_on_luck() -> None:
    with sim.mode("eager"):  # the copy has run; nobody has asked
        buffer = filled(when_pending="refuse")
        buffer.upload(2)
        with pytest.raises(InFlightError) as refused:
            writes_a_row(buffer)
    said = str(refused.value)
    assert "buffer 'lens': written at test_in_flight.py:" in said
    assert "upload queued at test_in_flight.py:" in said
    assert "first 2 rows" in said


def test_a_refusing_buffer_opens_after_wait_and_after_ready() -> None:
    with sim.mode("lazy"):
        buffer = filled(when_pending="refuse")
        buffer.upload()
        assert not buffer.ready()
        buffer.wait()
        writes_a_row(buffer)
        arrived = buffer.upload()
        assert arrived.tolist() == [2, 40, 8]  # waits for the stream; the buffer has not seen it
        assert buffer.pending
        assert buffer.ready()
        writes_a_row(buffer)


def test_within_a_block_np_and_cpu_are_the_rows_to_write() -> None:
    buffer = filled()
    with buffer.writing() as rows:
        assert buffer.np is rows
        buffer.np[0] = 5
        buffer.cpu[1] = 6
    assert buffer.np.tolist() == [5, 6, 8]
    assert not rows.flags.writeable


@pytest.mark.parametrize("direct", [False, True])
def test_outside_a_block_np_cannot_be_written(direct: bool) -> None:
    face = filled(direct=direct).np
    with pytest.raises(ValueError, match="read-only"):
        face[0] = 5
    assert face.tolist() == [2, 4, 8]


def test_a_direct_face_cannot_be_unlocked() -> None:
    with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
        filled(direct=True).np.flags.writeable = True


def test_cpu_outside_a_block_is_refused_with_the_line() -> None:
    with pytest.raises(InFlightError, match=r"'lens': \.cpu at test_in_flight\.py:\d+ is outside"):
        _ = filled().cpu


def test_neither_a_second_block_nor_an_upload_fits_into_a_block() -> None:
    buffer = filled()
    with buffer.writing():
        with pytest.raises(InFlightError, match=r"writing\(\) at .* is not over"):
            writes_a_row(buffer)
        with pytest.raises(InFlightError, match=r"upload\(\) at .* is not over"):
            buffer.upload()
    assert buffer.upload().tolist() == [2, 4, 8]


def test_an_exception_in_a_block_leaves_the_rows_as_they_were() -> None:
    buffer = filled()
    with pytest.raises(ValueError, match="called off"):
        leaves_a_block_by_an_exception(buffer)
    assert buffer.np.tolist() == [2, 4, 8]


def test_the_device_memory_is_the_same_for_every_upload() -> None:
    buffer = filled()
    first = buffer.upload(1)
    writes_a_row(buffer)
    buffer.upload()
    assert buffer.gpu.tolist() == [2, 40, 8]
    assert first.tolist() == [2]
    with pytest.raises(AttributeError):
        buffer.gpu = torch.zeros(3)  # type: ignore[misc]


def test_rows_may_have_columns_and_another_dtype() -> None:
    buffer = InFlightBuffer("table", (2, 3), torch.float64, device="sim", direct=True)
    with buffer.writing() as rows:
        rows[1] = 0.5
    assert buffer.np.shape == (2, 3)
    assert buffer.upload(2).tolist() == [[0.0] * 3, [0.5] * 3]
    assert "2 × 3 × float64" in repr(buffer)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"size": 0}, "size=0"),
        ({"size": (2, 0)}, r"size=\(2, 0\)"),
        ({"size": ()}, r"size=\(\)"),
        ({"size": 3, "when_pending": "hope"}, "when_pending='hope'"),
        ({"size": 3, "dtype": torch.bfloat16}, r"dtype=torch\.bfloat16"),
    ],
)
def test_bad_arguments_are_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=f"buffer 'lens': {said}"):
        InFlightBuffer("lens", device="sim", **options)


@pytest.mark.parametrize("rows", [0, 4, -1])
def test_an_upload_of_rows_that_there_are_not_is_refused(rows: int) -> None:
    with pytest.raises(ValueError, match=f"upload of {rows} rows; it has 1 to 3"):
        filled().upload(rows)


def test_repr_says_what_is_pending_and_open() -> None:
    buffer = filled()
    assert repr(buffer) == "<InFlightBuffer 'lens': 3 × int32, idle; writing() waits>"
    buffer.upload()
    assert "upload of test_in_flight.py:" in repr(buffer)
    with buffer.writing():
        assert "open at test_in_flight.py:" in repr(buffer)
