"""Run the tests as other processors would: other BLAS kernels, instructions and threads.

Every setting is a pytest process of its own under some environment variables; a table of results
and times ends the output. The last setting, "bounds", checks every index of compiled code. Name
settings to run these alone; what follows "--" goes to pytest.
"""

from __future__ import annotations

import argparse
import os
import secrets
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_info

try:
    from numpy._core import _multiarray_umath as numpy_core
except ImportError:
    from numpy.core import _multiarray_umath as numpy_core

ROOT = Path(__file__).resolve().parents[1]
CORES = {
    "Prescott": (),
    "Haswell": ("AVX2", "X86_V3"),
    "Zen": ("AVX2", "X86_V3"),
    "SkylakeX": ("AVX512_SKX", "X86_V4"),
}
"""OpenBLAS's names of processors, and numpy's names of what they need: one of these."""
PLANTED = ("-k", "planted", "tests/test_bounds.py")


class Setting(NamedTuple):
    """Environment variables, and whether compiled code needs a new cache under them."""

    environment: dict[str, str]
    new_cache: bool = False


def settings() -> dict[str, Setting]:
    """Return the settings that this processor can run, by name."""
    features = {name for name, found in numpy_core.__cpu_features__.items() if found}
    dispatched = [name for name in numpy_core.__cpu_dispatch__ if name in features]
    wide = [name for name in dispatched if "512" in name or name == "X86_V4"]
    found = {"plain": Setting({})}
    if any(library["internal_api"] == "openblas" for library in threadpool_info()):
        for core, needed in CORES.items():
            if not needed or features.intersection(needed):
                found[core] = Setting({"OPENBLAS_CORETYPE": core})
    for name, off in (("numpy-without-avx512", wide), ("numpy-baseline", dispatched)):
        if off:
            found[name] = Setting({"NPY_DISABLE_CPU_FEATURES": " ".join(off)})
    found["numba-generic"] = Setting({"NUMBA_CPU_NAME": "generic"}, new_cache=True)
    for threads in ("1", "2"):
        names = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
        found[f"threads-{threads}"] = Setting(dict.fromkeys(names, threads))
    found["bounds"] = Setting({"NUMBA_BOUNDSCHECK": "1"}, new_cache=True)
    return found


def run(name: str, setting: Setting, options: list[str]) -> bool:
    """Run pytest under a setting; return whether all passed.

    Bounds are checked only in code that is compiled under that setting. So a planted read outside
    of an array must be found before anything else is believed.
    """
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | setting.environment
        if setting.new_cache:
            environment["NUMBA_CACHE_DIR"] = cache
        runs = [list(PLANTED), options] if name == "bounds" else [options]
        return all(
            subprocess.run(
                [sys.executable, "-m", "pytest", *each], env=environment, cwd=ROOT, check=False
            ).returncode
            == 0
            for each in runs
        )


def main(words: list[str]) -> int:
    """Run the settings that are asked for; return 1 if one failed."""
    at = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("settings", nargs="*", metavar="SETTING", help="default: all")
    parser.add_argument("--list", action="store_true", help="print the settings and stop")
    parser.add_argument(
        "--same", action="store_true", help="draw hypothesis's examples as make test"
    )
    parser.add_argument("--seed", type=int, help="of hypothesis; default: a new one")
    asked = parser.parse_args(words[:at])
    known = settings()
    if unknown := set(asked.settings) - set(known) - set(CORES) - {"numpy-without-avx512"}:
        parser.error(f"unknown settings {sorted(unknown)}; --list names all")
    if asked.list:
        for name, setting in known.items():
            print(name, *(f"{key}={value!r}" for key, value in setting.environment.items()))
        return 0
    options = words[at + 1 :]
    if not asked.same:
        seed = secrets.randbelow(2**32) if asked.seed is None else asked.seed
        print(f"hypothesis draws fresh examples; repeat them with --seed {seed}", flush=True)
        options = ["--hypothesis-profile=fresh", f"--hypothesis-seed={seed}", *options]
    rows = []
    for name in asked.settings or known:
        if name not in known:
            rows.append((name, "not on this processor", 0.0))
            continue
        print(f"\n== {name}", flush=True)
        start = time.perf_counter()
        passed = run(name, known[name], options)
        rows.append((name, "passed" if passed else "FAILED", time.perf_counter() - start))
    print(f"\nnumpy {np.__version__}\n{'setting':<24}{'result':<24}{'seconds':>8}")
    for name, result, seconds in rows:
        print(f"{name:<24}{result:<24}{seconds:>8.0f}")
    return int(any(result == "FAILED" for _, result, _ in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
