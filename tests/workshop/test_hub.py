"""The hub's files: settings that can be read, keys that the chart knows, a driver that refuses."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

HUB = Path(__file__).resolve().parents[2] / "workshop" / "hub"

# Of the chart's own schema (zero-to-jupyterhub-k8s, jupyterhub/values.schema.yaml), what we use.
CHART: dict[str, Any] = {
    "singleuser": {
        "image": {"name": str, "tag": str},
        "defaultUrl": str,
        "memory": {"guarantee": (str, int), "limit": (str, int)},
        "cpu": {"guarantee": (float, int), "limit": (float, int)},
        "extraEnv": dict,
        "storage": {"type": ("dynamic", "static", "none"), "capacity": str, "homeMountPath": str},
        "allowPrivilegeEscalation": bool,
        "networkPolicy": {"enabled": bool},
    },
    "hub": {"config": dict, "concurrentSpawnLimit": int},
    "proxy": {"service": {"type": ("ClusterIP", "NodePort", "LoadBalancer")}},
    "scheduling": {
        "userScheduler": {"enabled": bool},
        "userPlaceholder": {"enabled": bool, "replicas": int},
    },
    "prePuller": {"hook": {"enabled": bool}},
    "cull": {"enabled": bool, "timeout": int, "every": int},
}


def misfits(values: Any, schema: Any, where: str = "") -> list[str]:
    """Keys that the schema does not have, and values of another kind."""
    if isinstance(schema, dict):
        found = [f"{where}.{key}" for key in values if key not in schema]
        known = (key for key in values if key in schema)
        return found + [m for k in known for m in misfits(values[k], schema[k], f"{where}.{k}")]
    if isinstance(schema, tuple) and isinstance(schema[0], str):
        return [] if values in schema else [f"{where}={values}"]
    return [] if isinstance(values, schema) else [f"{where}={values!r}"]


def values() -> Any:
    return yaml.safe_load((HUB / "values.yaml").read_text())


def test_the_values_use_keys_that_the_chart_knows() -> None:
    assert misfits(values(), CHART) == []


def test_a_key_that_the_chart_does_not_know_is_found() -> None:
    wrong = {"singleuser": {"defaultURL": "/lab"}, "proxy": {"service": {"type": "Public"}}}
    assert misfits(wrong, CHART) == [".singleuser.defaultURL", ".proxy.service.type=Public"]


def test_environment_values_are_strings_as_kubernetes_wants_them() -> None:
    assert all(isinstance(v, str) for v in values()["singleuser"]["extraEnv"].values())


def test_both_hubs_open_the_first_lesson() -> None:
    lesson = values()["singleuser"]["defaultUrl"].removeprefix("/lab/tree/")
    assert (HUB.parents[1] / lesson).exists()
    config = (HUB / "jupyterhub_config.py").read_text()
    assert f'"/lab/tree/{lesson}"' in config
    ast.parse(config)


def test_the_settings_hold_no_password() -> None:
    assert 'os.environ["PINLAB_HUB_PASSWORD"]' in (HUB / "jupyterhub_config.py").read_text()
    assert values()["hub"]["config"]["SharedPasswordAuthenticator"]["user_password"] == "CHOOSE-ONE"


def test_the_driver_names_what_it_cannot_do() -> None:
    for options, words in (
        (["--learners", "0"], "at least one"),
        (["--lessons", "01", "77"], "77"),
    ):
        done = subprocess.run(
            [sys.executable, str(HUB / "drive_class.py"), *options],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 2
        assert words in done.stderr
