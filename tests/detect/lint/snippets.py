"""The corpus: small pieces of source, right and wrong, with the lines that must be reported."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "corpus"
START = re.compile(r"(?m)^#% ")
EXPECT = re.compile(r"# expect: ((?:PIN\d{3} ?)+)")
ANYWHERE = re.compile(r"# expect-any: (PIN\d{3})")


@dataclass(frozen=True)
class Snippet:
    """`expected`: (line, rule); `anywhere`: rules that must be reported on some line."""

    name: str
    text: str
    expected: frozenset[tuple[int, str]]
    anywhere: frozenset[str]

    @property
    def is_right(self) -> bool:
        return not self.expected and not self.anywhere


def load() -> list[Snippet]:
    """Every snippet of every file of the corpus."""
    found = []
    for file in sorted(FOLDER.glob("*.txt")):
        for part in START.split(file.read_text())[1:]:
            title, _, text = part.partition("\n")
            expected = {
                (number, rule)
                for number, line in enumerate(text.splitlines(), 1)
                for match in EXPECT.finditer(line)
                for rule in match[1].split()
            }
            anywhere = frozenset(ANYWHERE.findall(text))
            name = f"{file.stem}: {title}"
            found.append(Snippet(name, text, frozenset(expected), anywhere))
    return found
