"""The hazard tracker: ``with hazards() as found: …``.

The module can be called: ``with pinlab.detect.hazards() as found:`` is the same.
"""

from __future__ import annotations

import sys

from pinlab.detect.callable_module import CallableModule
from pinlab.detect.hazards.hazard import Between, Buffer, Findings, Hazard, Kind
from pinlab.detect.hazards.watching import hazards, probable_hazards

__all__ = ["Between", "Buffer", "Findings", "Hazard", "Kind", "hazards", "probable_hazards"]

sys.modules[__name__].__class__ = CallableModule
