"""Build the static site from the lessons, the pages under docs/ and the module's docstrings.

    python tools/build_site.py [--out build/site]

Nothing is fetched, and nothing is run but cases that came after their page. A warning of Sphinx is
an error, and so is a picture without a text, a heading out of order, a link to a page that is not
there, or a file from another host.
"""

from __future__ import annotations

import argparse
import importlib
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from nbformat import NotebookNode, write
from sphinx.application import Sphinx

from tools import casebook_table
from tools.lesson_files import ROOT, is_solution, lesson_paths, read
from tools.site_check import problems_of

SOURCE = ROOT / "build" / "site-source"
OUT = ROOT / "build" / "site"
OTHER_ROOMS = {".md", ".png", ".svg", ".css"}  # what is copied of docs/ and workshop/
OTHER_ROOM_LINK = r"\]\((?:\.\./)+docs/"  # docs/ is the site's root
ROOMS = {
    "pinlab.device": "choosing a device, holding a stream",
    "pinlab.sim": "the simulated accelerator",
    "pinlab.schedules": "every schedule",
    "pinlab.serving": "the scaled-down engine",
    "pinlab.detect": "finding the hazard",
    "pinlab.casebook": "public bugs",
    "pinlab.figures": "figures",
    "pinlab.classroom": "predictions, checks, the game",
}


def assemble(source: Path) -> None:
    """Lay out under `source` what Sphinx reads."""
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    site = ROOT / "docs" / "site"
    _copy_pages(ROOT / "docs", source)
    (source / casebook_table.PAGE.name).write_text(casebook_table.current(), encoding="utf-8")
    if (ROOT / "workshop").is_dir():
        _copy_pages(ROOT / "workshop", source / "workshop")
        for page in (source / "workshop").rglob("*.md"):
            text = page.read_text(encoding="utf-8")
            page.write_text(re.sub(OTHER_ROOM_LINK, "](/", text), encoding="utf-8")
    shutil.copy(site / "conf.py", source)
    (source / "_static").mkdir()
    shutil.copy(site / "pinlab.css", source / "_static")
    index = (site / "index.md").read_text(encoding="utf-8")
    (source / "index.md").write_text(index.replace("{race_alt}", _race_alt()), encoding="utf-8")
    for path in lesson_paths():
        folder = source / "lessons" / ("solutions" if is_solution(path) else "")
        folder.mkdir(parents=True, exist_ok=True)
        write(_for_the_site(read(path)), folder / path.name)
    (source / "api").mkdir()
    for name, about in ROOMS.items():
        (source / "api" / f"{name}.md").write_text(_room_page(name, about), encoding="utf-8")


def _copy_pages(folder: Path, target: Path) -> None:
    for path in folder.rglob("*"):
        place = path.relative_to(folder)
        if path.suffix in OTHER_ROOMS and place.parts[0] != "site":
            (target / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target / place)


def _race_alt() -> str:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"!\[([^\]]*)\]\(docs/img/race\.png\)", readme)
    assert found is not None, "README.md has no picture docs/img/race.png"
    return " ".join(found[1].split())


def _for_the_site(notebook: NotebookNode) -> NotebookNode:
    """The notebook, with each picture's text where Sphinx looks for it, and links that lead on."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = re.sub(OTHER_ROOM_LINK, "](/", cell.source)
            continue
        for output in cell.outputs:
            alt = output.get("metadata", {}).get("image/png", {}).get("alt")
            if alt:
                cell.metadata["mystnb"] = {"image": {"alt": alt}}
    return notebook


def _room_page(name: str, about: str) -> str:
    names = list(importlib.import_module(name).__all__)
    parts = [f"# {name}: {about}", "", f"```{{eval-rst}}\n.. automodule:: {name}\n```", ""]
    for member in sorted(names, key=str.lower):
        parts += [_member(name, member), ""]
    return "\n".join(parts)


def _member(room: str, name: str) -> str:
    value = getattr(importlib.import_module(room), name)
    if isinstance(value, type):
        error = issubclass(value, BaseException)
        kind, options = ("autoexception", "") if error else ("autoclass", "\n   :members:")
    elif callable(value):
        kind, options = "autofunction", ""
    else:
        kind, options = "py:data", f"\n\n   {_content(value)}"
    return f"```{{eval-rst}}\n.. {kind}:: {room}.{name}{options}\n```"


def _content(value: object) -> str:
    """What a table of the module holds, in a line; its own docstring would be that of `dict`."""
    if isinstance(value, dict):
        return f"A mapping of {len(value)}: " + ", ".join(f"``{key}``" for key in value) + "."
    if isinstance(value, (tuple, list)):
        return f"A sequence of {len(value)}."
    return f"Always ``{value!r}``."


def build(source: Path, out: Path) -> int:
    """Run Sphinx; 0 if it had nothing to complain of."""
    shutil.rmtree(out, ignore_errors=True)
    app = Sphinx(
        srcdir=source,
        confdir=source,
        outdir=out,
        doctreedir=source / "_build",
        buildername="html",
        warningiserror=True,
        status=None,
    )
    app.build()
    return int(app.statuscode)


def main(arguments: Sequence[str] | None = None) -> int:
    """Build and check; 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args(arguments)
    assemble(SOURCE)
    status = build(SOURCE, asked.out)
    found = problems_of(asked.out)
    print(*found, sep="\n", end="\n" if found else "")
    pages = len(list(asked.out.rglob("*.html")))
    print(f"{pages} pages under {asked.out}: {len(found)} problems")
    return 1 if status or found else 0


if __name__ == "__main__":
    sys.exit(main())
