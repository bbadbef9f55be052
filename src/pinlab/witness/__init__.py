"""The race, and two repairs, on an asynchronous queue that nobody here wrote.

The simulated device and its explorer could agree with each other and both be wrong. So one small
program (`next_batch`) runs on two queues: on the simulated device, where the explorer lists what
can come out, and on OpenCL, as PoCL runs it on this processor, where we only look. Reading order:
``program``, ``on_sim``, ``on_opencl`` (with ``opencl``, which finds the library), ``gated`` (the
schedule is chosen), ``free`` (it is left to chance), ``measurement`` (numbers that are committed).

Not here: a GPU, pinned memory (OpenCL's rule does not ask for it), more than one queue. The OpenCL
half needs the extra ``opencl`` (`python -m pip install -e ".[opencl]"`); see docs/witness.md.

>>> listed("wait").correct
True
"""

from __future__ import annotations

from pinlab.witness.free import Tally, free
from pinlab.witness.gated import gated
from pinlab.witness.measurement import Measurement, committed, measure
from pinlab.witness.on_opencl import OpenCLQueue, OverdueError
from pinlab.witness.on_sim import SimQueue, listed
from pinlab.witness.opencl import OpenCLMissingError, find_context
from pinlab.witness.program import FIRST, MOMENTS, REPAIRS, SECOND, next_batch

__all__ = [
    "FIRST",
    "MOMENTS",
    "REPAIRS",
    "SECOND",
    "Measurement",
    "OpenCLMissingError",
    "OpenCLQueue",
    "OverdueError",
    "SimQueue",
    "Tally",
    "committed",
    "find_context",
    "free",
    "gated",
    "listed",
    "measure",
    "next_batch",
]
