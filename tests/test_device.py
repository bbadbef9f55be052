"""`pick_device` and `hold`; CUDA's side against a driver library of our own making."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from ctypes import CFUNCTYPE, POINTER, c_int, c_uint, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch

from pinlab import sim
from pinlab.device import hold, pick_device
from pinlab.device.driver import CAN_USE_STREAM_MEM_OPS_V1, Driver, DriverError
from pinlab.device.gate import CudaGate, Gatekeeper
from pinlab.device.hold import close
from pinlab.sim.place import Place
from tools.nursery import run_script

PLACE = Place("lesson.py", 3)
OFFSET = 1 << 40  # device addresses of the fake differ from the host's


@dataclass
class FakeLibrary:
    """Functions with the C prototypes of ``cuda.h``, so that each call goes through a real ABI."""

    wait: str | None = "cuStreamWaitValue32_v2"
    attributes: dict[int, int] = field(default_factory=dict)
    context: int = 0
    wait_result: int = 0
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._offer("cuCtxGetCurrent", self._current, POINTER(c_void_p))
        self._offer("cuDeviceGet", self._device, POINTER(c_int), c_int)
        self._offer("cuDevicePrimaryCtxRetain", self._retain, POINTER(c_void_p), c_int)
        self._offer("cuCtxSetCurrent", self._set, c_void_p)
        self._offer("cuDeviceGetAttribute", self._attribute, POINTER(c_int), c_int, c_int)
        address = POINTER(c_uint64), c_void_p, c_uint
        self._offer("cuMemHostGetDevicePointer_v2", self._address, *address)
        if self.wait:
            self._offer(self.wait, self._wait, c_void_p, c_uint64, c_uint32, c_uint)
        self._offer("cuLaunchHostFunc", self._launch, c_void_p, c_void_p, c_void_p)
        self._offer("cuGetErrorName", self._name, c_int, POINTER(ctypes.c_char_p))

    def _offer(self, name: str, function: Callable[..., int], *types: Any) -> None:
        setattr(self, name, CFUNCTYPE(c_int, *types)(function))

    def _current(self, out: Any) -> int:
        out[0] = self.context or None
        return 0

    def _device(self, out: Any, ordinal: int) -> int:
        out[0] = ordinal + 70
        return 0 if ordinal < 2 else 101

    def _retain(self, out: Any, device: int) -> int:
        out[0] = (1 << 45) + device
        return 0

    def _set(self, context: int) -> int:
        self.context = context
        return 0

    def _attribute(self, out: Any, number: int, device: int) -> int:
        assert device in (70, 71)
        out[0] = self.attributes.get(number, 0)
        return 0

    def _address(self, out: Any, host: int, flags: int) -> int:
        assert flags == 0
        out[0] = host + OFFSET
        return 0

    def _wait(self, stream: int | None, address: int, value: int, flags: int) -> int:
        self.calls.append((self.wait, stream, address - OFFSET, value, flags))
        return self.wait_result

    def _launch(self, stream: int | None, function: int, data: int) -> int:
        run = CFUNCTYPE(None, c_void_p)(function)  # called without the interpreter's lock
        thread = threading.Thread(target=run, args=(data,), daemon=True)
        self.calls.append(("cuLaunchHostFunc", stream))
        self.threads.append(thread)
        thread.start()
        return 0

    def _name(self, code: int, out: Any) -> int:
        out[0] = b"CUDA_ERROR_INVALID_DEVICE" if code == 101 else b"CUDA_ERROR_NOT_SUPPORTED"
        return 0


@dataclass
class FakeStream:
    cuda_stream: int = (1 << 46) + 5  # a handle that 32 bits could not carry
    past: bool = False


def keeper_of(library: FakeLibrary, flags: int = 4) -> Gatekeeper:
    page = torch.zeros(flags, dtype=torch.int32)
    return Gatekeeper(Driver(library), 0, page, lambda stream: lambda: stream.past)


def word(library: FakeLibrary) -> int:
    """The word that the last queued wait looks at."""
    return ctypes.c_int32.from_address(library.calls[-1][2]).value


# -- pick_device -----------------------------------------------------------------------------------


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return run_script(code, env={**os.environ, **environment})


def test_the_simulated_device_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in (None, "", "sim", " SIM "):
        if value is None:
            monkeypatch.delenv("PINLAB_DEVICE", raising=False)
        else:
            monkeypatch.setenv("PINLAB_DEVICE", value)
        device = pick_device()
        assert device == torch.device("sim")
        assert torch.ones(2, device=device).sum().item() == 2


def test_an_unknown_device_is_refused_with_the_allowed_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PINLAB_DEVICE", "tpu")
    with pytest.raises(ValueError, match=r"PINLAB_DEVICE='tpu'; it can be 'sim' .* or 'cuda'"):
        pick_device()


def test_cuda_is_refused_once_the_simulated_device_is_registered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sim.install()
    monkeypatch.setenv("PINLAB_DEVICE", "cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with pytest.raises(RuntimeError, match="has registered the simulated device already"):
        pick_device()


def test_without_cuda_the_errors_say_what_was_looked_for() -> None:
    code = (
        "import torch\n"
        "from pinlab.device import hold, pick_device\n"
        "torch.cuda.is_available = lambda: False\n"
        "def ask():\n    with hold(): pass\n"
        "for question in (pick_device, ask):\n"
        "    try: question()\n"
        "    except RuntimeError as error: print(error)\n"
    )
    said = run(code, PINLAB_DEVICE="cuda").stdout
    library = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    for part in (f"torch {torch.__version__} is built", library, "found)", "torch counts"):
        assert part in said
    assert "no device to hold: call pinlab.device.pick_device() first" in said


def test_installing_twice_is_harmless_and_after_cuda_it_is_refused() -> None:
    code = (
        "import torch\n"
        "from pinlab import sim\n"
        "from pinlab.device import pick_device\n"
        "torch.cuda.is_initialized = lambda: True\n"
        "for ask in (sim.install, pick_device):\n"
        "    try: ask()\n"
        "    except RuntimeError as error: print(type(error).__name__, error)\n"
        "torch.cuda.is_initialized = lambda: False\n"
        "sim.install(); sim.install(); pick_device()\n"
        "print(torch.ones(3, device='sim').sum().item())\n"
    )
    result = run(code)
    assert result.stdout.count("SimError CUDA is in use in this process") == 2, result.stderr
    assert result.stdout.endswith("3.0\n")


# -- hold, on the simulated device -----------------------------------------------------------------


def test_hold_names_the_line_of_the_with_statement() -> None:
    pick_device()
    there = torch.zeros(2, device="sim")
    line = _here() + 1
    with hold(), pytest.raises(sim.HeldStreamError, match=rf"test_device\.py:{line} by this"):
        there.tolist()


def _here() -> int:
    return sys._getframe(1).f_lineno


def test_a_hold_says_how_it_holds_and_whether_it_was_released() -> None:
    pick_device()
    gpu = torch.get_device_module(torch.device("sim"))
    with hold(release_after=0.02) as gate:
        assert not gate.released
        assert "simulated" in gate.method
        gpu.synchronize()
        assert gate.released


def test_warmup_runs_before_the_stream_is_held() -> None:
    device = pick_device()
    there = torch.zeros(2, device=device)
    with hold(warmup=lambda: there.add_(1).tolist()):
        pass  # `tolist` would have raised, had the stream been held
    assert there.tolist() == [1, 1]


# -- hold, on CUDA: the driver calls ---------------------------------------------------------------


def test_a_flag_gate_waits_for_a_word_that_release_sets() -> None:
    library, stream = FakeLibrary(), FakeStream()
    keeper = keeper_of(library)
    gate = keeper.close(stream, PLACE)
    name, handle, address, value, condition = library.calls[-1]
    assert (name, handle, value, condition) == ("cuStreamWaitValue32_v2", stream.cuda_stream, 1, 0)
    assert address == keeper.page.data_ptr() + 4 * 3
    assert (word(library), gate.released) == (0, False)
    assert gate.release()
    assert (word(library), gate.released) == (1, True)
    assert not gate.release()
    assert "cuStreamWaitValue32_v2" in gate.method
    assert repr(gate) == f"<hold by {gate.method}, lesson.py:3, released>"


def test_the_default_stream_has_the_handle_zero() -> None:
    library = FakeLibrary()
    keeper_of(library).close(FakeStream(cuda_stream=0), PLACE)
    assert library.calls[-1][1] is None  # how ctypes shows a null pointer


def test_a_thread_without_a_context_gets_the_primary_one() -> None:
    library = FakeLibrary()
    keeper = keeper_of(library)
    assert library.context == (1 << 45) + 70
    library.context = 99  # torch made one current: it stays
    keeper.close(FakeStream(), PLACE)
    assert library.context == 99


def test_the_first_version_of_the_wait_needs_its_attribute() -> None:
    allowed = FakeLibrary("cuStreamWaitValue32", {CAN_USE_STREAM_MEM_OPS_V1: 1})
    gate = keeper_of(allowed).close(FakeStream(), PLACE)
    assert "(cuStreamWaitValue32)" in gate.method
    without = FakeLibrary("cuStreamWaitValue32")
    without.cuLaunchHostFunc = None
    with pytest.raises(RuntimeError, match="offers no cuStreamWaitValue32"):
        keeper_of(without).close(FakeStream(), PLACE)


def test_flags_are_reused_only_when_the_stream_is_past_them() -> None:
    library = FakeLibrary()
    keeper = keeper_of(library, flags=2)
    streams = [FakeStream(), FakeStream()]
    gates = [keeper.close(stream, PLACE) for stream in streams]
    gates[0].release()
    with pytest.raises(RuntimeError, match="2 streams are held"):
        keeper.close(FakeStream(), PLACE)  # released, but the stream has not got there
    first = library.calls[0][2]
    streams[0].past = True
    keeper.close(FakeStream(), PLACE)
    assert library.calls[-1][2] == first
    assert word(library) == 0  # closed again


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="needs unnamed POSIX semaphores")
@pytest.mark.parametrize("library", [FakeLibrary(None), FakeLibrary(wait_result=801)])
def test_the_fallback_blocks_the_stream_in_a_host_function(library: FakeLibrary) -> None:
    keeper = keeper_of(library)
    gate = keeper.close(FakeStream(), PLACE)
    assert "cuLaunchHostFunc" in gate.method
    assert library.calls[-1] == ("cuLaunchHostFunc", FakeStream().cuda_stream)
    library.threads[-1].join(0.05)
    assert library.threads[-1].is_alive()
    gate.release()
    library.threads[-1].join(5)
    assert not library.threads[-1].is_alive()


def test_a_driver_error_names_the_call_and_the_code() -> None:
    with pytest.raises(DriverError, match=r"cuDeviceGet returned 101 \(CUDA_ERROR_INVALID_DEVICE"):
        Driver(FakeLibrary()).attribute(1, 5)
    library = FakeLibrary(wait_result=1)
    keeper = keeper_of(library)
    with pytest.raises(DriverError, match="cuStreamWaitValue32_v2 returned 1"):
        keeper.close(FakeStream(), PLACE)
    assert len(keeper.free) == 4


# -- hold, on CUDA: the timers ---------------------------------------------------------------------


def until(released: CudaGate) -> float:
    began = time.perf_counter()
    while not released.released and time.perf_counter() - began < 5:
        time.sleep(0.001)
    return time.perf_counter() - began


def test_release_after_opens_the_gate_without_a_warning() -> None:
    with warnings.catch_warnings(), ExitStack() as after:
        warnings.simplefilter("error")
        gate = close(keeper_of(FakeLibrary()), FakeStream(), PLACE, 10.0, 0.03, after)
        assert 0.02 < until(gate) < 2


def test_the_watchdog_opens_the_gate_with_a_warning_at_the_line_of_the_hold() -> None:
    with warnings.catch_warnings(record=True) as caught, ExitStack() as after:
        warnings.simplefilter("always")
        gate = close(keeper_of(FakeLibrary()), FakeStream(), PLACE, 0.03, None, after)
        assert until(gate) < 2
        while not caught:
            time.sleep(0.001)
    (warning,) = caught
    assert (warning.filename, warning.lineno) == ("lesson.py", 3)
    assert "released after 0.03 s" in str(warning.message)


def test_leaving_the_block_opens_the_gate_and_stops_the_timers() -> None:
    before = threading.active_count()
    with ExitStack() as after:
        gate = close(keeper_of(FakeLibrary()), FakeStream(), PLACE, 10.0, 5.0, after)
        timers = [t for t in threading.enumerate() if isinstance(t, threading.Timer)]
        assert len(timers) >= 2
        assert not gate.released
    assert gate.released
    for timer in timers:
        timer.join(5)
    assert threading.active_count() <= before


@pytest.mark.parametrize(
    ("timeout", "release_after"), [(0, None), (-1, None), (float("nan"), None), (1, -0.1), (1, 2)]
)
def test_times_out_of_range_are_refused(timeout: float, release_after: float | None) -> None:
    pick_device()
    with (
        pytest.raises(ValueError, match="must be"),
        hold(timeout=timeout, release_after=release_after),
    ):
        pass
