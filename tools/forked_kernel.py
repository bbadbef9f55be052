"""A Jupyter kernel that is forked from the nursery instead of started from nothing."""

from __future__ import annotations

import os
from importlib.metadata import EntryPoint
from typing import Any

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning import KernelProvisionerFactory
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

from tools.nursery import fork

NAME = "pinlab-forked"
LAUNCH = "from ipykernel import kernelapp; kernelapp.launch_new_instance()"


class ForkedKernel(LocalProvisioner):
    """Starts the kernel as a child of the nursery; all else is as for a local kernel."""

    async def launch_kernel(self, cmd: list[str], **options: Any) -> KernelConnectionInfo:
        arguments = cmd[cmd.index("ipykernel_launcher") + 1 :]
        log = getattr(options.get("stderr"), "name", os.devnull)
        folder = options.get("cwd") or os.getcwd()
        child = fork(LAUNCH, ["ipykernel_launcher", *arguments], folder, options["env"], log)
        self.process = child
        self.pid = self.pgid = child.pid  # it leads a group of its own
        self.cwd = folder
        return self.connection_info


def metadata() -> dict[str, Any]:
    """What a kernel's description says, so that jupyter_client starts it this way."""
    factory = KernelProvisionerFactory.instance()
    value = f"{ForkedKernel.__module__}:{ForkedKernel.__name__}"
    factory.provisioners[NAME] = EntryPoint(NAME, value, factory.GROUP_NAME)
    return {"kernel_provisioner": {"provisioner_name": NAME}}
