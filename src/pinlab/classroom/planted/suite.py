"""Six tests that somebody could have written for the batch, from weak to strong.

Each takes a batch class and raises, as a pytest test does, if it does not like what it sees. The
first three run the engine's work and look at the result; whether they see a race depends on the
schedule of the day. The last three do not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable

from pinlab.detect.hazards import hazards
from pinlab.device import pick_device
from pinlab.schedules import explore
from pinlab.serving.input_batch import InputBatch
from pinlab.serving.request import CachedRequestState
from pinlab.serving.scenarios import three_requests, two_steps

WANTED = [10.0, 20.0, 40.0, 80.0, 20.0, 40.0]
"""The means of two steps: the first of a, b, c, the second of d, b, c."""

Test = Callable[[type[InputBatch]], None]


def run(batch_cls: type[InputBatch]) -> list[float]:
    """Pool two steps, the second prepared while the first is under way; six means."""
    return two_steps(batch_cls, pick_device())()


def runs_and_finishes(batch_cls: type[InputBatch]) -> None:
    """Nothing is looked at."""
    run(batch_cls)


def score_in_range(batch_cls: type[InputBatch]) -> None:
    """A mean lies between the smallest and the largest of what it is the mean of."""
    assert all(10 <= mean <= 80 for mean in run(batch_cls))


def five_runs_equal(batch_cls: type[InputBatch]) -> None:
    """The usual test for a flake."""
    assert len({tuple(run(batch_cls)) for _ in range(5)}) == 1


def metadata_stays(batch_cls: type[InputBatch]) -> None:
    """What the metadata says does not change when the batch does. No device takes part."""
    batch = three_requests(batch_cls, pick_device())
    metadata = batch.get_pooling_metadata()
    before = metadata.prompt_lens.tolist()
    batch.remove_request("a")
    batch.add_request(CachedRequestState("d", [80]))
    assert metadata.prompt_lens.tolist() == before


def every_schedule_right(batch_cls: type[InputBatch]) -> None:
    """The result is the expected one whenever the device works."""
    report = explore(two_steps(batch_cls, pick_device()), expect=WANTED)
    assert report.correct, report.certificate()


def no_hazards(batch_cls: type[InputBatch]) -> None:
    """No host write to bytes that queued work has yet to read; the result is not looked at."""
    with hazards() as found:
        run(batch_cls)
    assert not found, str(found)


SUITE: dict[str, Test] = {
    "runs and finishes": runs_and_finishes,
    "score in range": score_in_range,
    "5 runs equal": five_runs_equal,
    "metadata stays": metadata_stays,
    "every schedule right": every_schedule_right,
    "no hazards": no_hazards,
}
