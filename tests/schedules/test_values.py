"""Outcomes are compared by type, dtype, shape and bytes."""

from __future__ import annotations

import enum
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

from pinlab import sim
from pinlab.schedules import Blocked, Outcome, Raised
from pinlab.schedules.values import Outcomes, detached, device_bytes, host_bytes

Pair = namedtuple("Pair", "left right")


@dataclass
class Row:
    name: str
    values: Any


class Color(enum.Enum):
    RED = 1
    BLUE = 2


NAN = float("nan")
SAME = [
    (NAN, NAN),
    ([1, NAN], [1, NAN]),
    (complex(NAN, 1), complex(NAN, 1)),
    (torch.tensor([NAN, 1.0]), torch.tensor([NAN, 1.0])),
    (torch.tensor([complex(NAN, 1)]), torch.tensor([complex(NAN, 1)])),
    (torch.tensor([1.0, NAN]).bfloat16(), torch.tensor([1.0, NAN]).bfloat16()),
    (np.array([NAN, 1.0]), np.array([NAN, 1.0])),
    (np.array([complex(NAN, 1)]), np.array([complex(NAN, 1)])),
    (np.float32(NAN), np.float32(NAN)),
    (torch.arange(6).reshape(2, 3).t(), torch.tensor([[0, 3], [1, 4], [2, 5]])),  # strides differ
    ({"a": 1, "b": [2]}, {"b": [2], "a": 1}),
    ({1, 2}, {2, 1}),
    (Pair(1, [2]), Pair(1, [2])),
    (Row("x", [1]), Row("x", [1])),
    (Color.RED, Color.RED),
    (b"ab", b"ab"),
    (torch.float32, torch.float32),
    (torch.empty(0, 3), torch.empty(0, 3)),
    (Raised(ValueError, "x"), Raised(ValueError("x"))),
    (Blocked("a.py:3"), Blocked("a.py:3")),
    (np.array([None, [1]], dtype=object), np.array([None, [1]], dtype=object)),
    (range(3), range(3)),
]
DIFFERENT = [
    (1, 1.0),
    (1, True),
    (0.0, -0.0),
    ("a", b"a"),
    ([1], (1,)),
    (torch.tensor([1]), [1]),
    (torch.tensor([1]), np.array([1])),
    (torch.tensor([1]), torch.tensor([1], dtype=torch.int32)),
    (torch.tensor([1, 2]), torch.tensor([[1, 2]])),
    (torch.tensor(1), torch.tensor([1])),
    (torch.tensor([1.0]), torch.tensor([1.0 + 1e-7])),
    (torch.tensor([NAN]), torch.tensor([1.0])),
    (np.int64(1), 1),
    (np.float32(1), np.float64(1)),
    (np.array([1]), np.array([1], dtype=np.int32)),
    (torch.empty(0, 3), torch.empty(3, 0)),
    ({"a": 1}, {"a": 2}),
    ({"a": 1}, OrderedDict(a=1)),
    (Pair(1, 2), (1, 2)),
    (Row("x", 1), Row("y", 1)),
    (Color.RED, Color.BLUE),
    (Color.RED, 1),
    (None, False),
    (Raised(ValueError, "x"), Raised(ValueError, "y")),
    (Raised(ValueError, "x"), Raised(KeyError, "x")),
    (Raised(ValueError, "x"), "x"),
    (Blocked("a.py:3"), Blocked("a.py:4")),
    (torch.float32, "torch.float32"),
]


@pytest.mark.parametrize(("one", "other"), SAME, ids=repr)
def test_equal_outcomes(one: Any, other: Any) -> None:
    assert Outcome(one) == Outcome(other)
    assert hash(Outcome(one)) == hash(Outcome(other))
    assert Outcome(one) == other


@pytest.mark.parametrize(("one", "other"), DIFFERENT, ids=repr)
def test_different_outcomes(one: Any, other: Any) -> None:
    assert Outcome(one) != Outcome(other)
    assert Outcome(one) != other


def test_a_device_tensor_is_waited_for_and_differs_from_a_host_tensor() -> None:
    with sim.mode("lazy"):
        there = torch.tensor([1, 2], device="sim") * 1
        assert Outcome(there) == Outcome(torch.tensor([1, 2], device="sim"))
    assert Outcome(there) != Outcome(torch.tensor([1, 2]))


@pytest.mark.parametrize("value", [object(), lambda: 1, [object()], iter([])])
def test_values_of_unknown_content_are_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="cannot compare outcomes of type"):
        Outcome(value)


def test_sparse_tensors_are_refused() -> None:
    with pytest.raises(TypeError, match="return dense ones"):
        Outcome(torch.eye(2).to_sparse())


def test_outcomes_are_looked_up_by_plain_value() -> None:
    found = Outcomes({Outcome([5, 40]): ["h"], Outcome(torch.tensor([1])): ["h2.d1"]})
    assert found[[5, 40]] == ["h"]
    assert found[torch.tensor([1])] == ["h2.d1"]
    assert [5, 40] in found
    assert (5, 40) not in found
    assert found.get([5], "none") == "none"
    assert list(found.values_seen()) == [[5, 40], torch.tensor([1])]


def test_a_value_is_copied_with_its_containers_and_kinds() -> None:
    row = torch.zeros(2)
    face = row.numpy()
    named = OrderedDict(row=row)
    value = [row, face, (row, {"face": face}), Pair(row, 1), Row("x", row), named, bytearray(b"a")]
    copied = detached(value, host_bytes)
    row.fill_(7)
    assert copied[0].tolist() == copied[1].tolist() == [0, 0]
    assert copied[2][0].tolist() == copied[2][1]["face"].tolist() == [0, 0]
    assert copied[3].left.tolist() == copied[4].values.tolist() == [0, 0]
    assert type(copied[5]) is OrderedDict
    assert copied[5]["row"].tolist() == [0, 0]
    assert value[4].values is row  # the original is as it was


def test_device_tensors_are_copied_once_the_device_is_done() -> None:
    there = torch.tensor([1, 2], device="sim")
    torch.get_device_module("sim").synchronize()
    own = detached([there, 3], device_bytes)
    there.add_(5)
    torch.get_device_module("sim").synchronize()
    assert own[0].tolist() == [1, 2]
    assert own[0].device == there.device
