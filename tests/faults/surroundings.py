"""Code that a child runs first, to find itself in poorer surroundings: nothing to write, no /proc.

As root, or where the system lets anybody have a namespace of mounts, they are really so. Elsewhere
what Python opens is refused as the system would refuse it.
"""

from __future__ import annotations

_MOUNTS = """
import ctypes, errno, os, sys

def own_mounts():
    \"\"\"A namespace of mounts for this process alone; None if the system does not give one.\"\"\"
    libc = ctypes.CDLL(None, use_errno=True)
    user = 0 if os.geteuid() == 0 else 0x10000000
    if not hasattr(libc, "unshare") or libc.unshare(user | 0x20000):
        return None
    if libc.mount(b"none", b"/", None, 16384 | 1 << 18, None):
        return None
    return libc
"""

# `writable` is a folder that can be written all the same, or "".
READ_ONLY = (
    _MOUNTS
    + """
def forbid_writing(writable):
    libc = own_mounts()
    if libc is not None:
        points = [line.split()[1] for line in open("/proc/self/mounts")]
        if writable:
            libc.mount(b"tmpfs", writable.encode(), b"tmpfs", 0, None)
        for point in points:
            libc.mount(b"none", point.encode(), None, 32 | 4096 | 1, None)
    try:
        os.close(os.open("here", os.O_WRONLY | os.O_CREAT))
        os.unlink("here")
    except OSError as error:
        if error.errno == errno.EROFS:
            return
    write = os.O_WRONLY | os.O_RDWR | os.O_CREAT

    def refuse(event, found):
        if isinstance(found[0] if found else 0, int):
            return  # a descriptor
        if event == "open" and (found[2] or 0) & write or event == "os.mkdir":
            path = os.path.abspath(str(found[0]))
            if not path.startswith("/dev/") and not (writable and path.startswith(writable)):
                raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

    sys.addaudithook(refuse)

forbid_writing(os.environ.get("WRITABLE", ""))
"""
)

NO_PROC = (
    _MOUNTS
    + """
def hide_proc():
    libc = own_mounts()
    if libc is not None:
        libc.mount(b"tmpfs", b"/proc", b"tmpfs", 0, None)
    if not os.path.exists("/proc/self/status"):
        return

    def refuse(event, found):
        if event == "open" and str(found[0]).startswith("/proc/"):
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), str(found[0]))

    sys.addaudithook(refuse)

hide_proc()
"""
)
