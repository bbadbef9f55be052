"""The write fence: page protection on pinned memory while a copy uses it.

The module can be called: ``pinlab.detect.fence(program)`` is `fence(program)`.
"""

from __future__ import annotations

import sys

from pinlab.detect.callable_module import CallableModule
from pinlab.detect.fence.access import HIT, MISS, Access
from pinlab.detect.fence.report import FenceReport
from pinlab.detect.fence.search import fence

__all__ = ["HIT", "MISS", "Access", "FenceReport", "fence"]

sys.modules[__name__].__class__ = CallableModule
