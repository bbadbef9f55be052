"""A double-buffered loader, as people write it: no word of pinlab.

python loader.py right      waits for a buffer's upload before it fills it again
python loader.py broken     waits for an event that was recorded on the other stream
"""

import sys

import numpy as np
import torch

device = torch.accelerator.current_accelerator()
gpu = torch.get_device_module(device)


class Prefetcher:
    def __init__(self, samples, batch_size, mode):
        self.samples = samples
        self.stream = gpu.Stream()
        self.slots = [torch.empty(batch_size, 4, pin_memory=True) for _ in range(2)]
        self.done = [gpu.Event() for _ in range(2)]
        self.mode = mode

    def __iter__(self):
        for step, start in enumerate(range(0, len(self.samples), self.slots[0].shape[0])):
            slot = step % 2
            self.done[slot].synchronize()
            self.fill(self.slots[slot].numpy(), start)
            with gpu.stream(self.stream):
                batch = self.slots[slot].to(device, non_blocking=True)
            self.done[slot].record(self.stream if self.mode == "right" else gpu.current_stream())
            gpu.current_stream().wait_stream(self.stream)
            batch.record_stream(gpu.current_stream())
            yield batch

    def fill(self, rows, start):
        np.copyto(rows, self.samples[start : start + len(rows)])


def main():
    samples = np.arange(64, dtype=np.float32).reshape(16, 4)
    total = torch.zeros((), device=device)
    for batch in Prefetcher(samples, 4, sys.argv[1]):
        total += batch.sum()
    print("total", total.item())


if __name__ == "__main__":
    main()
