"""Run a notebook's cells in a fresh kernel of the interpreter that runs this.

One way to run cells serves `make notebooks`, `make run` and the tests, so what is committed and
what is compared with it come about in the same way. nbclient plays the browser's part: output
widgets, ``clear_output`` and display updates end where a reader would see them.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

import ipykernel.kernelspec
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbclient.output_widget import OutputWidget
from nbformat import NotebookNode

from tools import forked_kernel, nursery

CELL_TIMEOUT = 60


class ThisEnvironment(KernelSpecManager):
    """Every kernel name means: ipykernel, in the interpreter that is running now.

    A kernel of the same name in the user's home folder would otherwise win.
    """

    def __init__(self, forked: bool = False) -> None:
        super().__init__()
        self._metadata = forked_kernel.metadata() if forked else {}

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        described = ipykernel.kernelspec.get_kernel_dict()
        described["metadata"] = {**described.get("metadata", {}), **self._metadata}
        return KernelSpec(resource_dir=ipykernel.kernelspec.RESOURCES, **described)


class QuietOutput(OutputWidget):
    """What an output widget captures leaves the cell's output, and is not sent to the kernel.

    Sending it back, as a browser does, goes past the event loop that waits for the cell's reply on
    the same socket: now and then the loop does not see the reply and waits its full time.
    """

    def sync_state(self) -> None:
        pass


class CellFailed(Exception):
    """A cell did something that no lesson may do."""


class LessonKernel:
    """A kernel for one notebook; cells run in it one after the other.

    Args:
        forked: start it as a child of a process that has imported torch, where that is possible.

    >>> with LessonKernel(nb, folder) as kernel:  # doctest: +SKIP
    ...     cell = kernel.run(0)
    """

    def __init__(
        self, nb: NotebookNode, folder: Path, timeout: float = CELL_TIMEOUT, *, forked: bool = False
    ) -> None:
        self.nb = nb
        self.folder = folder
        self.gone: str | None = None
        self._ipython_dir = tempfile.mkdtemp(prefix="lesson-")
        self._log = Path(self._ipython_dir) / "kernel.log"
        self._replies: list[dict[str, Any]] = []
        specs = ThisEnvironment(forked=forked and nursery.available())
        manager = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=specs)
        self._client = NotebookClient(
            nb,
            km=manager,
            timeout=timeout,
            record_timing=False,
            coalesce_streams=False,
            iopub_timeout=30,  # a loaded machine is late; output that is missing is an error
            raise_on_iopub_timeout=True,
            on_cell_executed=self._remember_reply,
            # A farewell takes a second or more, and nothing is lost: the outputs are here.
            shutdown_kernel="immediate",
        )
        outputs = {"OutputModel": QuietOutput}
        self._client.widget_registry = {"@jupyter-widgets/output": outputs}

    def __enter__(self) -> LessonKernel:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.stop()

    def _remember_reply(self, execute_reply: dict[str, Any], **_: Any) -> None:
        self._replies.append(execute_reply)

    def _environment(self) -> dict[str, str]:
        env = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
        env.setdefault("OMP_NUM_THREADS", "1")
        env.setdefault("PINLAB_PROGRESS", "0")  # on a slow machine a bar would be an output
        env["IPYTHONDIR"] = self._ipython_dir  # nobody's start-up files
        env["TMPDIR"] = self._ipython_dir  # what a lesson makes there goes with it
        return env

    def start(self) -> None:
        # A kernel prints its own remarks there; they matter only when it dies.
        with open(self._log, "wb") as log:
            self._client.start_new_kernel(cwd=str(self.folder), env=self._environment(), stderr=log)
        self._client.start_new_kernel_client()

    @property
    def pid(self) -> int:
        """The kernel's process."""
        return int(self._client.km.provisioner.pid)

    def run(self, position: int) -> NotebookNode:
        """Run the cell at ``position`` of the notebook in place and return it.

        Raises ``CellExecutionError`` for an exception that the cell's tags do not announce, and
        ``CellFailed`` for a cell that ran out of time or ended the kernel.
        """
        if self.gone:
            raise CellFailed(f"the kernel is gone since {self.gone}")
        cell = self.nb.cells[position]
        self._replies.clear()
        try:
            self._client.execute_cell(cell, position)
        except CellTimeoutError as error:
            self._give_up(f"a cell ran out of time ({self._client.timeout:g} s)")
            raise CellFailed(f"no end after {self._client.timeout:g} s") from error
        except DeadKernelError as error:
            said = self._log.read_text(errors="replace").splitlines()[-5:]
            self._give_up("a cell ended it")
            raise CellFailed("\n".join(["the cell ended the kernel", *said])) from error
        for reply in self._replies:
            payload = reply["content"].get("payload") or []
            if any(entry.get("source") == "ask_exit" for entry in payload):
                self._give_up("a cell called exit()")
                raise CellFailed("the cell called exit(): the cells below it would never run")
        return cell

    def _give_up(self, reason: str) -> None:
        self.gone = reason
        self._close()

    def _close(self) -> None:
        if self._client.km is not None:
            self._client._cleanup_kernel()
        shutil.rmtree(self._ipython_dir, ignore_errors=True)

    def stop(self) -> None:
        if self.gone is None:
            self._close()
