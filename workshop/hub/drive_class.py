"""Start a hub on this machine, let ten learners work at once, report, and clean up.

    python workshop/hub/drive_class.py [--learners 10] [--lessons 01 03 05]

Each learner gets a server, opens the lessons one after the other and runs every cell. Reported are,
for each, the seconds until the server answers and until each lesson is done, the largest memory and
the processor time, and every failure. Needs Linux, and `configurable-http-proxy` on the PATH or
under build/hub (`make hub` puts it there).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.request import urlopen

sys.path.insert(0, str(Path(__file__).resolve().parent))

from learner import Learner
from usage import Usage, read

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROXY = ROOT / "build" / "hub" / "node_modules" / ".bin"


class Hub:
    """A hub with a folder of its own, from start to the last trace removed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.token = secrets.token_hex(16)
        self.port = _three_free_ports()
        self.address = f"http://127.0.0.1:{self.port}"
        self.log = (folder / "hub.log").open("w")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "jupyterhub", "-f", str(HERE / "jupyterhub_config.py")],
            cwd=folder,
            env={
                **os.environ,
                "PATH": f"{PROXY}{os.pathsep}{os.environ['PATH']}",
                "PINLAB_HUB_HOME": str(folder),
                "PINLAB_HUB_PORT": str(self.port),
                "PINLAB_HUB_PASSWORD": secrets.token_hex(16),
                "PINLAB_HUB_TOKEN": self.token,
            },
            stdout=self.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def wait(self, patience: float) -> float:
        """Seconds until the hub answers.

        Raises:
            RuntimeError: with the end of the hub's log, if it does not.
        """
        began = time.monotonic()
        while time.monotonic() - began < patience and self.process.poll() is None:
            try:
                with urlopen(f"{self.address}/hub/api", timeout=5):
                    return time.monotonic() - began
            except OSError:
                time.sleep(0.2)  # between two questions
        end = (self.folder / "hub.log").read_text()[-2000:]
        raise RuntimeError(f"the hub does not answer at {self.address}:\n{end}")

    def stop(self) -> None:
        """End the hub and its proxy; servers were asked to stop before."""
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.log.close()


def _three_free_ports() -> int:
    """The first of three ports in a row that nobody uses: proxy, hub, the proxy's own API."""
    for port in range(18000, 28000, 10):
        taken = False
        for one in (port, port + 1, port + 2):
            with socket.socket() as trial:
                taken |= trial.connect_ex(("127.0.0.1", one)) == 0
        if not taken:
            return port
    raise RuntimeError("no three free ports in a row between 18000 and 28000")


async def _watch(homes: dict[str, Path], usages: dict[str, Usage]) -> None:
    while True:
        await asyncio.to_thread(read, homes, usages)
        await asyncio.sleep(1.0)


async def _class_at(hub: Hub, names: list[str], lessons: list[str], patience: float) -> list[str]:
    learners = [Learner(name, hub.address, hub.token) for name in names]
    homes = {name: hub.folder / name for name in names}
    usages = {name: Usage() for name in names}
    watch = asyncio.create_task(_watch(homes, usages))
    began = time.monotonic()
    try:
        await asyncio.gather(*(learner.work(lessons, patience) for learner in learners))
    finally:
        watch.cancel()
        read(homes, usages)
        await asyncio.gather(*(learner.leave() for learner in learners))
    took = time.monotonic() - began
    print(*table(learners, usages, lessons), sep="\n")
    memory = sum(usage.memory for usage in usages.values())
    print(f"\nall {len(names)} done after {took:.0f} s; {memory / 2**30:.1f} GiB at their largest")
    failures = [failure for learner in learners for failure in learner.failures]
    print("failures:", *(failures or ["none"]), sep="\n  ")
    if failures:
        print((hub.folder / "hub.log").read_text()[-4000:], file=sys.stderr)
    return failures


def table(learners: list[Learner], usages: dict[str, Usage], lessons: list[str]) -> list[str]:
    """A line for each learner, and one for the median."""
    heads = ["start s", *(f"{lesson[:2]} s" for lesson in lessons), "MiB", "CPU s"]
    lines = ["learner   " + "".join(f"{head:>9}" for head in heads)]
    rows = []
    for learner in learners:
        usage = usages[learner.name]
        times = [learner.lessons.get(lesson, float("nan")) for lesson in lessons]
        rows.append([learner.start, *times, usage.memory / 2**20, usage.cpu])
        lines.append(f"{learner.name:10}" + "".join(f"{value:9.1f}" for value in rows[-1]))
    middle = [statistics.median(column) for column in zip(*rows, strict=True)]
    return [*lines, f"{'median':10}" + "".join(f"{value:9.1f}" for value in middle)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Hold the class; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--learners", type=int, default=10)
    parser.add_argument("--lessons", nargs="+", default=["01", "03", "05"])
    parser.add_argument("--patience", type=float, default=300.0, help="seconds for one step")
    asked = parser.parse_args(arguments)
    if asked.learners < 1:
        parser.error(f"--learners {asked.learners}: at least one")
    lessons = [path.name for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))]
    chosen = [name for name in lessons if name[:2] in asked.lessons]
    if len(chosen) != len(set(asked.lessons)):
        parser.error(f"--lessons {asked.lessons}: there are {[name[:2] for name in lessons]}")
    folder = Path(tempfile.mkdtemp(prefix="pinlab-hub-"))
    hub = Hub(folder)
    try:
        print(f"hub ready after {hub.wait(60):.1f} s; {os.cpu_count()} cores")
        names = [f"learner{number:02}" for number in range(1, asked.learners + 1)]
        failures = asyncio.run(_class_at(hub, names, chosen, asked.patience))
    finally:
        hub.stop()
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps({"learners": asked.learners, "lessons": chosen, "failures": len(failures)}))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
