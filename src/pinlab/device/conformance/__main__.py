"""``python -m pinlab.device.conformance``: run the checks on this process's device."""

from __future__ import annotations

import sys

from pinlab.device import pick_device
from pinlab.device.conformance import CHECKS, run


def main() -> int:
    """Print a line per check; 1 if one failed."""
    device = pick_device()
    failed = 0
    for check in CHECKS.values():
        result = run(check, device)
        failed += not result.passed
        print(f"{'ok' if result.passed else 'FAILED':7}{check.group}: {check.claim}")
        for name, value in result.observed.items():
            print(f"{'':7}observed: {name}: {value}")
        if result.message:
            print(f"{'':7}{result.message}")
    print(f"{len(CHECKS) - failed} of {len(CHECKS)} checks hold on {device}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
