"""Buffers in turn: what waits for what, and that a turn cannot be half taken."""

from __future__ import annotations

import pytest

from pinlab import sim
from pinlab.schedules import explore
from pinlab.serving import DoubleBuffer, InFlightError


def steps(buffer: DoubleBuffer, count: int) -> list[list[int]]:
    """Rows 0, 1, 2 … in the first place, uploaded step by step; read at the end."""
    arrived = []
    for step in range(count):
        with buffer.writing() as rows:
            rows[0] = step
            rows[1] += 1
        arrived.append(buffer.upload() + 0)
    return [tensor.tolist() for tensor in arrived]


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("depth", [2, 3])
def test_more_steps_than_turns_are_right_in_every_schedule(depth: int, direct: bool) -> None:
    def program() -> list[list[int]]:
        return steps(DoubleBuffer("lens", 2, device="sim", depth=depth, direct=direct), depth + 2)

    expect = [[step, step + 1] for step in range(depth + 2)]
    report = explore(program, expect=expect, trace=[steps])
    assert report.correct, str(report)


def test_a_block_waits_for_its_own_turn_only() -> None:
    with sim.mode("lazy"):
        buffer = DoubleBuffer("lens", 2, device="sim")
        steps(buffer, 1)
        for waited in (0, 1, 2):
            with buffer.writing():
                pass
            buffer.upload()
            assert buffer.waits == waited
        assert "for the upload queued at test_double_buffer.py:" in buffer.last_wait


def test_refusing_names_the_turn() -> None:
    buffer = DoubleBuffer("lens", 2, device="sim", when_pending="refuse")
    with buffer.writing():
        pass
    buffer.upload()
    with buffer.writing():
        pass
    buffer.upload()
    with pytest.raises(InFlightError, match=r"buffer 'lens\[1\]': written at test_double"):
        buffer.writing().__enter__()
    assert buffer.pending == 2
    buffer.wait()
    assert (buffer.pending, buffer.ready()) == (0, True)


def test_an_exception_takes_the_turn_back() -> None:
    buffer = DoubleBuffer("lens", 2, device="sim")
    steps(buffer, 1)

    def called_off() -> None:
        with buffer.writing() as rows:
            rows[0] = 99
            raise ValueError("called off")

    with pytest.raises(ValueError, match="called off"):
        called_off()
    assert buffer.np.tolist() == [0, 1]
    assert buffer.upload().tolist() == [0, 1]


def test_no_second_block_and_no_upload_within_a_block() -> None:
    buffer = DoubleBuffer("lens", 2, device="sim")
    with buffer.writing() as rows:
        assert buffer.np is rows
        buffer.cpu[1] = 7
        with pytest.raises(InFlightError, match="is not over"):
            buffer.writing().__enter__()
        with pytest.raises(InFlightError, match="is not over"):
            buffer.upload()
    assert buffer.gpu.tolist() == [0, 0]
    assert buffer.upload().tolist() == [0, 7]


def test_one_buffer_takes_no_turns() -> None:
    with pytest.raises(ValueError, match="depth=1; 2 or more"):
        DoubleBuffer("lens", 2, device="sim", depth=1)


def test_repr_says_whose_turn_it_is() -> None:
    buffer = DoubleBuffer("lens", 2, device="sim")
    steps(buffer, 1)
    assert repr(buffer).startswith("<DoubleBuffer 'lens': turn 1 of 2, <InFlightBuffer 'lens[1]'")
    assert buffer.depth == 2
