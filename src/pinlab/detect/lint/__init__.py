"""Reading source for races on pinned memory, without running it: ``python -m pinlab lint``.

Standard library only: it imports neither torch nor the simulated device.

>>> from pinlab.detect.lint import lint_text
>>> for finding in lint_text('''
... import torch
... host = torch.tensor([1, 2, 3], pin_memory=True)
... dev = host.to("cuda", non_blocking=True)
... host.fill_(0)
... '''):
...     print(finding.line, finding.rule, finding.level)
5 PIN003 error
"""

from __future__ import annotations

from pinlab.detect.lint.check import Options
from pinlab.detect.lint.finding import Finding, Level
from pinlab.detect.lint.runner import lint_paths, lint_text

__all__ = ["Finding", "Level", "Options", "lint_paths", "lint_text"]
