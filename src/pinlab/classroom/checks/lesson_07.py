"""Checks of lesson 07: a learner's tests are judged by what they are red on."""

from __future__ import annotations

from typing import Any

from pinlab import sim
from pinlab.classroom.checks.attempt import LearnerError, is_stub
from pinlab.classroom.checks.bisection import grade_bisect_test
from pinlab.classroom.checks.check import Check
from pinlab.classroom.checks.clean_runs import grade_clean_runs
from pinlab.classroom.checks.red import is_red, raises
from pinlab.classroom.checks.regression import grade_regression_test
from pinlab.classroom.checks.verdict import NEEDS_SIM, Verdict, not_answered, right, wrong
from pinlab.classroom.planted import PLANTED, ReusedSnapshotBatch
from pinlab.device import pick_device
from pinlab.serving import InputBatch, PoolingMetadata
from pinlab.serving.variants import EventWaitBatch

WHAT = {
    "first": ".correct needs explore(…, expect=WANTED).",
    "second": "After the block, `found` must be empty: assert not found.",
}
LATE = ["wrong event"]  # the bug that one step alone cannot show

# --- 07.2 two tests without luck ----------------------------------------------------------------


def _grade_pair(pair: Any) -> Verdict:
    if not isinstance(pair, tuple) or len(pair) != 2:
        return wrong("The check takes both tests: check_07_2((every_schedule_right, no_hazards)).")
    every, none = pair
    if is_stub(every) and is_stub(none):
        return not_answered("check_07_2.hint() gives a first hint.")
    if pick_device().type != "sim":
        return not_answered(NEEDS_SIM)
    for name, test, judge in (("first", every, _judge_every), ("second", none, _judge_hazards)):
        if is_stub(test):
            return not_answered(f"The {name} of the two does nothing yet.")
        for batch_cls in (InputBatch, ReusedSnapshotBatch, EventWaitBatch):
            if is_red(test, batch_cls):
                return wrong(
                    f"The {name} test is red on {batch_cls.__name__}, which is right. "
                    f"What exactly does it assert? ({WHAT[name]})"
                )
        misfit: Verdict | None = judge(test)
        if misfit is not None:
            return misfit
    return right(
        "The first is red on all five bugs, the second on the three races, and neither on three "
        "right batches. Off by one is no hazard: nothing is written too early, it is only wrong."
    )


def _judge_every(test: Any) -> Verdict | None:
    with sim.mode("eager"):  # the device's luck of the day: explore does not ask for it
        green = [bug.name for bug in PLANTED.values() if not raises(test, bug.batch)]
    if len(green) == len(PLANTED):
        return wrong("The first test is green on every bug: does it assert anything of the report?")
    if green and not any(PLANTED[name].is_race for name in green):
        return wrong(
            f"The first test is green on {_listed(green)}: wrong in every schedule, and each time "
            "in the same way. Deterministic is not yet right.",
            see="report.deterministic and report.correct of that batch, with expect=WANTED",
        )
    if green == LATE:
        return _one_step("first")
    if green:
        return wrong(
            f"The first test is green on {_listed(green)}. Some runs happened to be clean: let "
            "explore choose the schedules.",
            "M8",
        )
    return None


class UnusedUploadBatch(InputBatch):
    """A hazard without a wrong result: the rows are uploaded once more, and nobody uses that."""

    def get_pooling_metadata(self) -> PoolingMetadata:
        rows = self.num_prompt_tokens_cpu_tensor
        self._unused = rows.to(self.device, non_blocking=True)
        return super().get_pooling_metadata()


def _judge_hazards(test: Any) -> Verdict | None:
    races = [bug for bug in PLANTED.values() if bug.is_race]
    green = [bug.name for bug in races if not raises(test, bug.batch)]
    if green == LATE:
        return _one_step("second")
    if green:
        return wrong(
            f"The second test is green on {_listed(green)}. The work must be done inside the block "
            "`with hazards() as found:`, and after the block `found` must be empty.",
            see="print(found) after the block",
        )
    for bug in PLANTED.values():
        if not bug.is_race and _asserts(test, bug.batch):
            return wrong(
                f"The second test is red on “{bug.name}”, which is wrong and no hazard: nothing is "
                "written too early there. It judges results, as the first does; let hazards() "
                "judge, and compare nothing."
            )
    if not raises(test, UnusedUploadBatch):
        return wrong(
            "The second test is green on a batch whose rows are rewritten under an upload, only "
            "because nobody uses what arrives. A hazard is a write, whatever comes of it: "
            "`found` must be empty after the block."
        )
    return None


def _asserts(test: Any, batch_cls: type[InputBatch]) -> bool:
    """Red by an assertion; some wrong batches refuse to work, which is no judgement of the test."""
    try:
        return is_red(test, batch_cls)
    except LearnerError:
        return False


def _one_step(name: str) -> Verdict:
    return wrong(
        f"The {name} test is green on {_listed(LATE)}, which shows when metadata is made a second "
        "time, while the first is on its way. Is two_steps your program?"
    )


def _listed(names: list[str]) -> str:
    return ", ".join(f"“{name}”" for name in names)


CHECKS = (
    Check(
        "07.1",
        grade_regression_test,
        hints=(
            "Four steps: make a batch, take its metadata, change the batch, compare.",
            "Remember the numbers, not the tensor: .tolist() or .clone() before the change.",
            'batch.remove_request("a") and batch.add_request(…) write a row that the metadata '
            "shows; then assert metadata.prompt_lens.tolist() == before",
        ),
    ),
    Check(
        "07.2",
        _grade_pair,
        hints=(
            "explore(program, expect=…) returns a report; hazards() collects a list.",
            "The program is two_steps(batch_cls, device), without calling it for explore.",
            "assert explore(two_steps(batch_cls, device), expect=WANTED).correct; and "
            "two_steps(batch_cls, device)() inside `with hazards() as found:`, then "
            "assert not found",
        ),
    ),
    Check(
        "07.3",
        grade_clean_runs,
        hints=(
            "n clean runs in a row have the chance (1 - rate) ** n.",
            "That is 5 % for n = log(0.05) / log(1 - rate); runs are whole.",
            "math.ceil(math.log(0.05) / math.log(1 - rate)), with import math above it",
        ),
    ),
    Check(
        "07.4",
        grade_bisect_test,
        hints=(
            "`step(commit)` returns the lengths that arrive; [2, 4] is right.",
            'Either step under sim.mode("lazy"), or explore all schedules of it.',
            "assert explore(lambda: step(commit), expect=[2, 4]).correct",
        ),
    ),
)
