"""A model runner with pairs of buffers, one step ahead of its results: no word of pinlab.

python runner.py right      waits for the input copies before it rewrites the rows
python runner.py broken     rewrites them at once
python runner.py late       waits, but reads the result before its download is over
"""

import sys

import torch

device = torch.accelerator.current_accelerator()
gpu = torch.get_device_module(device)


class CpuGpuBuffer:
    def __init__(self, n, dtype):
        self.cpu = torch.zeros(n, dtype=dtype, pin_memory=True)
        self.np = self.cpu.numpy()
        self.gpu = torch.zeros(n, dtype=dtype, device=device)

    def copy_to_gpu(self, n):
        return self.gpu[:n].copy_(self.cpu[:n], non_blocking=True)


class Runner:
    def __init__(self, mode):
        self.mode = mode
        self.positions = CpuGpuBuffer(8, torch.int64)
        self.seq_lens = CpuGpuBuffer(8, torch.int32)
        self.sampled = [torch.zeros(8, dtype=torch.int64, pin_memory=True) for _ in range(2)]
        self.fetched = [gpu.Event() for _ in range(2)]
        self.prepared = gpu.Event()

    def prepare(self, lengths):
        if self.mode != "broken":
            self.prepared.synchronize()
        n = len(lengths)
        self.seq_lens.np[:n] = lengths
        self.positions.np[:n] = [length - 1 for length in lengths]
        self.seq_lens.np[n:] = 0
        inputs = self.positions.copy_to_gpu(n), self.seq_lens.copy_to_gpu(n)
        self.prepared.record()
        return inputs

    def execute(self, step, lengths):
        positions, seq_lens = self.prepare(lengths)
        result = positions * 100 + seq_lens
        self.sampled[step % 2][: len(lengths)].copy_(result, non_blocking=True)
        self.fetched[step % 2].record()

    def fetch(self, step, n):
        if self.mode != "late":
            self.fetched[step % 2].synchronize()
        tokens = self.sampled[step % 2][:n].numpy()
        return [int(token) for token in tokens]


def main():
    runner = Runner(sys.argv[1])
    steps = ([5, 7, 9], [6, 8], [7, 9, 2, 4])
    for step, lengths in enumerate(steps):
        runner.execute(step, lengths)
        if step:
            print(runner.fetch(step - 1, len(steps[step - 1])))
    gpu.synchronize()
    print(runner.fetch(2, 4))


if __name__ == "__main__":
    main()
