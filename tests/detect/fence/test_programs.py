"""The fence on the serving batch, in all its variants, and on the casebook."""

from __future__ import annotations

import pytest

from pinlab import sim
from pinlab.casebook import Case, cases
from pinlab.detect.fence import fence
from pinlab.serving.scenarios import condense_and_add
from pinlab.serving.variants import VARIANTS, AliasingBatch, Variant

sim.install()

# The host touches pinned memory that a queued operation uses; in E it is somebody else's by then.
UNDER_THE_FENCE = [case for case in cases(control=False) if case.kind.letter in "BCDEW"]


def test_condense_of_the_aliasing_batch_is_caught() -> None:
    report = fence(condense_and_add(AliasingBatch))
    assert report.complete
    assert not report.misses
    condense, add = report.hits
    assert condense.accessed_at.function == "condense"
    assert "self.num_prompt_tokens[empty_index] =" in condense.accessed_at.source
    assert (condense.before, condense.after) == (b"\4\0\0\0", b"\10\0\0\0")  # 4 tokens became 8
    assert add.accessed_at.function == "add_request"
    assert "prompt_lens.to(device, non_blocking=True)" in condense.queued_at.source


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=lambda variant: variant.name)
def test_a_variant_is_caught_exactly_if_its_device_reader_is_wrong(variant: Variant) -> None:
    report = fence(condense_and_add(variant.batch))
    assert report.complete, report
    assert bool(report.hits) == (not variant.device_reader), report


@pytest.mark.parametrize("case", UNDER_THE_FENCE, ids=lambda case: case.id)
def test_cases_are_caught_at_their_culprit_and_the_fixed_form_is_clean(case: Case) -> None:
    report = fence(lambda: case.run("broken"))
    assert report.complete, report
    lines = [access.accessed_at.source for access in report.hits]
    assert lines, report
    if case.kind.letter != "E":
        assert any(line.startswith(case.culprit) for line in lines), report
    assert not fence(lambda: case.run("fixed")).hits


def test_controls_are_clean() -> None:
    def all_of_them() -> None:
        for case in cases(control=True):
            print(case.id)
            case.run("broken")

    report = fence(all_of_them)
    assert report.complete, report
    assert not report.hits, report
    assert len(report.out.split()) >= 10
