"""``python -m pinlab <command> …``."""

from __future__ import annotations

import sys

from pinlab.commands import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
