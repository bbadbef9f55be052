"""Pinned host memory that a pending operation will read or write, and its protected pages."""

from __future__ import annotations

import torch

from pinlab.detect.fence.access import Edge
from pinlab.detect.fence.mapping import NONE, READ, whole_pages
from pinlab.detect.hazards.hazard import Buffer, Kind
from pinlab.sim.extent import Runs, read, runs_of
from pinlab.sim.operation import Operation
from pinlab.sim.pages import PAGE
from pinlab.sim.pinned import PinnedBlock


class Part:
    """One buffer of one pending operation.

    Attributes:
        tensor: the device's view of it.
        written: whether the operation writes it; else it reads it.
        block, number: its pinned block, and the block's number in order of creation, if any.
        runs: its bytes, in the host's mapping.
        pages: the host's pages that hold any of them.
    """

    def __init__(
        self,
        operation: Operation,
        tensor: torch.Tensor,
        written: bool,
        block: PinnedBlock,
        number: int | None,
    ) -> None:
        self.operation, self.tensor, self.written = operation, tensor, written
        self.block, self.number = block, number
        self.move = self.block.pages.address - self.block.memory.data_ptr()
        there = runs_of(self.tensor)
        self.runs: Runs = tuple((start + self.move, stop + self.move) for start, stop in there)
        self.pages = whole_pages(self.runs)

    @property
    def allowed(self) -> int:
        """What the host may do with its pages meanwhile."""
        return NONE if self.written else READ

    def kind(self, write: bool) -> Kind:
        """What an access to its bytes is."""
        if not self.written:
            return Kind.SOURCE_WRITTEN
        return Kind.DESTINATION_WRITTEN if write else Kind.DESTINATION_READ

    def has(self, address: int) -> bool:
        """Whether the address is one of its bytes."""
        return _within(self.runs, address)

    def guards(self, address: int) -> bool:
        """Whether the address lies on one of its pages."""
        return _within(self.pages, address)

    def bytes(self, runs: Runs) -> bytes:
        """What stands now at these addresses of the host's, read by way of the device's mapping."""
        there = tuple((start - self.move, stop - self.move) for start, stop in runs)
        return b"".join(read(there))

    def edge(self, address: int) -> Edge | None:
        """The border of its bytes on that page that lies towards an address beside them.

        None where the page cannot be made to end there: the block was there before the program, or
        its items would no longer be aligned.
        """
        page = address // PAGE * PAGE
        near = [run for run in self.runs if run[0] < page + PAGE and run[1] > page]
        below = [stop for _, stop in near if stop <= address]
        above = [start for start, _ in near if start > address]
        if self.number is None or not (below or above):
            return None
        at = (max(below) if below else min(above)) - self.block.pages.address
        return (self.number, at) if at % self.tensor.element_size() == 0 else None

    def buffer(self, name: str) -> Buffer:
        """As a finding describes it."""
        return Buffer(
            name,
            tuple(self.tensor.shape),
            str(self.tensor.dtype).removeprefix("torch."),
            self.tensor.numel() * self.tensor.element_size(),
            pinned=True,
        )


def _within(runs: Runs, address: int) -> bool:
    return any(start <= address < stop for start, stop in runs)
