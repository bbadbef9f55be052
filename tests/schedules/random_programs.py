"""Random small programs as source text, for comparing a reduced search with a full one.

A program works on two pinned buffers ``a`` and ``b`` with numpy faces ``na`` and ``nb`` and two
device tensors ``d`` and ``e``, all made before it. It has a side stream ``s``, two events ``v`` and
``w``, a device tensor ``x`` and a host tensor ``h`` that come and go, and a list ``log`` of what it
read.
"""

from __future__ import annotations

from hypothesis import strategies as st

HEAD = """\
def traced(buffer, target, value):
    target.copy_(buffer, non_blocking=True)
    buffer[0] = value
    return buffer.fill_(value + 1)

a = torch.tensor([1, 2, 3], pin_memory=True)
b = torch.tensor([4, 5, 6], pin_memory=True)
h0 = torch.tensor([0, 0, 0], pin_memory=True)
na, nb = a.numpy(), b.numpy()
d = torch.tensor([7, 8, 9], device="sim")
e = torch.tensor([10, 11, 12], device="sim")
x0 = torch.tensor([13, 14, 15], device="sim")
bad = torch.tensor([99], device="sim")

def program():
    s, v, w = gpu.Stream(), gpu.Event(), gpu.Event()
    x, h, log = x0, h0, []
"""
WRITES = (
    "{b}[{i}] = {n}",
    "{b}[{i}:] = {n}",
    "{b}.fill_({n})",
    "np.copyto(n{b}, {n})",
    "torch.add({b}, 1, out={b})",
    "np.add(n{b}, 2, out=n{b})",
    "memoryview(n{b})[{i}] = {n}",
    "{b}.__iadd__({n})",
    "{b}.view(3, 1)[{i}, 0] = {n}",
    "{b}[0], {b}[1] = {b}[1].item(), {b}[0].item()",
    "{b}.copy_({c})",
    "n{b}[:2] = n{c}[1:]",
    "[memoryview(n{b}).__setitem__(k, {n}) for k in range(2)]",
)
READS = (
    "log.append({b}.tolist())",
    "log.append(int(n{b}.sum()))",
    "log.append(h.tolist())",
    "log.append({b}[{i}].item() == {n})",
)
UPLOADS = (
    "{d}.copy_({b}, non_blocking=True)",
    "{d}[1:].copy_({b}[:2], non_blocking=True)",
    "x = {b}.to('sim', non_blocking=True)",
    "x = {b}.to('sim', torch.float64, non_blocking=True)",
    "x = torch.from_numpy(n{b}[1:]).to('sim', non_blocking=True)",
    "{d}.copy_({b})",
)
DOWNLOADS = (
    "{b}.copy_({d}, non_blocking=True)",
    "{b}[1:].copy_({d}[:2], non_blocking=True)",
    "h = {d}.to('cpu', non_blocking=True)",
    "h = x.to('cpu', non_blocking=True)",
    "h.copy_(x[:1].expand(h.shape), non_blocking=True)",
)
KERNELS = (
    "{d}.add_({n})",
    "{d}.copy_({f})",
    "x = {d} + {f}",
    "x = {d}.clone()",
    "torch.mul({d}, 2, out={d})",
    "x = torch.empty(3, dtype=torch.int64, device='sim')",
    "x = x.flip(0)",
    "x.record_stream(s)",
    "x = d",
)
ORDERS = (
    "{v}.record()",
    "{v}.record(s)",
    "s.wait_event({v})",
    "gpu.current_stream().wait_event({v})",
    "gpu.current_stream().wait_stream(s)",
    "s.wait_stream(gpu.current_stream())",
)
WAITS = (
    "{v}.synchronize()",
    "s.synchronize()",
    "gpu.current_stream().synchronize()",
    "gpu.synchronize()",
    "log.append({d}.tolist())",
    "log.append(x.tolist())",
    "log.append({d}[{i}].item())",
)
LOOKS = (
    "log.append({v}.query())",
    "if {v}.query(): {b}[0] = {n}",
    "{v}.query() or {b}.fill_({n})",
    "log.append(s.query())",
    "{b}.fill_({n}); log.append({v}.query()); {b}.fill_(0)",
)
CALLS = (
    "untraced({b}, {d}, {n})",
    "traced({b}, {d}, {n})",
    "x = apply(rewritten, {b}, {n})",
    "apply(traced, {b}, {d}, {n})",
    "log.append([traced({b}, {d}, {n})[0].item(), {b}.fill_(1)[0].item()])",
    "x = [buffer.to('sim', non_blocking=True) for buffer in ({b}, {c})][1]",
)
FAILURES = ("x = {d}.index_select(0, bad)",)
RETURNS = (
    "return log, d.tolist(), e.tolist(), a.tolist(), b.tolist()",
    "gpu.synchronize(); return log, d.tolist(), e.tolist(), a.tolist(), b.tolist()",
    "return log, d, x, a",
    "return log, h, b",
)


@st.composite
def statements(draw: st.DrawFn, *kinds: tuple[str, ...]) -> str:
    """One line of a program."""
    template = draw(st.sampled_from([text for kind in kinds for text in kind]))
    b = draw(st.sampled_from("ab"))
    d = draw(st.sampled_from("de"))
    return template.format(
        b=b,
        c="b" if b == "a" else "a",
        d=d,
        f="e" if d == "d" else "d",
        v=draw(st.sampled_from("vw")),
        i=draw(st.integers(0, 2)),
        n=draw(st.integers(20, 29)),
    )


DEVICE = (UPLOADS, UPLOADS, DOWNLOADS, KERNELS)
ANY = (WRITES, READS, *DEVICE, ORDERS, WAITS, LOOKS, CALLS)


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    """One or more lines: a plain one, one on the side stream, two in one, a hold, a try."""
    shape = draw(st.sampled_from(["plain"] * 6 + ["side"] * 3 + ["two", "hold", "try", "fails"]))
    if shape == "side":
        return [f"with gpu.stream(s): {draw(statements(*DEVICE, CALLS))}"]
    if shape == "two":
        return [f"{draw(statements(*DEVICE, LOOKS))}; {draw(statements(WRITES, READS))}"]
    if shape == "hold":
        first, second = draw(statements(*DEVICE)), draw(statements(*ANY))
        stream = draw(st.sampled_from(["", "s"]))
        return [f"with sim.hold({stream}):", f"    {first}", f"    {second}"]
    if shape == "try":
        inside = draw(statements(WAITS, FAILURES))
        return ["try:", f"    {inside}", "except Exception:", "    log.append('caught')"]
    return [draw(statements(*(ANY if shape == "plain" else (FAILURES,))))]


@st.composite
def sources(draw: st.DrawFn, smallest: int = 2, largest: int = 6) -> str:
    """The source text of a program."""
    body = [
        line
        for part in draw(st.lists(lines(), min_size=smallest, max_size=largest))
        for line in part
    ]
    body.append(draw(st.sampled_from(RETURNS)))
    return HEAD + "".join(f"    {line}\n" for line in body)
