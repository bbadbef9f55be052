"""Lesson 08's checks: the solutions pass, named wrong answers fail each with its own message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch

from pinlab.classroom.attackers import EXPECTED, Attacker, again, hasty, hoarder, twice
from pinlab.classroom.cell_source import class_source, lint_class
from pinlab.classroom.checks.lesson_08 import CHECKS
from pinlab.device import pick_device
from pinlab.serving import DoubleBuffer, InFlightBuffer, Snapshot

check_names, check_snapshot, check_buffer = CHECKS
device = pick_device()
gpu = torch.get_device_module(device)


# --- names -------------------------------------------------------------------------------------


class Named:
    def __init__(self, n: int) -> None:
        self._lens_pinned = torch.zeros(n, dtype=torch.int32, pin_memory=True)
        self._lens_np = self._lens_pinned.numpy()

    def prompt_lens(self, n: int) -> torch.Tensor:
        return self._lens_pinned[:n].clone()


class PublicTensor(Named):
    def __init__(self, n: int) -> None:
        self.lens = torch.zeros(n, dtype=torch.int32, pin_memory=True)

    def prompt_lens(self, n: int) -> torch.Tensor:
        return self.lens[:n].clone()


class FaceWithoutSuffix(Named):
    def __init__(self, n: int) -> None:
        self._lens_pinned = torch.zeros(n, dtype=torch.int32, pin_memory=True)
        self._face = self._lens_pinned.numpy()


class StillAView(Named):
    def prompt_lens(self, n: int) -> torch.Tensor:
        return self._lens_pinned[:n]


class NotPinned(Named):
    def __init__(self, n: int) -> None:
        self._lens_pinned = torch.zeros(n, dtype=torch.int32)


class Constant(Named):
    def prompt_lens(self, n: int) -> torch.Tensor:
        return torch.zeros(n, dtype=torch.int32)


class AlwaysTwo(Named):
    def prompt_lens(self, n: int) -> torch.Tensor:
        return self._lens_pinned[:2].clone()


class NoMethod:
    def __init__(self, n: int) -> None:
        self._lens_pinned = torch.zeros(n, dtype=torch.int32, pin_memory=True)


def test_private_names_with_suffixes_are_right() -> None:
    assert check_names.judge(Named).state == "right"


@pytest.mark.parametrize(
    ("batch_cls", "belief", "said"),
    [
        (PublicTensor, None, "must be private (a leading underscore)"),
        (FaceWithoutSuffix, None, "suffix `_np`"),
        (StillAView, "M2", "still a view of _lens_pinned"),
        (NotPinned, "M6", "No attribute is a pinned tensor"),
        (Constant, None, "It must read the rows"),
        (AlwaysTwo, None, "should show [3, 5, 2]"),
        (NoMethod, None, "has no attribute 'prompt_lens'"),
        (7, None, "the class itself"),
    ],
)
def test_other_names_are_told_what_the_lint_says(batch_cls: Any, belief: str, said: str) -> None:
    verdict = check_names.judge(batch_cls)
    assert (verdict.state, verdict.belief) == ("wrong", belief), verdict.text
    assert said in verdict.text


def test_the_text_of_a_class_is_found_and_linted_with_its_own_lines() -> None:
    assert class_source(Named).startswith("class Named:\n    def __init__")
    assert [(f.rule, f.line) for f in lint_class(PublicTensor)] == [("PIN009", 3)]
    with pytest.raises(OSError, match="class Bare cannot be found"):
        class_source(type("Bare", (), {}))


# --- a snapshot type ---------------------------------------------------------------------------


class Lens:
    def __init__(self, source: torch.Tensor) -> None:
        self._rows = source.clone()

    def upload(self, device: torch.device) -> torch.Tensor:
        return self._rows.to(device, non_blocking=True)


class Kept(Lens):
    def __init__(self, source: torch.Tensor) -> None:
        self._rows = source


class Contiguous(Lens):
    def __init__(self, source: torch.Tensor) -> None:
        self._rows = source.contiguous()


class CopiedTooLate(Kept):
    def upload(self, device: torch.device) -> torch.Tensor:
        return self._rows.clone().to(device, non_blocking=True)


class CopiedAndKept(Lens):
    def __init__(self, source: torch.Tensor) -> None:
        super().__init__(source)
        self.source = source


class StaysOnTheHost(Lens):
    def upload(self, device: torch.device) -> torch.Tensor:
        return self._rows


class Failing(Lens):
    def upload(self, device: torch.device) -> torch.Tensor:
        return self._lens.to(device)  # type: ignore[no-any-return, attr-defined]


class Listed:
    """Numbers in a list: a copy of every one of them."""

    def __init__(self, source: torch.Tensor) -> None:
        self._lengths = source.tolist()

    def upload(self, device: torch.device) -> torch.Tensor:
        return torch.tensor(self._lengths, device=device)


class Slotted:
    __slots__ = "_rows"

    def __init__(self, source: torch.Tensor) -> None:
        self._rows = source.clone()

    def upload(self, device: torch.device) -> torch.Tensor:
        return self._rows.to(device, non_blocking=True)


class SlottedBelow(Slotted):
    __slots__ = ("__numbers",)

    def __init__(self, source: torch.Tensor) -> None:
        super().__init__(source)
        self.__numbers = source.numpy().copy()


class SlottedView(Slotted):
    __slots__ = ("__source",)

    def __init__(self, source: torch.Tensor) -> None:
        super().__init__(source)
        self.__source = source


class ListedView(Lens):
    def __init__(self, source: torch.Tensor) -> None:
        super().__init__(source)
        self._all = [source, len(source)]


class ConstantLens(Lens):
    def upload(self, device: torch.device) -> torch.Tensor:
        return torch.tensor([2, 4, 8], device=device)


class Begun:
    def __init__(self, source: torch.Tensor) -> None:
        self._rows = source.clone()

    def upload(self, device: torch.device) -> torch.Tensor: ...


def test_a_snapshot_without_an_upload_yet_is_open() -> None:
    verdict = check_snapshot.judge(Begun)
    assert (verdict.state, verdict.text) == ("open", "upload() does nothing yet.")


class UploadedAtOnce:
    def __init__(self, source: torch.Tensor) -> None:
        self._there = source.to(device, non_blocking=True)

    def upload(self, where: Any) -> torch.Tensor:
        return self._there


@pytest.mark.parametrize("lens_cls", [Lens, Snapshot, Listed, Slotted, SlottedBelow])
def test_a_copying_constructor_is_right(lens_cls: Any) -> None:
    verdict = check_snapshot.judge(lens_cls)
    assert verdict.state == "right", verdict.text


@pytest.mark.parametrize(
    ("lens_cls", "belief", "said"),
    [
        (Kept, "M2", "the constructor kept a view"),
        (Contiguous, "M2", "the constructor kept a view"),
        (UploadedAtOnce, "M3", "The constructor queues an upload"),
        (CopiedTooLate, "M2", "a copy in upload() is too late"),
        (CopiedAndKept, "M2", "also keeps a view"),
        (SlottedView, "M2", "also keeps a view"),
        (ListedView, "M2", "also keeps a view"),
        (ConstantLens, None, "Of [5, 1] upload() must return [5, 1]"),
        (StaysOnTheHost, None, "dtype=torch.int32) on the host"),
        (Failing, None, "AttributeError"),
    ],
)
def test_what_is_no_snapshot_is_told_why(lens_cls: Any, belief: str, said: str) -> None:
    verdict = check_snapshot.judge(lens_cls)
    assert (verdict.state, verdict.belief) == ("wrong", belief), verdict.text
    assert said in verdict.text


# --- a buffer under attack ---------------------------------------------------------------------


class Drafted:
    """The solution: pinned memory never leaves; an event for each upload."""

    def __init__(self, size: int) -> None:
        self._pinned = torch.zeros(size, dtype=torch.int32, pin_memory=True)
        self._events: list[Any] = []

    @property
    def np(self) -> Any:
        return self._pinned.clone().numpy()

    @contextmanager
    def writing(self) -> Iterator[Any]:
        draft = self.np
        yield draft
        for event in self._events:
            event.synchronize()
        self._events.clear()
        self._pinned.numpy()[:] = draft

    def upload(self) -> torch.Tensor:
        arrived = self._pinned.to(device, non_blocking=True)
        self._events.append(gpu.Event())
        self._events[-1].record()
        return arrived


class SnapshotEach:
    """Another solution: a pinned snapshot for each upload, and no wait at all."""

    def __init__(self, size: int) -> None:
        self.np = np.zeros(size, dtype=np.int32)

    @contextmanager
    def writing(self) -> Iterator[Any]:
        yield self.np

    def upload(self) -> torch.Tensor:
        return torch.from_numpy(self.np).clone().pin_memory().to(device, non_blocking=True)


class Blocking(Drafted):
    """Right, and it gives the asynchronous copy up."""

    def upload(self) -> torch.Tensor:
        return self._pinned.to(device)


class BarePair:
    """Returning means taken (M3)."""

    def __init__(self, size: int) -> None:
        self._pinned = torch.zeros(size, dtype=torch.int32, pin_memory=True)

    @property
    def np(self) -> Any:
        return self._pinned.numpy()

    @contextmanager
    def writing(self) -> Iterator[Any]:
        yield self.np

    def upload(self) -> torch.Tensor:
        return self._pinned.to(device, non_blocking=True)


class HalfAnEvent(BarePair):
    """The stream orders my writes (M7)."""

    def upload(self) -> torch.Tensor:
        arrived = super().upload()
        gpu.Event().record()
        return arrived


class CloneOfTheDestination(BarePair):
    """M10."""

    def upload(self) -> torch.Tensor:
        return super().upload().clone()


class KeepsAlive(BarePair):
    """M12: what it does is what M3 does."""

    def upload(self) -> torch.Tensor:
        self._kept = (self._pinned, super().upload())
        return self._kept[1]


class WaitsTooLate(BarePair):
    """M11."""

    @contextmanager
    def writing(self) -> Iterator[Any]:
        yield self.np
        gpu.synchronize()


class WaitsAndHandsOut(BarePair):
    """M2: a view is a copy."""

    @contextmanager
    def writing(self) -> Iterator[Any]:
        gpu.synchronize()
        yield self.np


class ReadOnlyFace(WaitsAndHandsOut):
    """A flag binds everybody."""

    @property
    def np(self) -> Any:
        face = self._pinned.numpy()
        face.flags.writeable = False
        return face

    @contextmanager
    def writing(self) -> Iterator[Any]:
        gpu.synchronize()
        draft = self._pinned.clone().numpy()
        yield draft
        self._pinned.numpy()[:] = draft


class OneEvent(Drafted):
    """M11: the last event stands for all."""

    def upload(self) -> torch.Tensor:
        self._events.clear()
        return super().upload()


class NotPinnedPair(BarePair):
    """M13: what is staged here is staged everywhere."""

    def __init__(self, size: int) -> None:
        self._pinned = torch.zeros(size, dtype=torch.int32)


class RefusesEverybody(Drafted):
    @contextmanager
    def writing(self) -> Iterator[Any]:
        raise RuntimeError("this buffer is read-only")
        yield


class Polls(Drafted):
    @contextmanager
    def writing(self) -> Iterator[Any]:
        draft = self.np
        yield draft
        while not all(event.query() for event in self._events):
            pass
        self._pinned.numpy()[:] = draft


class Returns(BarePair):
    def writing(self) -> Any:
        return self.np


class ForgetsToWrite(Drafted):
    @contextmanager
    def writing(self) -> Iterator[Any]:
        yield self.np


@pytest.mark.parametrize(
    ("make", "waits"),
    [
        (Drafted, "3 waits and"),
        (Blocking, "so the host never runs ahead"),
        (SnapshotEach, "0 waits and 96 bytes"),
        (lambda size: InFlightBuffer("lens", size, device=device), "3 waits and 96 bytes"),
        (lambda size: DoubleBuffer("lens", size, device=device), "2 waits and 96 bytes"),
    ],
)
def test_closed_designs_are_right_and_priced(make: Any, waits: str) -> None:
    verdict = check_buffer.judge(make)
    assert verdict.state == "right", verdict.text
    assert waits in verdict.text


@pytest.mark.parametrize(
    ("buffer_cls", "belief", "said"),
    [
        (BarePair, "M3", "hasty breaks it: schedule “h” gives [2, 40, 8]"),
        (KeepsAlive, "M3", "hasty breaks it"),
        (HalfAnEvent, "M7", "half an event"),
        (CloneOfTheDestination, "M10", "repeats what was read"),
        (WaitsTooLate, "M11", "after the row was written"),
        (WaitsAndHandsOut, "M2", "hoarder breaks it"),
        (ReadOnlyFace, "M2", "A flag does not bind torch"),
        (OneEvent, "M11", "twice breaks it"),
        (NotPinnedPair, "M13", "Where pageable uploads are not staged"),
        (RefusesEverybody, None, "this buffer is read-only"),
        (Polls, None, "more schedules than can be proved here"),
        (Returns, None, "context manager protocol"),
        (ForgetsToWrite, None, "safe and useless"),
        (7, None, "the class itself"),
    ],
)
def test_open_designs_are_told_who_gets_through(buffer_cls: Any, belief: str, said: str) -> None:
    verdict = check_buffer.judge(buffer_cls)
    assert (verdict.state, verdict.belief) == ("wrong", belief), verdict.text
    assert said in verdict.text


@pytest.mark.parametrize(
    ("buffer_cls", "attacker"), [(BarePair, hasty), (WaitsAndHandsOut, hoarder), (OneEvent, twice)]
)
def test_the_schedule_of_a_verdict_can_be_run_again(buffer_cls: Any, attacker: Attacker) -> None:
    verdict = check_buffer.judge(buffer_cls)
    found = re.match(rf'again\({buffer_cls.__name__}, {attacker.__name__}, "(\S+)"\)', verdict.see)
    assert found is not None, verdict.see
    got = again(buffer_cls, attacker, found[1])
    assert got != EXPECTED[attacker]
    assert str(got) in verdict.text


def test_a_stub_is_not_answered() -> None:
    class Stub:
        def __init__(self, size: int) -> None: ...
        def upload(self) -> None: ...

    assert check_buffer.judge(Stub).state == "open"
    assert check_names.judge(Stub).state == "open"
    assert check_snapshot.judge(Stub).state == "open"


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_unfilled_stub_is_not_answered(check: Any) -> None:
    assert check.judge(...).state == "open"
