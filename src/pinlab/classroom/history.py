"""A small git repository in a temporary folder, and `git bisect run` over it.

The repository is a real one and so is the bisection. Simplified in one point: git would start a
fresh process for each commit, and each would import torch for seconds. Here git starts a process
of one line that asks the lesson's own process, over a local socket, how the test went.

Nothing depends on the user's git settings, and no other repository is touched.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pinlab.classroom.toy_commits import versions

FILE = "batch.py"
NOBODY = "pinlab <pinlab@example.invalid>"
BEGIN = 1_780_000_000  # seconds; commits are an hour apart, so that their hashes are the same
LIMIT = 120.0  # seconds for a bisection
GOOD, BAD, STOP = 0, 1, 128  # what `git bisect run` makes of an exit status
ASK = (
    "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); "
    "sys.exit(s.recv(1)[0])"
)

Test = Callable[["Commit"], object]


class GitMissingError(RuntimeError):
    """There is no git."""


@dataclass(frozen=True)
class Commit:
    """One commit of the toy batch; `number` is 1 for the oldest."""

    number: int
    sha: str
    subject: str
    _history: History = field(repr=False, compare=False)

    def load(self) -> types.ModuleType:
        """The file as it was then, as a module."""
        module = types.ModuleType("batch")
        text = self._history.git("show", f"{self.sha}:{FILE}")
        exec(compile(text, f"{FILE} of commit {self.number}", "exec"), module.__dict__)
        return module

    def changes(self) -> str:
        """The lines that the commit took out and put in."""
        lines = self._history.git("show", "--format=", "--unified=0", self.sha).splitlines()
        marks = ("+", "-")
        return "\n".join(n for n in lines if n.startswith(marks) and n[:3] not in ("+++", "---"))

    def __str__(self) -> str:
        return f"{self.number:>2}  {self.sha[:7]}  {self.subject}"


@dataclass(frozen=True)
class Bisection:
    """What git asked, in order, and which commit it names."""

    asked: tuple[tuple[Commit, bool], ...]  # commit, whether the test was green
    first_bad: Commit

    def __str__(self) -> str:
        lines = [f"git bisect run: {len(self.asked)} commits tested"]
        lines += [f"  {'good' if green else 'BAD '}  {commit}" for commit, green in self.asked]
        return "\n".join([*lines, f"first bad commit: {self.first_bad}"])


class History:
    """The repository. It is deleted when this object is, or when Python ends.

    Raises `GitMissingError` where git is not installed.

    >>> history = History()
    >>> print(history[4])
     4  e78791e  Spare the pooler a copy of the lengths
    """

    def __init__(self) -> None:
        if shutil.which("git") is None:
            raise GitMissingError(
                "git was not found on the PATH. This section needs it: install git (git-scm.com) "
                "and restart the kernel, or read on without running its cells."
            )
        self._folder = tempfile.TemporaryDirectory(
            prefix="pinlab-history-", ignore_cleanup_errors=True
        )
        self.path = Path(self._folder.name) / "toy"
        self.path.mkdir()
        self.git("init", "--quiet", "--template=")
        self.git("symbolic-ref", "HEAD", "refs/heads/main")
        self.git("fast-import", "--quiet", given=_stream())
        self.git("reset", "--quiet", "--hard")
        log = self.git("log", "--reverse", "--format=%H %s").splitlines()
        pairs = [line.split(" ", 1) for line in log]
        self.commits = [Commit(n, sha, text, self) for n, (sha, text) in enumerate(pairs, 1)]

    def __len__(self) -> int:
        return len(self.commits)

    def __getitem__(self, number: int) -> Commit:
        """Commit `number`, from 1."""
        if number not in range(1, len(self) + 1):
            raise IndexError(f"commit {number}; there are 1 to {len(self)}")
        return self.commits[number - 1]

    def __str__(self) -> str:
        return "\n".join(map(str, self.commits))

    def __repr__(self) -> str:
        return f"<History of {len(self)} commits>"

    def git(self, *arguments: str, given: str = "") -> str:
        """Run git in the repository; what it printed. RuntimeError with its message if it fails."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            env=self._environment(),
            input=given.encode(),
            capture_output=True,
            timeout=LIMIT,
        )
        if done.returncode:
            raise RuntimeError(f"git {arguments[0]}: {done.stderr.decode(errors='replace')}")
        return done.stdout.decode()

    def bisect(self, test: Test, good: int = 1, bad: int | None = None) -> Bisection:
        """Let `git bisect run` search for the first commit on which `test` is red.

        Args:
            test: takes a `Commit`; red if it raises `AssertionError`. Any other exception ends the
                bisection and is raised here.
            good, bad: numbers of the commits that git takes on trust; `bad` is the newest if None.
        """
        newest, oldest = self[len(self) if bad is None else bad], self[good]
        self.git("bisect", "start", "--no-checkout", newest.sha, oldest.sha)
        try:
            asked = self._run(test)
            named = self.git("rev-parse", "refs/bisect/bad").strip()
            return Bisection(tuple(asked), self._by_sha(named))
        finally:
            self.git("bisect", "reset")

    def _run(self, test: Test) -> list[tuple[Commit, bool]]:
        """Answer git's questions until it has no more."""
        asked: list[tuple[Commit, bool]] = []
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(0.05)
            port = str(server.getsockname()[1])
            command = ["git", "bisect", "run", sys.executable, "-I", "-S", "-c", ASK, port]
            git = subprocess.Popen(
                command,
                cwd=self.path,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
            end = time.monotonic() + LIMIT
            try:
                while git.poll() is None:
                    if time.monotonic() > end:
                        raise TimeoutError(f"git bisect run has not ended after {LIMIT:.0f} s")
                    self._answer(server, test, asked)
            finally:
                git.kill()
                _, said = git.communicate()
        if git.returncode:
            raise RuntimeError(f"git bisect run: {said.decode(errors='replace')}")
        return asked

    def _answer(self, server: socket.socket, test: Test, asked: list[tuple[Commit, bool]]) -> None:
        """Wait a moment for a question; run the test on the commit that git has come to."""
        try:
            client, _ = server.accept()
        except TimeoutError:
            return
        with client:
            commit = self._by_sha(self.git("rev-parse", "BISECT_HEAD").strip())
            try:
                test(commit)
            except AssertionError:
                asked.append((commit, False))
            except BaseException:
                client.sendall(bytes([STOP]))
                raise
            else:
                asked.append((commit, True))
            client.sendall(bytes([GOOD if asked[-1][1] else BAD]))

    def _by_sha(self, sha: str) -> Commit:
        return next(commit for commit in self.commits if commit.sha == sha)

    def _environment(self) -> dict[str, str]:
        """The user's environment without anything that would change what git does."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        home = str(self._folder.name)
        return kept | {
            "HOME": home,  # for versions of git that do not know the next two
            "XDG_CONFIG_HOME": home,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CEILING_DIRECTORIES": home,
            "GIT_DEFAULT_HASH": "sha1",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
        }


def _stream() -> str:
    """All commits in the form that `git fast-import` reads; the texts are ASCII."""
    parts = []
    for hour, (subject, text) in enumerate(versions()):
        when = f"{BEGIN + 3600 * hour} +0000"
        parts += [
            "commit refs/heads/main",
            f"author {NOBODY} {when}",
            f"committer {NOBODY} {when}",
            f"data {len(subject)}\n{subject}",
            f"M 100644 inline {FILE}",
            f"data {len(text)}\n{text}",
        ]
    return "\n".join(parts) + "\n"
