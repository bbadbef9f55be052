"""JupyterHub for one class on one machine: a shared password, a folder and a server per learner.

All servers run as the user who starts the hub, so learners can reach each other's files: for a
class on a machine of its own, not for the open Internet. See README.md.

    export PINLAB_HUB_PASSWORD=…        # at least eight characters; everybody uses it
    export PINLAB_HUB_HOME=/srv/class   # where the learners' folders are made
    jupyterhub -f workshop/hub/jupyterhub_config.py
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
HOME = Path(os.environ["PINLAB_HUB_HOME"]).resolve()
PORT = int(os.environ.get("PINLAB_HUB_PORT", "8000"))
c: Any = get_config()  # type: ignore[name-defined]  # noqa: F821


def give_lessons(spawner: Any) -> None:
    """Copy the lessons into the learner's folder, once: what a learner wrote stays."""
    home = HOME / spawner.user.name
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "notebooks").exists():
        shutil.copytree(ROOT / "notebooks", home / "notebooks")


c.JupyterHub.bind_url = f"http://{os.environ.get('PINLAB_HUB_HOST', '127.0.0.1')}:{PORT}"
c.JupyterHub.hub_port = PORT + 1
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{PORT + 2}"
c.JupyterHub.cookie_secret_file = str(HOME / "cookie_secret")
c.JupyterHub.db_url = f"sqlite:///{HOME / 'hub.sqlite'}"
c.ConfigurableHTTPProxy.pid_file = str(HOME / "proxy.pid")
c.JupyterHub.cleanup_servers = True

c.JupyterHub.authenticator_class = "shared-password"
c.SharedPasswordAuthenticator.user_password = os.environ["PINLAB_HUB_PASSWORD"]
c.Authenticator.allow_all = True

c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = str(HOME / "{username}")
c.Spawner.cmd = [str(Path(sys.executable).with_name("jupyterhub-singleuser"))]
c.Spawner.args = ["--allow-root"] if os.geteuid() == 0 else []
c.Spawner.default_url = "/lab/tree/notebooks/00_start_here.ipynb"
c.Spawner.environment = {"OMP_NUM_THREADS": "1"}
c.Spawner.pre_spawn_hook = give_lessons
c.Spawner.start_timeout = 120
c.Spawner.http_timeout = 120
c.JupyterHub.concurrent_spawn_limit = int(os.environ.get("PINLAB_HUB_STARTS", "10"))

# For drive_class.py; nobody has the token unless it is set.
if os.environ.get("PINLAB_HUB_TOKEN"):
    c.JupyterHub.services = [{"name": "driver", "api_token": os.environ["PINLAB_HUB_TOKEN"]}]
    c.JupyterHub.load_roles = [
        {
            "name": "driver",
            "services": ["driver"],
            "scopes": ["admin:users", "admin:servers", "access:servers"],
        }
    ]
