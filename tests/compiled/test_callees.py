"""What one compiled function calls is part of its code; Python's garbage collector goes on."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from numba import types
from numba.core.codegen import JITCodeLibrary

from pairrank.compiled._collector import paused_collection
from pairrank.compiled._jit import compiled


@compiled
def add_to(x, from_end):
    """Add 1 to the first or last element, and return the length."""
    x[len(x) - 1 if from_end else 0] += 1.0
    return len(x)


@compiled
def add_to_both(x):
    """Add to both ends through a callee with constant arguments."""
    return add_to(x, False) + add_to(x, True)


@compiled
def two_levels_down(x):
    """Call a function that calls another one."""
    return add_to_both(x)


@compiled
def only_compiled_code_calls_it(x):
    return x[0]


@compiled
def only_python_calls_it(x):
    return only_compiled_code_calls_it(x)


def test_a_callee_of_a_callee_runs():
    x = np.zeros(3)
    assert two_levels_down(x) == 6
    assert x.tolist() == [1.0, 0.0, 1.0]


def test_a_function_serves_python_and_compiled_callers():
    x = np.zeros(3)
    assert add_to_both(x) == 6
    assert add_to(x, True) == 3
    assert add_to_both(x) == 6
    assert x.tolist() == [2.0, 0.0, 3.0]


def test_constant_arguments_share_one_version_of_a_callee():
    vector = types.float64[::1]
    for from_end in (False, True):
        add_to.get_call_template((vector, types.literal(from_end)), {})
    assert len(add_to._callee.signatures) == 1


def test_machine_code_is_made_of_what_python_calls_only(monkeypatch):
    made = []
    finish = JITCodeLibrary._finalize_specific
    monkeypatch.setattr(
        JITCodeLibrary,
        "_finalize_specific",
        lambda library: made.append(library.name) or finish(library),
    )
    assert only_python_calls_it(np.ones(1)) == 1.0
    assert made == ["only_python_calls_it"]
    assert only_compiled_code_calls_it(np.ones(1)) == 1.0
    assert made == ["only_python_calls_it", "only_compiled_code_calls_it"]


def fail_while_paused():
    with paused_collection():
        assert not gc.isenabled()
        raise KeyError("asked")


@pytest.mark.parametrize("was_on", [True, False])
def test_the_garbage_collector_is_as_before_after_a_pause(was_on):
    (gc.enable if was_on else gc.disable)()
    try:
        with pytest.raises(KeyError, match="asked"):
            fail_while_paused()
        assert gc.isenabled() == was_on
    finally:
        gc.enable()


def test_the_garbage_collector_is_on_after_a_function_was_compiled():
    gc.enable()
    assert compiled(lambda x: x + 1)(1) == 2
    assert gc.isenabled()
