"""Writes random programs while they run on the CPU, which is the oracle.

Each step is drawn with the shapes at hand in view. Where host and streams need an order, the writer
puts it in: a wait before the host touches what a queued copy uses, `wait_stream` where a stream
takes over, `record_stream` where memory is used by two. So all modes must give the CPU's values.
"""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch

from tests.sim import fuzzed_steps as steps
from tests.sim.fuzzed_program import Program, opened

GENE = 8  # bytes that decide one step
LARGEST = 100  # elements
ALIVE = 8  # device tensors, and host tensors, at a time
_NAME = re.compile(r"\b[th]\d+\b")

# Kinds of steps: how often, and their templates. "x =" makes a tensor there, "h =" one here.
KINDS: dict[str, tuple[int, str, tuple[str, ...]]] = {
    "factory": (2, "t", steps.FACTORIES),
    "view": (5, "t", steps.VIEWS),
    "pointwise": (4, "t", steps.POINTWISE),
    "reduction": (4, "t", steps.REDUCTIONS),
    "indexed": (3, "t", steps.INDEXED),
    "out": (1, "t", steps.OUTS),
    "write": (7, "", steps.WRITES),
    "read": (2, "", tuple(f"seen.append({read})" for read in steps.READS)),
    "host new": (1, "h", steps.HOST_NEW),
    "host view": (1, "h", steps.HOST_VIEWS),
    "host write": (3, "", steps.HOST_WRITES),
    "upload": (2, "t", steps.UPLOADS),
    "upload into": (2, "", steps.UPLOADS_INTO),
    "download": (2, "h", steps.DOWNLOADS),
    "download into": (3, "", steps.DOWNLOADS_INTO),
    "delete": (2, "", ("del {x}",)),
    "delete host": (1, "", ("del {h}",)),
}
_DRAWN = [kind for kind, (often, _, _) in KINDS.items() for _ in range(often)]


@dataclass(frozen=True)
class Late:
    """A queued copy that uses host memory: its stream, whether it writes, an event after it."""

    stream: str
    writes: bool
    event: str


def write(genes: Iterable[bytes]) -> Program:
    """The program that these bytes stand for."""
    writer = Writer()
    for gene in genes:
        writer.step(gene)
    tensors = {name: writer.names[name] for name in (*writer.device, *writer.host)}
    return Program(writer.lines, tensors, writer.names["seen"])


class Writer:
    """One program that is being written.

    Attributes:
        names: of the CPU's run. device, host: those of tensors that are alive.
        late: by host storage, the copies that may still use it.
        apart: device storages used by the side stream since the main one last waited for it.
        pinned: host storages that may be pinned.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names = opened("cpu")
        self.device: list[str] = []
        self.host: list[str] = []
        self.late: dict[int, list[Late]] = {}
        self.apart: set[int] = set()
        self.pinned: set[int] = set()
        self.number = itertools.count()
        for first in (
            "torch.arange(6.0, device=device).reshape(2, 3)",
            "torch.eye(2, 3, device=device)",
        ):
            self._take("factory", "t", first, bytes([1] * GENE))
        for first in ("torch.tensor([1.0, -2, 3]).pin_memory()", "torch.ones(2, 3)"):
            self._take("host new", "h", first, bytes([1] * GENE))

    def step(self, gene: bytes) -> None:
        """Draw a step; keep it if the CPU takes it, and now and then if the CPU refuses it."""
        kind = _DRAWN[gene[0] % len(_DRAWN)]
        _, makes, templates = KINDS[kind]
        line = templates[gene[1] % len(templates)].format(**self._fields(gene))
        if kind.startswith("delete"):
            self._delete(line.removeprefix("del "))
        else:
            self._take(kind, makes, line, gene)

    def _fields(self, gene: bytes) -> dict[str, Any]:
        """Something for each gap of a template."""
        pick = [self.device[byte % len(self.device)] for byte in gene[2:5]]
        x, other = self.names[pick[0]], self.names[pick[2]]
        fresh = "torch.empty({0}.shape, dtype={0}.dtype, device=device)".format(pick[0])
        index = [gene[at] % 5 - 2 for at in (4, 5, 6)]
        return {
            "x": pick[0],
            "y": pick[1],
            "o": pick[2] if other.shape == x.shape else fresh,
            "h": self.host[gene[2] % len(self.host)],
            "g": self.host[gene[3] % len(self.host)],
            "d": gene[4] % max(1, x.dim()),
            "n": steps.NUMBERS[gene[5] % len(steps.NUMBERS)],
            "k": gene[5] % 3,
            "m": gene[4] % 4 + 1,
            "i": f"torch.tensor({index}, device=device)",
            "j": f"torch.tensor({index})",
            "s": steps.SHAPES[gene[4] % len(steps.SHAPES)],
            "t": steps.DTYPES[gene[6] % len(steps.DTYPES)],
        }

    def _take(self, kind: str, makes: str, line: str, gene: bytes) -> None:
        name = f"{makes}{next(self.number)}" if makes else ""
        used = list(dict.fromkeys(_NAME.findall(line)))
        line = f"{name} = {line}" if makes else line
        stored = [_bytes(self.names[one]) for one in used]
        before = [] if makes else [room.clone() for room in stored]
        error = self._run(line)
        if error is not None:
            pairs = list(zip(stored, before, strict=False))
            changed = [room.copy_(saved) for room, saved in pairs if not torch.equal(room, saved)]
            # "x[i] += n" reads, then writes: on the device it would write although the read failed.
            if changed or gene[7] % 3 or "] += " in line or "] *= " in line:
                return
        elif makes and not self._is_handy(name):
            return
        stream = "side" if "host" not in kind and gene[7] % 4 == 0 else "main"
        self.lines += self._order(kind, used, gene, stream)
        self._emit(line, used, error, stream)
        used = [name, *used] if error is None and makes else used
        if stream == "side":
            self.apart |= {self._storage(one) for one in used if one[0] == "t"}
        if error is None and makes:
            self._keep(name)
        if error is None and "non_blocking" in line:
            self._mark(kind, used, gene, stream)
            if kind.startswith("upload"):
                self._follow(next(name for name in used if name[0] == "h"), gene)

    def _run(self, line: str) -> Exception | None:
        try:
            exec(line, self.names)
        except Exception as error:
            return error
        return None

    def _is_handy(self, name: str) -> bool:
        value = self.names[name]
        return isinstance(value, torch.Tensor) and value.numel() <= LARGEST and value.dim() <= 5

    def _keep(self, name: str) -> None:
        among = self.device if name[0] == "t" else self.host
        among.append(name)
        if len(among) > ALIVE:
            self._delete(among[0])

    def _delete(self, name: str) -> None:
        among = self.device if name[0] == "t" else self.host
        if len(among) > 2:
            among.remove(name)
            del self.names[name]
            self.lines.append(f"del {name}")

    # -- lines ------------------------------------------------------------------------------------

    def _emit(self, line: str, used: list[str], error: Exception | None, stream: str) -> None:
        if stream == "side":
            there = [name for name in used if name[0] == "t"]
            line = f"with gpu.stream(side):\n    {line}"
            line += f"\nkeep({', '.join(there)})" if there else ""
        if error is not None:
            line = textwrap.indent(f"{line}\ngpu.synchronize()", "    ")
            caught = "except Exception as error:\n    seen.append(kind(error))\n    settle()"
            line = f"try:\n{line}\n{caught}"
            self.names["seen"].append(self.names["kind"](error))
        self.lines += line.split("\n")

    def _order(self, kind: str, used: list[str], gene: bytes, stream: str) -> list[str]:
        """What must come before a step that uses these names."""
        lines = []
        for name in used:
            if name[0] == "h" and kind != "host view":
                all_copies = name == used[0] and kind in ("host write", "download into")
                lines += self._waits(self._storage(name), gene, all_copies)
        if stream == "side":
            lines.append("side.wait_stream(main)")
        elif self.apart & {self._storage(name) for name in used}:
            self.apart.clear()
            by_event = "main.wait_event(side.record_event())"
            lines.append("main.wait_stream(side)" if gene[6] % 2 else by_event)
        return lines

    def _waits(self, storage: int, gene: bytes, all_copies: bool) -> list[str]:
        """Lines after which no copy uses this host memory, or none writes it."""
        copies = [c for c in self.late.get(storage, []) if c.writes or all_copies]
        if not copies:
            return []
        how, streams = gene[6] % 4, sorted({copy.stream for copy in copies})
        if how == 0:
            self.late.clear()
            self.apart.clear()
            return ["gpu.synchronize()"]
        if how == 1 and all(copy.event for copy in copies):
            self.late[storage] = [c for c in self.late[storage] if c not in copies]
            return [f"{copy.event}.synchronize()" for copy in copies]
        self.late = {
            key: [copy for copy in copies if copy.stream not in streams]
            for key, copies in self.late.items()
        }
        if "side" in streams:
            self.apart.clear()
        elif how == 2:  # a read waits for its stream
            return ["torch.zeros(1, device=device).item()"]
        return [f"{stream}.synchronize()" for stream in streams]

    def _mark(self, kind: str, used: list[str], gene: bytes, stream: str) -> None:
        """Remember which host memory a queued copy goes on using."""
        writes = kind.startswith("download")
        event = f"e{next(self.number)}" if gene[6] % 2 else ""
        if event:
            self.lines.append(f"{event} = {stream}.record_event()")
        for name in used:
            if name[0] == "h" and name in self.names:
                storage = self._storage(name)
                if kind == "download":  # its result is pinned, on the device's side
                    self.pinned.add(storage)
                if storage in self.pinned or self.names[name].is_pinned():
                    self.late.setdefault(storage, []).append(Late(stream, writes, event))

    def _follow(self, name: str, gene: bytes) -> None:
        """Soon after a copy was queued, write its source, or let another take its memory."""
        if gene[5] % 3 == 1:
            self._take("host write", "", f"{name}.mul_(-1)", gene)
        elif gene[5] % 3 == 2 and len(self.host) > 2:
            shape, dtype = tuple(self.names[name].shape), self.names[name].dtype
            self._delete(name)
            other = f"torch.full({shape}, 9, dtype={dtype}, pin_memory=True)"
            self._take("host new", "h", other, gene)

    def _storage(self, name: str) -> int:
        return int(self.names[name].untyped_storage()._cdata)


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    """All of its storage."""
    return torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())
