"""Work on threads of their own, whose failures are the test's."""

from __future__ import annotations

import threading
from typing import Any


def together(*works: Any) -> None:
    """Run functions on threads of their own; an exception of one is raised here."""
    problems: list[BaseException] = []

    def guarded(work: Any) -> None:
        try:
            work()
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=guarded, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    if problems:
        raise problems[0]
