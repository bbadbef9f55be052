"""The model of the scaled-down engine: a table of hidden states and one matrix product."""

from __future__ import annotations

import torch


class LookupModel:
    """Stands for a language model: looks a token's vector up and multiplies it by a matrix.

    A real model is many such products. One is enough here: it gives the device something to do
    before it comes to the pooling, so that copies queued behind it wait, as they do in earnest.

    Args:
        table: [num_tokens, hidden], the vector of each token, on the device; any float dtype.
        weight: [hidden, hidden] float32, on the device.

    >>> from pinlab import sim
    >>> sim.install()
    >>> table = torch.tensor([[1.0, 0.0], [0.0, 2.0]], device="sim")
    >>> model = LookupModel(table, reflection(2).to("sim"))
    >>> model(torch.tensor([1, 0], device="sim")).tolist()
    [[-2.0, 0.0], [0.0, -1.0]]
    """

    def __init__(self, table: torch.Tensor, weight: torch.Tensor) -> None:
        hidden = table.shape[-1]
        if table.ndim != 2 or weight.shape != (hidden, hidden):
            raise ValueError(
                f"a table of shape {list(table.shape)} needs a square matrix of its width, "
                f"got {list(weight.shape)}"
            )
        self.table = table
        self.weight = weight

    @property
    def device(self) -> torch.device:
        """Where the table lies."""
        return self.table.device

    @property
    def num_tokens(self) -> int:
        """How many tokens the model knows: ids run from 0 to this less 1."""
        return len(self.table)

    def __call__(self, input_ids: torch.Tensor) -> torch.Tensor:
        """Queue a forward pass; [number of tokens] integers → [number of tokens, hidden] float32.

        An id that the table does not have is an error on the device, raised at a later wait.
        """
        return torch.nn.functional.embedding(input_ids, self.table).float() @ self.weight

    def __repr__(self) -> str:
        return f"LookupModel: {self.num_tokens} tokens, hidden size {self.table.shape[1]}"


def reflection(size: int) -> torch.Tensor:
    """Return a dense matrix that changes no dot product of two vectors, [size, size] float32.

    It mirrors at the plane orthogonal to (1, …, 1): I - 2/size. Being symmetric and its own
    inverse, it turns every vector and leaves all lengths and angles as they were.

    >>> mirror = reflection(4)
    >>> torch.equal(mirror @ mirror, torch.eye(4))
    True
    """
    if size < 1:
        raise ValueError(f"size={size}; it must be 1 or more")
    return torch.eye(size) - 2.0 / size
