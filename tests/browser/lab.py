"""A JupyterLab of its own for a test: own folders, own port, a theme, no news."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

TOKEN = "scheduler-game"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox",  # Chromium refuses to sandbox for root, which containers and CI often are
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium() -> str | None:
    """The path of a Chromium that is installed, or None."""
    return next(filter(None, map(shutil.which, CHROMIUM)), None)


def notebook(folder: Path, *cells: str) -> Path:
    """A notebook with these cells."""
    path = folder / "game.ipynb"
    made = new_notebook(cells=[new_code_cell(cell) for cell in cells])
    made.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(made, path)
    return path


def set_theme(folder: Path, theme: str) -> None:
    """Choose the theme that JupyterLab comes up in."""
    chosen = {"themes": {"theme": theme}, "notification": {"fetchNews": "false"}}
    for name, content in chosen.items():
        path = folder / "settings" / "@jupyterlab" / "apputils-extension"
        path.mkdir(parents=True, exist_ok=True)
        (path / f"{name}.jupyterlab-settings").write_text(json.dumps(content))


@contextmanager
def jupyterlab(folder: Path) -> Iterator[str]:
    """A running server for a folder's notebooks; its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    own = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "IPYTHONDIR": "ipython",
    }
    env = {**os.environ, **{name: str(folder / path) for name, path in own.items()}}
    env |= {"OMP_NUM_THREADS": "1", "JUPYTER_PREFER_ENV_PATH": "1"}
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1"),
        *(f"--port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}"),
        f"--ServerApp.root_dir={folder}",
    ]
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(command, cwd=folder, env=env, stdout=log, stderr=log)
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_for(f"{address}/api?token={TOKEN}", server, folder / "server.log")
            yield address
        finally:
            _stop(server)


def _stop(server: subprocess.Popen[bytes]) -> None:
    """End the server; it ends its kernels. On a busy machine that takes a while."""
    server.terminate()
    try:
        server.wait(60)
    except subprocess.TimeoutExpired:
        server.kill()  # a kernel whose server is gone ends by itself
        server.wait()


def _wait_for(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.2)  # between two tries; the answer is what is waited for
    raise RuntimeError(f"JupyterLab did not come up:\n{log.read_text()[-2000:]}")
