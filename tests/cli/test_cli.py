"""The command line: every command, its files, its JSON and its exit codes."""

from __future__ import annotations


def test_a_missing_loop_is_announced_once(caplog, monkeypatch):
    from itertools import count

    from pairrank.compiled import _jit

    monkeypatch.setattr(_jit, "_misses", count())
    monkeypatch.setattr(_jit.FunctionCache, "_load_overload", lambda *_: None)
    monkeypatch.setattr(_jit.rtsys, "initialize", lambda _: None)
    caplog.set_level("INFO", "pairrank")
    for _ in range(2):
        assert _jit.compiled(count_up)._cache.load_overload(None, None) is None
    assert [record.message[:9] for record in caplog.records] == ["compiling"]


def count_up(n):
    return n + 1
