"""Finding the hazard: who shares memory with whom, and who still reads it.

The names below are imported when they are first used: `pinlab.detect.lint` reads source only,
and must not wait for torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pinlab.detect.aliases import alias_map, assert_no_alias
    from pinlab.detect.storage import AliasMap, PendingUse, Storage, View

__all__ = ["AliasMap", "PendingUse", "Storage", "View", "alias_map", "assert_no_alias"]

_HOMES = dict.fromkeys(("AliasMap", "PendingUse", "Storage", "View"), "storage")
_HOMES |= dict.fromkeys(("alias_map", "assert_no_alias"), "aliases")


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
