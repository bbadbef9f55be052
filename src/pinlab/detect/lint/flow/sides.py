"""What the arguments of a copy say: which dtype, which side."""

from __future__ import annotations

from pinlab.detect.lint.flow.atoms import (
    Const,
    Lib,
    Values,
    arrays,
    constant,
)
from pinlab.detect.lint.flow.buffer import Where

DTYPES = {
    "float": "float32", "double": "float64", "half": "float16", "long": "int64",
    "int": "int32", "short": "int16", "bool_": "bool", "bool": "bool", "intp": "int64",
}  # fmt: skip
DTYPE_WORD = (
    "float",
    "int",
    "uint",
    "bfloat",
    "bool",
    "complex",
    "half",
    "double",
    "long",
    "short",
)


def dtype_of(values: Values | None) -> str | None:
    """The dtype that an argument names: ``int32`` of ``torch.int32`` and of ``np.int32``."""
    for atom in values or ():
        if isinstance(atom, Lib):
            word = atom.name.rpartition(".")[2]
            if word.startswith(DTYPE_WORD):
                return DTYPES.get(word, word)
        if isinstance(atom, Const) and isinstance(atom.value, str) and atom.value[:1].islower():
            return atom.value if atom.value.startswith(DTYPE_WORD) else None
    return None


def device_side(values: Values) -> str:
    """``"cpu"``, ``"device"``, or ``""`` if the argument says nothing."""
    literal = constant(values)
    if literal is not None:
        if literal.value is None:
            return ""
        return "cpu" if literal.value == "cpu" else "device"
    found = arrays(values)
    if found:
        return "cpu" if all(a.buffer.where is Where.HOST for a in found) else "device"
    return "device"
