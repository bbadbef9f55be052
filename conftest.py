"""What every test run shares: one thread per worker, and nbval without its holes."""

from __future__ import annotations

import os

# Before anything imports torch: sums depend on the thread count, and workers share the cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")

pytest_plugins = ["tools.nbval_strict"]
