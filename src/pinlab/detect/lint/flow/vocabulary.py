"""The words of torch and numpy that the walk understands.

Source for torch: the "Tensor Views" page of its documentation, and the documentation of each
function for whether memory is shared. Source for numpy: "Copies and views".
"""

from __future__ import annotations

import re

TORCH_FACTORIES = frozenset(
    """zeros ones empty full rand randn randint randperm arange tensor scalar_tensor eye linspace
    logspace empty_strided range normal tril_indices triu_indices""".split()
)
LIKE_FACTORIES = frozenset(
    "zeros_like ones_like empty_like full_like rand_like randn_like randint_like".split()
)
NEW_METHODS = frozenset("new_zeros new_ones new_empty new_full new_tensor".split())
NUMPY_FACTORIES = frozenset(
    """zeros ones empty full arange array linspace eye identity zeros_like ones_like empty_like
    full_like fromiter""".split()
)
# Functions whose result shares the memory of their first argument, where they can.
VIEW_FUNCTIONS = frozenset(
    """from_numpy as_tensor asarray frombuffer asanyarray ascontiguousarray from_dlpack to_dlpack
    reshape ravel transpose squeeze unsqueeze swapaxes moveaxis movedim narrow select permute
    flatten unflatten expand_dims broadcast_to broadcast_arrays atleast_1d atleast_2d atleast_3d
    as_strided diagonal view_as_real view_as_complex t detach flip rot90 flipud fliplr
    sliding_window_view real imag""".split()
)
SPLIT_FUNCTIONS = frozenset(
    """unbind split chunk tensor_split hsplit vsplit dsplit array_split split_with_sizes
    meshgrid""".split()
)
NOT_VIEWS_IN_TORCH = frozenset({"flip", "rot90", "flipud", "fliplr"})
TENSOR_VIEWS = frozenset(
    """view view_as reshape reshape_as flatten ravel squeeze unsqueeze transpose swapaxes swapdims
    permute t movedim moveaxis narrow select expand expand_as diagonal unfold detach detach_
    contiguous as_strided requires_grad_ refine_names unflatten numpy __array__ share_memory_
    squeeze_ unsqueeze_ t_ transpose_ view_as_real data_ptr_view __dlpack__ alias""".split()
)
ARRAY_VIEWS = frozenset(
    """view reshape ravel squeeze transpose swapaxes diagonal __array__ __dlpack__ cast toreadonly
    newbyteorder getfield""".split()
)
VIEW_ATTRIBUTES = frozenset("T mT H mH data real imag flat base".split())
PLAIN_ATTRIBUTES = frozenset(
    """shape dtype device size ndim is_cuda grad layout strides itemsize nbytes requires_grad
    names flags ctypes obj format readonly""".split()
)
# Methods that look at a tensor's metadata only.
METADATA = frozenset(
    """size dim numel nelement stride data_ptr is_pinned is_contiguous element_size storage
    untyped_storage get_device storage_offset type ndimension is_shared register_hook has_names
    is_floating_point is_complex is_signed __len__ retain_grad storage_type is_inference
    setflags""".split()
)
KEEP_SHAPE_STEPS = frozenset({"numpy", "detach", "__array__", "from_numpy", "as_tensor", "asarray"})
# In-place methods that end in an underscore but write no element.
NO_WRITE_UNDERSCORE = frozenset(
    """requires_grad_ detach_ share_memory_ rename_ squeeze_ unsqueeze_ t_ transpose_ swapaxes_
    swapdims_ as_strided_ set_ retain_grad_""".split()
)
NUMPY_WRITES = frozenset("fill sort partition put itemset setfield byteswap resize".split())
# Functions that write their first argument.
WRITE_FUNCTIONS = frozenset(
    """copyto put place putmask fill_diagonal put_along_axis shuffle memmove memset
    readinto recv_into readinto1""".split()
)
HOST_WAITS_ON_DEVICE = frozenset("item tolist cpu numpy nonzero __array__ any_ all_".split())
READS_FIRST = frozenset(
    """int float bool complex list tuple set sum min max any all sorted print str repr bytes
    format hash frozenset enumerate zip map filter reversed iter bytearray""".split()
)
READERS = frozenset("save dump dumps savez savetxt tofile tobytes".split())
STORERS = frozenset(
    """append appendleft add put put_nowait extend extendleft insert push send send_nowait
    setdefault update enqueue""".split()
)
DEFERRERS = frozenset(
    """submit add_done_callback call_soon call_soon_threadsafe call_later run_in_executor
    create_task ensure_future apply_async map_async to_thread start_new_thread""".split()
)
DTYPE_CASTS = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "bool": "bool",
}
# Copy what they are given; an instance of theirs holds no view.
COPYING_CLASSES = frozenset(
    """Tensor FloatTensor DoubleTensor HalfTensor LongTensor IntTensor ShortTensor ByteTensor
    BoolTensor Counter Decimal Fraction Path PurePath Generator Random Size""".split()
)
SHALLOW = frozenset({"replace", "copy", "partial", "SimpleNamespace", "namedtuple", "cast"})

WAIT_WORDS = re.compile(
    r"(?:^|_)(?:wait|waits|waiting|sync|synchronize|synchronise|join|drain|barrier|fence|result"
    r"|block_until_ready|query|is_complete|completed|poll)(?:$|_)"
)
NOT_WAITS = frozenset("wait_stream wait_event no_sync record_event".split())
ASYNC_WORDS = re.compile(r"async", re.IGNORECASE)


def waits_by_name(name: str) -> bool:
    """Whether a call that cannot be followed is taken for a wait, by its name alone.

    >>> waits_by_name("synchronize_input_prep"), waits_by_name("wait_stream")
    (True, False)
    """
    return name not in NOT_WAITS and WAIT_WORDS.search(name.lstrip("_")) is not None


def is_class_name(name: str) -> bool:
    """CapWords, as in ``PoolingMetadata`` or ``_State``; not ``MAX_LEN``.

    >>> is_class_name("PoolingMetadata"), is_class_name("sum"), is_class_name("RERANK")
    (True, False, False)
    """
    bare = name.lstrip("_")
    return bare[:1].isupper() and (len(bare) == 1 or any(c.islower() for c in bare))
