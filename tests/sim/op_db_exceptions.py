"""Operators that do not give the CPU's result on the simulated device, and why. They all raise.

The tests fail when an operator that is not named here does not match, and when one that is matches.
"""

from __future__ import annotations

_SPARSE = "needs a sparse tensor; the device has dense ones only"

FORWARD = {
    "sparse.mm.reduce": _SPARSE,
    "sparse.sampled_addmm": _SPARSE,
    "to_sparse": _SPARSE,
}

INT64 = {"to_sparse": _SPARSE}
BOOL = {"to_sparse": _SPARSE}

# Compiles CUDA source; the CPU refuses it too, so there is nothing to compare with.
NOT_ON_CPU = {
    "jiterator_2inputs_2outputs",
    "jiterator_4inputs_with_extra_args",
    "jiterator_binary",
    "jiterator_binary_return_by_ref",
    "jiterator_unary",
}

IN_PLACE = {
    "addbmm": "the CPU's addbmm_ changes the shape of its own argument; here that is an error",
}
NOT_IN_PLACE_ON_CPU = {"float_power"}

OUT = {"sparse.sampled_addmm": _SPARSE}
NOT_OUT_ON_CPU = {"_batch_norm_with_update", "equal", "histogramdd"}

BACKWARD = FORWARD
