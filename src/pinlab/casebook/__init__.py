"""Public bugs of this family, each as a broken and a fixed program, and reports that are none.

>>> from pinlab.casebook import case
>>> print(case("Z07").explore("broken").verdict)
case("Z07").program("broken"): 2 different outcomes
"""

from __future__ import annotations

from pinlab.casebook.case import Case
from pinlab.casebook.guards import GUARDS, Guard
from pinlab.casebook.kinds import KINDS, Kind
from pinlab.casebook.program import Program
from pinlab.casebook.registry import CaseFileError, case, cases, scan

__all__ = [
    "GUARDS",
    "KINDS",
    "Case",
    "CaseFileError",
    "Guard",
    "Kind",
    "Program",
    "case",
    "cases",
    "scan",
]
