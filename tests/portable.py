"""Run the tests as other processors would: other BLAS kernels, instructions and threads.

Every setting is a pytest process of its own under some environment variables; a table of results
and times ends the output. The last setting, "bounds", checks every index of compiled code. Name
settings to run these alone; what follows "--" goes to pytest.
"""

from __future__ import annotations

import argparse
import functools
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
IMPOSSIBLE = "not on this processor"
PRINT_KERNELS = """import scipy.linalg
from threadpoolctl import threadpool_info
print(sorted(library.get("architecture", "") for library in threadpool_info()))"""


class Setting(NamedTuple):
    """Environment variables, why they would change nothing, whether numba must recompile."""

    environment: dict[str, str]
    obstacle: str = ""
    new_cache: bool = False


@functools.cache
def kernels_for(**environment: str) -> str:
    """Return which BLAS kernels numpy and scipy choose under environment variables."""
    command = [sys.executable, "-c", PRINT_KERNELS]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, check=True)
    return done.stdout.decode()


def settings() -> dict[str, Setting]:
    """Return all settings by name."""
    dispatched = [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]
    wide = [name for name in dispatched if "512" in name or name == "X86_V4"]
    has_openblas = any(library["internal_api"] == "openblas" for library in threadpool_info())
    setting_of = {kernels_for(): "plain"} if has_openblas else {}

    def blas(core: str, *needed: str) -> Setting:
        """Return the setting of a processor by OpenBLAS's name, which needs one of numpy's.

        An OpenBLAS that was built without the kernels of a processor takes those of another.
        """
        environment = {"OPENBLAS_CORETYPE": core}
        runs_here = not needed or any(__cpu_features__.get(name) for name in needed)
        if not (has_openblas and runs_here):
            return Setting(environment, IMPOSSIBLE)
        first = setting_of.setdefault(kernels_for(**environment), core)
        return Setting(environment, "" if first == core else f"BLAS as in {first}")

    def without(features: list[str]) -> Setting:
        environment = {"NPY_DISABLE_CPU_FEATURES": " ".join(features)}
        return Setting(environment, "" if features else IMPOSSIBLE)

    def threads(number: str) -> Setting:
        names = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
        return Setting(dict.fromkeys(names, number))

    return {
        "plain": Setting({}),
        "Prescott": blas("Prescott"),
        "Haswell": blas("Haswell", "AVX2", "X86_V3"),
        "Zen": blas("Zen", "AVX2", "X86_V3"),
        "SkylakeX": blas("SkylakeX", "AVX512_SKX", "X86_V4"),
        "numpy-without-avx512": without(wide),
        "numpy-baseline": without(dispatched),
        "numba-generic": Setting({"NUMBA_CPU_NAME": "generic"}, new_cache=True),
        "threads-1": threads("1"),
        "threads-2": threads("2"),
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
    parser.add_argument("settings", nargs="*", metavar="SETTING", help="default: all")
    parser.add_argument("--list", action="store_true", help="print the settings and stop")
    parser.add_argument(
        "--same", action="store_true", help="draw hypothesis's examples as make test"
    )
    parser.add_argument("--seed", type=int, help="of hypothesis; default: a new one")
    asked = parser.parse_args(words[:at])
    known = settings()
    if unknown := set(asked.settings) - set(known):
        parser.error(f"unknown settings {sorted(unknown)}; --list names all")
    if asked.list:
        for name, (environment, obstacle, _) in known.items():
            variables = [f"{key}={value!r}" for key, value in environment.items()]
            print(name, *([obstacle] if obstacle else variables))
        return 0
    options = words[at + 1 :]
    if not asked.same:
        seed = secrets.randbelow(2**32) if asked.seed is None else asked.seed
        print(f"hypothesis draws fresh examples; repeat them with --seed {seed}", flush=True)
        options = ["--hypothesis-profile=fresh", f"--hypothesis-seed={seed}", *options]
    rows = []
    for name in asked.settings or known:
        if known[name].obstacle:
            rows.append((name, known[name].obstacle, 0.0))
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
