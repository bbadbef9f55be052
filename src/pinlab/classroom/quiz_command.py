"""``python -m pinlab quiz pre``: the quiz in a terminal; answers stay in a file of yours."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from pinlab.classroom.quiz import LETTERS, WIDTH, Quiz, compare
from pinlab.classroom.quiz_sheet import WHICH, load, save, sheet_path
from pinlab.classroom.quiz_summary import sheets_of, summary

USAGE = 2


def main(arguments: Sequence[str]) -> int:
    """0 if all went well, 2 if it could not be done."""
    try:
        asked = _parser().parse_args(arguments)
        if bool(asked.summary) == bool(asked.what):
            raise ValueError("say one of: pre, post, report, --summary FILE …")
        if asked.summary:
            print(summary(sheets_of(asked.summary)))
        elif asked.what == "report":
            print(_report(asked.folder))
        else:
            _take(asked)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else USAGE
    except (OSError, ValueError) as error:
        print(f"pinlab quiz: {error}", file=sys.stderr)
        return USAGE
    return 0


def _take(asked: argparse.Namespace) -> None:
    quiz = Quiz(asked.what)
    path = sheet_path(quiz.which, asked.folder)
    if not path.parent.is_dir():  # before the questions, not after
        raise FileNotFoundError(f"there is no folder {asked.folder!r}")
    if path.exists() and not asked.again:
        raise FileExistsError(f"{path} is there already; --again replaces it")
    if asked.letters is None:
        ask(quiz)
    else:
        quiz.answer_all(asked.letters)
    print(f"written to {save(quiz, asked.folder, again=asked.again)}; nothing was sent anywhere")
    if quiz.which == "post":
        print(_report(asked.folder))
    else:
        print(f"{len(quiz.answers)} of {len(quiz.items)} answered. What was right comes with the")
        print("post-quiz, or with `python -m pinlab quiz report`; the second quiz asks the same.")


def ask(quiz: Quiz, read: Callable[[str], str] = input) -> None:
    """Ask each question until it gets a letter, nothing (left open), or q (enough)."""
    text = f"{quiz}\n".split("\n\n")
    print("A letter, Enter to leave it open, q to stop.")
    for number, question in enumerate(text, 1):
        print(f"\n{question.rstrip()}")
        letters = LETTERS[: len(quiz.options(number))]
        while True:
            try:
                given = read(f"{number} of {len(text)} [{'/'.join(letters)}] ").strip().lower()
            except EOFError:
                given = "q"
            if given == "q":
                return
            if not given:
                break
            try:
                quiz.answer(number, given)
                break
            except ValueError as error:
                print(error)


def _report(folder: str) -> str:
    """What there is in a folder: by belief, and before against after if both are there."""
    there = {which: sheet_path(which, folder) for which in WHICH}
    found = {which: load(path) for which, path in there.items() if path.exists()}
    if not found:
        raise FileNotFoundError(f"no answers in {folder!r}; `pinlab quiz pre` writes some")
    last = found.get("post") or found["pre"]
    if len(found) < len(WHICH):
        return last.report()
    rule = "-" * WIDTH
    return f"{compare(found['pre'], found['post'])}\n{rule}\n{last.report()}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pinlab quiz",
        usage="python -m pinlab quiz (pre | post | report) [--folder DIR] [--letters LETTERS] "
        "[--again]\n       python -m pinlab quiz --summary FILE …",
        description="Twelve questions, before and after the series. Answers go into a file in a "
        "folder that you name, and nowhere else. 'report' scores by belief what lies there.",
        epilog="--summary takes files or folders of a class and counts by belief and by question.",
    )
    parser.add_argument("what", nargs="?", choices=(*WHICH, "report"))
    parser.add_argument("--folder", default=".", help="where the answers are kept (here)")
    parser.add_argument("--letters", help="all answers at once, a dot for one left open")
    parser.add_argument("--again", action="store_true", help="replace answers that are there")
    parser.add_argument("--summary", nargs="+", metavar="FILE", help="count over a class")
    return parser
