"""Measure the race and its repairs on PoCL, and write the file that lesson 05 quotes.

    python -m tools.measure_witness          # prints
    python -m tools.measure_witness --save   # and writes src/pinlab/witness/data/pocl.json

Needs the extra ``opencl``. After a saved run, write its numbers into lesson 05 and docs/witness.md;
a test compares them.
"""

from __future__ import annotations

import argparse

from pinlab.witness import measure
from pinlab.witness.measurement import FILE, TRIES


def main() -> None:
    """Measure, print, and save if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, default=TRIES)
    parser.add_argument("--save", action="store_true", help=f"write {FILE.name}")
    arguments = parser.parse_args()
    measured = measure(arguments.tries)
    print(measured)
    if arguments.save:
        measured.save()


if __name__ == "__main__":
    main()
