"""One measurement on this machine, and the one that lesson 05 shows."""

from __future__ import annotations

import datetime
import json
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path

from pinlab.witness.free import Tally, free
from pinlab.witness.gated import gated
from pinlab.witness.opencl import versions
from pinlab.witness.program import MOMENTS, REPAIRS

FILE = Path(__file__).parent / "data" / "pocl.json"
TRIES = 400
TURNS = {"idle": 0, "busy": 1_000_000}  # of the kernel before the upload


@dataclass(frozen=True)
class Measurement:
    """What was seen, and where.

    Attributes:
        date: of the run, ISO. machine: CPUs, system, other programs' load. software: versions.
        gated: repair → what the device received, one list a moment.
        free: repair → queue (``"idle"``, ``"busy"``) → tally.
    """

    date: str
    machine: dict[str, str]
    software: dict[str, str]
    gated: dict[str, list[list[int]]]
    free: dict[str, dict[str, Tally]]

    def save(self, path: Path = FILE) -> None:
        """Write it as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path = FILE) -> Measurement:
        """Read what `save` wrote."""
        stored = json.loads(path.read_text(encoding="utf-8"))
        stored["free"] = {
            repair: {
                queue: Tally(tuple((tuple(seen), count) for seen, count in tally["received"]))
                for queue, tally in queues.items()
            }
            for repair, queues in stored["free"].items()
        }
        return cls(**stored)

    def __repr__(self) -> str:
        lines = [
            f"Measurement of {self.date}, {self.machine['cpus']} CPUs, {self.software['device']}"
        ]
        for repair, queues in self.free.items():
            lines.append(f"  {repair:<9} gate at each moment: {self.gated[repair]}")
            lines += [f"  {'':<9} {queue} queue: {tally}" for queue, tally in queues.items()]
        return "\n".join(lines)


def measure(tries: int = TRIES) -> Measurement:
    """Play every moment and take the rates of every repair, on this machine.

    Raises:
        OpenCLMissingError: without PyOpenCL or PoCL.
    """
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    system = f"{platform.system()} {platform.machine()}"
    return Measurement(
        date=datetime.date.today().isoformat(),
        machine={"cpus": str(cpus), "system": system, "load before": load},
        software={"python": platform.python_version(), **versions()},
        gated={repair: [gated(repair, moment) for moment in range(MOMENTS)] for repair in REPAIRS},
        free={
            repair: {queue: free(repair, tries, turns) for queue, turns in TURNS.items()}
            for repair in REPAIRS
        },
    )


def committed() -> Measurement:
    """The measurement that is committed with the source; needs no OpenCL.

    >>> seen = committed()
    >>> seen.free["wait"]["busy"].wrong, seen.free["snapshot"]["busy"].wrong
    (0, 0)
    """
    return Measurement.load()
