"""Temporary files that killed processes have left in a folder, deleted where no other writes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


@contextlib.contextmanager
def writing_into(folder: Path) -> Iterator[None]:
    """Hold a shared lock on a folder; delete the temporary files of `atomic_write` before that.

    They are deleted under an exclusive lock, which nobody gets while a process writes: the system
    releases the locks of killed processes. Without locks, as on Windows, nothing is deleted.
    """
    with _opened(folder) as descriptor:
        if descriptor is not None and fcntl is not None:
            _delete_if_alone(folder, descriptor)
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield


def delete_leftovers(folder: Path) -> None:
    """Delete the temporary files in a folder that nobody writes into."""
    with _opened(folder) as descriptor:
        if descriptor is not None:
            _delete_if_alone(folder, descriptor)


def _delete_if_alone(folder: Path, descriptor: int) -> None:
    """Delete temporary files if an exclusive lock can be had at once."""
    if fcntl is None:
        return
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for path in folder.glob(".*.part"):
            path.unlink(missing_ok=True)


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int | None]:
    """Open a folder; its locks last until it is closed. None where that is not possible."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)
