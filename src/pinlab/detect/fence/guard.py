"""Closes pages while an operation uses them, and hears what the host does to them.

An observer of the device. An operation is in flight until a wait, or a query that answered true,
covers it, whether or not it has run: luck plays no part.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

from pinlab.detect.fence.access import Access
from pinlab.detect.fence.line_trace import watch_line
from pinlab.detect.fence.mapping import NONE, READ, WRITE, FencedBlock, map_twice, protect
from pinlab.detect.fence.opened import Opened
from pinlab.detect.fence.part import Part
from pinlab.detect.fence.plan import Died, Ended, Plan
from pinlab.detect.hazards.line import user_frame
from pinlab.detect.hazards.names import name_of
from pinlab.detect.hazards.order import Order
from pinlab.sim import Place
from pinlab.sim.accelerator import Target
from pinlab.sim.extent import Runs, merged, overlap
from pinlab.sim.operation import Operation
from pinlab.sim.pages import PAGE
from pinlab.sim.pinned import PinnedAllocator, PinnedBlock
from pinlab.sim.place import place_of

DIED = 86  # exit status of a child that died at the fence
STRAYS = 10_000  # faults on pages that are open again, before one counts as somebody else's
_EXTENT = os.path.join("pinlab", "sim", "extent.py")  # reads bytes for recordings and `hazards()`


class Guard:
    """The fence of one run.

    Args:
        plan: what is known from earlier runs.
        send: takes an `Access`, or `Died` before the process ends.
    """

    def __init__(self, plan: Plan, send: Callable[[Any], None]) -> None:
        self.plan = plan
        self.send = send
        self.order = Order()
        self.parts: tuple[Part, ...] = ()  # replaced whole: the handler reads it without a lock
        self.blocks: dict[int, PinnedBlock] = {}  # by the address of the device's mapping
        self.numbers: dict[int, int] = {}  # of the blocks made since, by that address
        self.open: list[Opened] = []  # by the compared line that runs now
        self.strays = 0
        self.memory_find: Callable[[int], PinnedBlock | None] = lambda address: None
        self._told: set[Any] = set()

    def watch(self, memory: PinnedAllocator) -> None:
        """Map every block twice that is in use, and those to come."""
        live = memory.in_use()
        memory.free.clear()  # what was cached is not handed out here: new blocks have a number
        for block in live:
            if block.managed:  # what the user registered shares its pages with who knows what
                map_twice(block)
                self.blocks[block.memory.data_ptr()] = block
        plain_find = self.memory_find = memory.find

        def find(address: int) -> PinnedBlock | None:
            return plain_find(address) or self._mirrored(address)

        memory.new_block = self._new_block
        memory.taken = self._taken
        memory.find = find  # type: ignore[method-assign]

    def _new_block(self, size: int) -> PinnedBlock:
        number = len(self.numbers)
        block = FencedBlock(size, self.plan.shifts.get(number, 0))
        self.blocks[block.memory.data_ptr()] = block
        self.numbers[block.memory.data_ptr()] = number
        return block

    def _mirrored(self, address: int) -> PinnedBlock | None:
        for start, block in self.blocks.items():
            if start <= address < start + block.pages.size:
                return block
        return None

    # -- what the device says; under its lock -----------------------------------------------------

    def submitted(self, operation: Operation) -> None:
        self.line_over()
        self.order.submitted(operation)
        if operation.is_mark or operation.waited:
            return
        new = [*self._parts(operation, False), *self._parts(operation, True)]
        if new:
            self.parts = (*self.parts, *new)
            self._close(merged(page for part in new for page in part.pages))

    def _parts(self, operation: Operation, written: bool) -> Iterable[Part]:
        for tensor in operation.host_writes if written else operation.host_reads:
            block = self._mirrored(tensor.data_ptr())
            if block is not None and tensor.numel():  # pageable, registered memory: not fenced
                number = self.numbers.get(block.memory.data_ptr())
                yield Part(operation, tensor, written, block, number)

    def completed(self, operation: Operation) -> None:
        """Nothing: that it has run is luck."""

    def waited(self, targets: Iterable[Target]) -> None:
        self.line_over()
        self.order.waited(targets)
        self._keep(lambda part: not self.order.is_over(part.operation))

    def _taken(self, block: PinnedBlock) -> None:
        """Handed out again. Where the allocator knew of the operation, it has seen its end."""
        self._keep(lambda part: part.block is not block or not part.operation.tracked)

    def _keep(self, chosen: Callable[[Part], bool]) -> None:
        gone = [part for part in self.parts if not chosen(part)]
        if gone:
            self.parts = tuple(part for part in self.parts if chosen(part))
            self._close(merged(page for part in gone for page in part.pages))

    def _close(self, pages: Runs) -> None:
        """Allow on each of these pages what the operations in flight allow."""
        protect(pages, WRITE)
        for allowed in (READ, NONE):
            for part in self.parts:
                if part.allowed == allowed:
                    protect(overlap(part.pages, pages), allowed)

    # -- what the host does -----------------------------------------------------------------------

    def fault(self, address: int, write: bool | None, frame: FrameType | None) -> bool:
        """The host touched a closed page. True: open it and go on; False: it is none of ours."""
        near = [part for part in self.parts if part.guards(address)]
        if not near:
            return self._opened_meanwhile(address)
        if _is_our_own(frame):
            self.send(Ended("stopped: a recording, or hazards(), read what the fence protects", 1))
            os._exit(DIED)
        frame = user_frame(frame)
        place = place_of(frame)
        known = (place.filename, place.lineno) in self.plan.compared
        naming = None if known else frame  # looking at a frame's variables keeps them alive
        for part in near:
            if self._is_hit(part, address, write):
                self._tell(part, place, True, bool(write), naming=naming)
        if not any(part.has(address) for part in near):
            self._tell(near[0], place, False, bool(write), address, naming=naming)
        if not known:
            self.send(Died(place))
            os._exit(DIED)
        if frame is not None and not self.open:
            watch_line(frame, self.line_over)
        page = address // PAGE * PAGE
        pages = ((page, page + PAGE),)
        self.open += [Opened(part, pages, place) for part in near]
        protect(pages, WRITE)
        return True

    def _opened_meanwhile(self, address: int) -> bool:
        """Whether it is a page of ours that another thread has opened since the fault."""
        self.strays += 1
        return self.memory_find(address) is not None and self.strays < STRAYS

    def _is_hit(self, part: Part, address: int, write: bool | None) -> bool:
        if not part.has(address):
            return False
        if part.written:
            return True
        return bool(write) or all(
            other.allowed != NONE for other in self.parts if other.guards(address)
        )

    def open_all(self, place: Place) -> None:
        """Before a line that a system call refused: let it through, to be compared afterwards."""
        self.open += [Opened(part, part.pages, place) for part in self.parts]
        for part in self.parts:
            protect(part.pages, WRITE)

    def line_over(self) -> None:
        """The line that opened pages has ended: compare, and close them again."""
        if not self.open:
            return
        opened, self.open = self.open, []
        for each in opened:
            change = each.change()
            if change is not None and not self._device_wrote(each.part):
                self._tell(each.part, each.place, True, True, before=change[0], after=change[1])
        self._close(merged(page for each in opened for page in each.pages))

    def _device_wrote(self, part: Part) -> bool:
        """Whether a download into these bytes has begun: then a change proves nothing."""
        return any(
            other.written
            and other.operation.started == other.operation.started  # not nan
            and overlap(other.runs, part.runs)
            for other in self.parts
        )

    def _tell(
        self,
        part: Part,
        place: Place,
        hit: bool,
        write: bool,
        address: int = 0,
        before: bytes = b"",
        after: bytes = b"",
        naming: FrameType | None = None,
    ) -> None:
        operation = part.operation
        edge = None if hit else part.edge(address)
        kind = part.kind(write)
        told = (hit, kind, operation.queued_at, place, bool(after), edge)
        if told in self._told:
            return
        self._told.add(told)
        name = "" if naming is None else name_of(part.runs, naming)
        self.send(
            Access(
                hit,
                kind,
                part.buffer(name),
                operation.name,
                part.block.place,
                operation.queued_at,
                place,
                before,
                after,
                edge,
            )
        )


def _is_our_own(frame: FrameType | None) -> bool:
    """Whether pinlab itself was reading bytes, for a recording or `hazards()`."""
    above = frame.f_back if frame is not None else None  # of ctypes.string_at
    return above is not None and above.f_code.co_filename.endswith(_EXTENT)
