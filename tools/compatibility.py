"""Try pinlab with other versions, and print a row for docs/compatibility.md.

    python -m tools.compatibility [--python python3.13] [REQUIREMENT …]

A requirement (``torch==2.14.1``, ``numpy==1.26.*``) takes the place of the one in pyproject.toml;
the others stay as they are. The committed files are laid out in a folder for temporary files, an
environment is made there, a short suite runs in it, and all of it is removed afterwards. Run it
alone: it installs some GB and takes about ten minutes.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "compatibility.md"
SHOWN = ("torch", "numpy", "matplotlib", "jupyterlab", "ipykernel")
COLUMNS = ("date", "commit", "Python", *SHOWN, "pins", "units", "lessons 01–03")
UNITS = ("tests/sim", "tests/schedules", "tests/serving", "tests/detect", "tests/conformance")
LESSONS = ("notebooks/01_views.ipynb", "notebooks/02_pinned_memory.ipynb")
LESSONS += ("notebooks/03_non_blocking.ipynb",)
SECONDS = 300  # for the unit tests; what ran until then counts
STOPPED = re.compile(r"session-timeout: (\d+)[.\d]* sec exceeded")
CLOSING = re.compile(r"=* ?((?:\d+ [a-z]+(?:, )?)+) in [\d.]+s")


def pins() -> dict[str, SpecifierSet]:
    """What pyproject.toml allows, Python included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = {"Python": SpecifierSet(project["requires-python"])}
    requirements = map(Requirement, project["dependencies"])
    return found | {requirement.name: requirement.specifier for requirement in requirements}


def place(versions: dict[str, str]) -> str:
    """Whether these versions are within the pins, and which are not.

    >>> place({"torch": "2.13.0"}), place({"torch": "2.1.0", "numpy": "1.0.0"})
    ('within', 'outside: torch, numpy')
    """
    allowed = pins()
    out = [name for name, version in versions.items() if Version(version) not in allowed[name]]
    return f"outside: {', '.join(out)}" if out else "within"


def pinned(text: str, asked: Sequence[str]) -> tuple[str, list[str]]:
    """The text of pyproject.toml with other requirements in it, and those it has no line for.

    >>> pinned('  "numpy==2.4.*",', ["numpy==2.0.*", "left-pad==1.0"])
    ('  "numpy==2.0.*",', ['left-pad==1.0'])
    """
    more = []
    for requirement in asked:
        line = rf'"{re.escape(Requirement(requirement).name)}==[^"]*"'
        text, count = re.subn(line, f'"{requirement}"', text)
        more += [] if count else [requirement]
    return text, more


@dataclass
class Trial:
    """One environment in a folder of its own."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "venv" / "bin" / "python"

    @property
    def tree(self) -> Path:
        return self.folder / "pinlab"

    def make(self, python: str, asked: Sequence[str]) -> None:
        """Lay out the committed files and install them; raises if that fails."""
        self.tree.mkdir()
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True)
        archive.check_returncode()
        subprocess.run(["tar", "-x", "-C", self.tree], input=archive.stdout, check=True)
        project = self.tree / "pyproject.toml"
        text, more = pinned(project.read_text(encoding="utf-8"), asked)
        project.write_text(text, encoding="utf-8")
        subprocess.run([python, "-m", "venv", self.folder / "venv"], check=True)
        install = [self.python, "-m", "pip", "install", "-qq", "-e", ".[test]", *more]
        subprocess.run(install, cwd=self.tree, check=True)

    def versions(self) -> dict[str, str]:
        """What was installed."""
        code = (
            "import json, platform; from importlib.metadata import version; print(json.dumps("
            f"{{'Python': platform.python_version(), **{{n: version(n) for n in {SHOWN!r}}}}}))"
        )
        found: dict[str, str] = json.loads(self._run("-c", code))
        return found

    def pytest(self, *arguments: str) -> str:
        """Run some tests; their closing line in words, and what failed on standard error."""
        command = ["-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", *arguments]
        said = self._run(*command)
        for line in said.splitlines():
            if line.startswith(("FAILED", "ERROR")):
                print(line, file=sys.stderr)
        return closing(said)

    def _run(self, *arguments: str) -> str:
        done = subprocess.run(
            [self.python, *arguments], cwd=self.tree, capture_output=True, text=True
        )
        (self.folder / "last.txt").write_text(done.stdout + done.stderr)
        return done.stdout


def closing(said: str) -> str:
    """What pytest said at the end.

    >>> closing("...\\n=== 1 failed, 20 passed, 1 skipped in 3.20s ===")
    '1 failed, 20 passed, 1 skipped'
    >>> closing("!!! session-timeout: 200.0 sec exceeded !!!\\n20 passed in 200.65s (0:03:20)")
    '20 passed; stopped after 200 s'
    >>> closing("Traceback: …")
    'did not run'
    """
    found = CLOSING.findall(said)
    stopped = STOPPED.search(said)
    words = found[-1] if found else "did not run"
    return f"{words}; stopped after {stopped[1]} s" if stopped else words


def row(cells: Sequence[str]) -> str:
    """A line of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def rows(page: str) -> list[dict[str, str]]:
    """The table of the page, read back."""
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [dict(zip(COLUMNS, line, strict=True)) for line in cells if line[0][:2] == "20"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the environment, run, print the row; 1 if a test failed or nothing ran."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("requirements", nargs="*", metavar="REQUIREMENT")
    parser.add_argument("--python", default=sys.executable, help="the interpreter to use")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="for the unit tests")
    parser.add_argument("--keep", action="store_true", help="leave the folder, say where it is")
    asked = parser.parse_args(arguments)
    commit = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, text=True)
    trial = Trial(Path(tempfile.mkdtemp(prefix="pinlab-compatibility-")))
    try:
        trial.make(asked.python, asked.requirements)
        versions = trial.versions()
        units = trial.pytest(f"--session-timeout={asked.seconds}", *UNITS)
        lessons = trial.pytest(*LESSONS)
    finally:
        if asked.keep:
            print(f"left in {trial.folder}", file=sys.stderr)
        else:
            shutil.rmtree(trial.folder)
    cells = [datetime.date.today().isoformat(), commit.strip(), *versions.values()]
    print(row([*cells, place(versions), units, lessons]))
    return int(any(word in f"{units} {lessons}" for word in ("failed", "error", "did not run")))


if __name__ == "__main__":
    sys.exit(main())
