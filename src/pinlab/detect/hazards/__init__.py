"""The hazard tracker: ``with hazards() as found: …``."""

from __future__ import annotations

from pinlab.detect.hazards.hazard import Between, Buffer, Findings, Hazard, Kind
from pinlab.detect.hazards.watching import hazards, probable_hazards

__all__ = ["Between", "Buffer", "Findings", "Hazard", "Kind", "hazards", "probable_hazards"]
