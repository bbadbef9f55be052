"""Source listings: a function's lines, and which of them comes next."""

from __future__ import annotations

import inspect
import textwrap
from dataclasses import dataclass
from types import CodeType, FrameType

WINDOW = 6  # lines shown before and after the next one, of a long function
LONG = 24  # a function of more lines is shown as a window


@dataclass(frozen=True)
class Listing:
    """A function's source, with the line that comes next.

    Attributes:
        function: its name.
        lines: its source lines, without the common indentation.
        next: number of the line that comes next, counted from 1; None if it has returned.
        within: the host stands within that line: a part of it has run.
    """

    function: str
    lines: tuple[str, ...]
    next: int | None = None
    within: bool = False

    def shown(self) -> list[tuple[int, str]]:
        """Numbered lines; of a long function those around the next one."""
        numbered = list(enumerate(self.lines, 1))
        if len(numbered) <= LONG or self.next is None:
            return numbered[:LONG]
        first = max(0, self.next - 1 - WINDOW)
        return numbered[first : self.next + WINDOW]


def listing(code: CodeType, frame: FrameType | None = None, within: bool = False) -> Listing:
    """The listing of a function; `frame` is where it stands, if it has not returned."""
    lines = _source(code)
    if frame is None:
        return Listing(code.co_name, lines)
    return Listing(code.co_name, lines, frame.f_lineno - code.co_firstlineno + 1, within)


def _source(code: CodeType) -> tuple[str, ...]:
    try:
        lines, _ = inspect.getsourcelines(code)
    except (OSError, TypeError):  # typed at a prompt, or made by exec
        return ()
    return tuple(textwrap.dedent("".join(lines)).rstrip().splitlines())
