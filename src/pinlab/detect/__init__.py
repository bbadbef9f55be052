"""Finding the hazard: who shares memory with whom, and who still reads it.

The names below are imported when they are first used: `pinlab.detect.lint` reads source only,
and must not wait for torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pinlab.detect.aliases import alias_map, assert_no_alias
    from pinlab.detect.fence import FenceReport, fence
    from pinlab.detect.hazards import Findings, Hazard, hazards
    from pinlab.detect.storage import AliasMap, PendingUse, Storage, View

__all__ = [
    "AliasMap",
    "FenceReport",
    "Findings",
    "Hazard",
    "PendingUse",
    "Storage",
    "View",
    "alias_map",
    "assert_no_alias",
    "fence",
    "hazards",
]

_HOMES = dict.fromkeys(("AliasMap", "PendingUse", "Storage", "View"), "storage")
_HOMES |= dict.fromkeys(("alias_map", "assert_no_alias"), "aliases")
_HOMES |= dict.fromkeys(("Findings", "Hazard"), "hazards") | {"FenceReport": "fence"}
_PACKAGES = ("fence", "hazards")  # each can be called: it is also the function of its name


def __getattr__(name: str) -> object:
    if name in _PACKAGES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
