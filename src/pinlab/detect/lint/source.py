"""Reading a file: bytes to a syntax tree, and what went wrong as a finding, never as a crash."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from dataclasses import dataclass
from pathlib import Path

from pinlab.detect.lint.finding import Finding, Level

PROBE = b"from __future__ import braces\n"
DECLARATION = re.compile(rb"^[ \t\f]*#.*?coding[:=]", re.MULTILINE)


@dataclass(frozen=True)
class Source:
    """A file that was read: its bytes, and its tree or the finding that says why there is none."""

    path: str
    data: bytes
    tree: ast.Module | None
    problem: Finding | None = None

    def __repr__(self) -> str:
        return f"<Source {self.path}: {self.problem.rule if self.problem else 'parsed'}>"

    def lines(self) -> list[str]:
        """The text, line by line, in the file's own encoding."""
        return decode(self.data).splitlines()


def decode(data: bytes) -> str:
    """The text of `data` in the encoding that it declares; undecodable bytes are replaced.

    >>> decode(b"# -*- coding: latin-1 -*-\\nx = '\\xe9'\\n").splitlines()[1]
    "x = 'é'"
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except (SyntaxError, UnicodeDecodeError):
        encoding = "utf-8"
    return data.decode(encoding, errors="replace")


def read_source(path: str) -> Source:
    """Read and parse the file at `path`. Never raises for what the file contains."""
    data = read_bytes(path)
    return parse_source(path, data) if isinstance(data, bytes) else Source(path, b"", None, data)


def read_bytes(path: str) -> bytes | Finding:
    """The bytes of the file at `path`, or the finding that says why there are none."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return _problem(path, 1, "PIN097", f"cannot be read: {reason}")


def parse_source(path: str, data: bytes) -> Source:
    """Parse `data` as the contents of `path`.

    >>> parse_source("x.py", b"def f(:\\n")
    <Source x.py: PIN095>
    """
    try:
        with warnings.catch_warnings():
            # A SyntaxWarning about the checked file is not this tool's to print.
            warnings.simplefilter("ignore")
            return Source(path, data, ast.parse(data, filename=path))
    except SyntaxError as error:
        return Source(path, data, None, _syntax_problem(path, data, error))
    except (RecursionError, MemoryError):
        message = "is nested too deeply to be parsed; nothing in it was checked"
        return Source(path, data, None, _problem(path, 1, "PIN097", message))
    except ValueError as error:
        return Source(path, data, None, _problem(path, 1, "PIN095", f"cannot be parsed: {error}"))


def find_problem(path: str, data: bytes) -> Finding | None:
    """What keeps `data` from being parsed, or None; no tree is built where there is no need.

    >>> find_problem("x.py", b"x = 1") is None, find_problem("x.py", b"x = ").rule
    (True, 'PIN095')
    """
    return None if _surely_parses(data) else parse_source(path, data).problem


def _surely_parses(data: bytes) -> bool:
    """Whether the compiler, which parses all of a file first, then stumbles over our first line.

    ``ast.parse`` spends a third of its time or more on the Python objects of the tree. With a
    first line that parses and that no compiler accepts, a right file fails before those, and
    with a message of its own. Whatever else happens decides nothing.
    """
    head = b"\n".join(data.split(b"\n", 2)[:2])
    if head.startswith(b"\xef\xbb\xbf") or DECLARATION.search(head):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(PROBE + data, "<probe>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return error.msg == "not a chance" and error.lineno == 1
    except (ValueError, RecursionError, MemoryError):
        return False
    return False


def _syntax_problem(path: str, data: bytes, error: SyntaxError) -> Finding:
    encoding = _encoding_problem(data)
    if encoding:
        return _problem(path, error.lineno or 1, "PIN096", encoding)
    message = f"syntax error: {error.msg}; nothing in this file was checked"
    return _problem(path, error.lineno or 1, "PIN095", message)


def _encoding_problem(data: bytes) -> str | None:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        if DECLARATION.search(b"".join(data.splitlines(keepends=True)[:2])):
            return f"encoding: {error.msg}; declare the one that the file has, or save it as UTF-8"
        encoding = "utf-8"
    try:
        data.decode(encoding)
    except UnicodeDecodeError as error:
        where = f"byte {error.object[error.start]:#04x} at offset {error.start}"
        return f"is not {encoding}: {where}; declare its encoding, or save it as UTF-8"
    except LookupError:
        return f"declares the encoding {encoding!r}, which is no text encoding"
    return None


def _problem(path: str, line: int, rule: str, message: str) -> Finding:
    return Finding(path, max(line, 1), rule, Level.ERROR, message)
