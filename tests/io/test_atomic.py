"""atomic_write: the whole file or none, whatever ends the process."""

from __future__ import annotations

import errno
import io
import os
import signal
import stat
import subprocess
import sys

import pytest

from pairrank.exceptions import FileAccessError
from pairrank.io._streams import atomic_write


class ShortWrites(io.RawIOBase):
    """A raw stream that takes at most seven bytes at a time, as a pipe may."""

    def __init__(self) -> None:
        self.taken = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data) -> int:
        self.taken += bytes(data[:7])
        return min(7, len(data))


@pytest.mark.parametrize("mode", ["w", "wb"])
def test_a_raw_standard_output_gets_every_byte(monkeypatch, mode):
    raw = ShortWrites()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, "ascii", write_through=True))
    text = "é, " * 100_000
    with atomic_write("-", mode) as file:
        file.write(text if mode == "w" else text.encode())
    assert raw.taken == text.encode()
    assert not raw.closed


TERMINATED = """
import signal, sys
from pairrank.io._streams import atomic_write

with atomic_write(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    signal.raise_signal(getattr(signal, sys.argv[2]))
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are sent as on Unix")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_termination_leaves_the_old_file_and_no_other(tmp_path, name):
    (tmp_path / "m").write_text("old")
    done = subprocess.run(
        [sys.executable, "-c", TERMINATED, tmp_path / "m", name], timeout=60, check=False
    )
    assert done.returncode == -getattr(signal, name)
    assert [entry.name for entry in tmp_path.iterdir()] == ["m"]
    assert (tmp_path / "m").read_text() == "old"


def test_signals_that_are_handled_already_stay_so(tmp_path, monkeypatch):
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with atomic_write(tmp_path / "m") as file:
            file.write(b"x")
            signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)
    with atomic_write(tmp_path / "m"):
        pass
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_failure_while_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "out"
    path.write_text("old")

    def interrupted():
        with atomic_write(path, "w") as file:
            file.write("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with pytest.raises(FileAccessError, match="No space left"), atomic_write(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_atomic_write_keeps_links_and_permissions(tmp_path):
    path, link = tmp_path / "real", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    with atomic_write(link, "w") as file:
        file.write("new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    mask = os.umask(0o022)
    try:
        with atomic_write(tmp_path / "fresh") as file:
            file.write(b"x")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "fresh").stat().st_mode) == 0o644
    with pytest.raises(ValueError, match="mode"), atomic_write(path, "a"):
        pass
