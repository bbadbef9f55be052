"""Finding the hazard: who shares memory with whom, and who still reads it."""

from __future__ import annotations

from pinlab.detect.aliases import alias_map, assert_no_alias
from pinlab.detect.storage import AliasMap, PendingUse, Storage, View

__all__ = ["AliasMap", "PendingUse", "Storage", "View", "alias_map", "assert_no_alias"]
