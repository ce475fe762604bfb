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
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
except ImportError:  # numpy 1
    from numpy.core._multiarray_umath import __cpu_dispatch__, __cpu_features__

ROOT = Path(__file__).resolve().parents[1]
PLANTED = ["-k", "planted", "tests/test_bounds.py"]
THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


class Setting(NamedTuple):
    """Environment variables, whether they change anything here, whether numba must recompile."""

    environment: dict[str, str]
    is_other: bool = True
    new_cache: bool = False


def settings() -> dict[str, Setting]:
    """Return all settings by name; a processor has its BLAS kernels and numpy's instructions."""
    dispatched = [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]
    wide = [name for name in dispatched if "512" in name or name == "X86_V4"]
    has_avx2 = any(__cpu_features__.get(name) for name in ("AVX2", "X86_V3"))
    chosen = {
        library["architecture"]
        for library in threadpool_info()
        if library["internal_api"] == "openblas"
    }

    def processor(core: str, without: list[str], runs_here: bool = True) -> Setting:
        environment = {"OPENBLAS_CORETYPE": core, "NPY_DISABLE_CPU_FEATURES": " ".join(without)}
        return Setting(environment, runs_here and bool(without or chosen - {core}))

    return {
        "plain": Setting({}),
        "Prescott": processor("Prescott", dispatched),
        "Haswell": processor("Haswell", wide, has_avx2),
        "numba-generic": Setting({"NUMBA_CPU_NAME": "generic"}, new_cache=True),
        "threads-1": Setting(dict.fromkeys(THREADS, "1")),
        "threads-2": Setting(dict.fromkeys(THREADS, "2")),
        "bounds": Setting({"NUMBA_BOUNDSCHECK": "1"}, new_cache=True),
    }


def run(name: str, setting: Setting, options: list[str]) -> bool:
    """Run pytest under a setting; return whether all passed.

    Bounds are checked only in code that is compiled under that setting. So a planted read outside
    of an array must be found before anything else is believed.
    """
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | setting.environment
        if setting.new_cache:
            environment["NUMBA_CACHE_DIR"] = cache
        for each in [PLANTED, options] if name == "bounds" else [options]:
            command = [sys.executable, "-m", "pytest", *each]
            if subprocess.run(command, env=environment, cwd=ROOT, check=False).returncode != 0:
                return False
    return True


def main(words: list[str]) -> int:
    """Run the settings that are asked for; return 1 if one failed."""
    at = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(description=__doc__)
    known = settings()
    parser.add_argument("settings", nargs="*", metavar="SETTING", help=f"all: {', '.join(known)}")
    parser.add_argument(
        "--same", action="store_true", help="draw hypothesis's examples as make test"
    )
    parser.add_argument("--seed", type=int, help="of hypothesis; default: a new one")
    asked = parser.parse_args(words[:at])
    if unknown := set(asked.settings) - set(known):
        parser.error(f"unknown settings {sorted(unknown)}; choose of {', '.join(known)}")
    options = words[at + 1 :]
    if not asked.same:
        seed = secrets.randbelow(2**32) if asked.seed is None else asked.seed
        print(f"hypothesis draws fresh examples; repeat them with --seed {seed}", flush=True)
        options = ["--hypothesis-profile=fresh", f"--hypothesis-seed={seed}", *options]
    rows = []
    for name in asked.settings or known:
        start, result = time.perf_counter(), "changes nothing here"
        if known[name].is_other:
            print(f"\n== {name}", flush=True)
            result = "passed" if run(name, known[name], options) else "FAILED"
        rows.append((name, result, time.perf_counter() - start))
    print(f"\nnumpy {np.__version__}\n{'setting':<24}{'result':<24}{'seconds':>8}")
    for name, result, seconds in rows:
        print(f"{name:<24}{result:<24}{seconds:>8.0f}")
    return int(any(result == "FAILED" for _, result, _ in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
