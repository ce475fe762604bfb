"""Plant faults in the package, one by one, and see whether the public tests find them.

Faults are drawn by a seed from the syntax trees of src, rooms in proportion to their lines: a
changed sign, bound, index, factor, constant, default, order, message, or a check that is missing.
Each is planted in a copy of src, and the tests that run its line are run until one fails. Results
are kept as they come, so that a second run goes on where the first was stopped; survivors are
tried again when the tests have changed. The share found and the survivors end the output.

A survivor is equivalent (no input tells it from the original), dead (no user can reach it), or a
missing test. --judged names a file that says which: lines of "equivalent | NAME | why" or
"dead | NAME | why", NAME being the fault's as it is listed.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import queue
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from fault_sites import Fault, draw, room_of
from fault_tests import TestsByLine

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "pairrank"
MEMORY = 12 * 2**30
"""Bytes of addresses of one process: a fault may ask for all there are."""


class Copy:
    """A copy of src in which faults are planted, with its own compiled code."""

    def __init__(self, folder: Path, warm: Path | None) -> None:
        self.folder = folder
        self.package = folder / "src" / "pairrank"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(
            PACKAGE.parent, folder / "src", ignore=shutil.ignore_patterns("__pycache__")
        )
        self.cache = folder / "cache"
        if warm:
            shutil.copytree(warm, self.cache)
            self._adopt(self.cache)

    def _adopt(self, cache: Path) -> None:
        """Give the folders of another copy's compiled code the names that numba asks for here."""
        for sources in {path.parent for path in self.package.rglob("*.py")}:
            digest = hashlib.sha1(str(sources).encode()).hexdigest()
            for other in cache.glob(f"{sources.name}_*"):
                other.rename(cache / f"{sources.name}_{digest}")

    def environment(self, cache: Path) -> dict[str, str]:
        """Return the environment of a process that imports this copy."""
        path = os.pathsep.join([str(self.folder / "src"), str(ROOT / "tests")])
        return {
            **os.environ,
            "PYTHONPATH": path,
            "NUMBA_CACHE_DIR": str(cache),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    @contextlib.contextmanager
    def planted(self, fault: Fault) -> Iterator[Path]:
        """Plant a fault; yields the folder of compiled code to use with it."""
        file = self.package / fault.path
        source, times = file.read_bytes(), file.stat()
        cache = self.cache
        if fault.path.startswith("compiled/"):
            cache = self.folder / "planted_cache"
            shutil.rmtree(cache, ignore_errors=True)
            shutil.copytree(self.cache, cache, copy_function=os.link)
            for stem in importers_of(self.package / "compiled", file.stem):
                for old in cache.glob(f"*/{stem}.*"):
                    old.unlink()
        try:
            file.write_bytes(fault.planted(source))
            yield cache
        finally:
            file.write_bytes(source)
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def importers_of(folder: Path, stem: str) -> set[str]:
    """Return a file of a folder, and those of it that import it, directly or not."""
    texts = {file.stem: file.read_text("utf-8") for file in folder.glob("*.py")}
    found, waiting = {stem}, [stem]
    while waiting:
        word = re.compile(rf"^\s*(?:from|import)\b[^\n]*\b{waiting.pop()}\b", re.MULTILINE)
        new = {other for other, text in texts.items() if word.search(text)} - found
        found |= new
        waiting += new
    return found


def limited() -> None:
    """Limit the memory of a process that is about to start."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def run(
    arguments: list[str], environment: dict[str, str], seconds: float | None
) -> tuple[int | None, str]:
    """Run pytest; returns its status (None where it took too long) and what it printed."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        preexec_fn=limited if seconds else None,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        return None, ""
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def baseline(folder: Path, jobs: int, tests: list[str]) -> tuple[TestsByLine, Path]:
    """Run every test without a fault, under coverage, unless the same was done before."""
    key = digest_of([PACKAGE, *(ROOT / test for test in tests)])
    base, log, coverage = folder / "base", folder / "base.log", folder / "coverage"
    if not log.exists() or not log.read_text().endswith(f"{key}\n"):
        print("running the tests without a fault, under coverage", flush=True)
        copy = Copy(base, None)
        environment = {**copy.environment(copy.cache), "COVERAGE_FILE": str(coverage)}
        options = ["-n", str(jobs), "-vv", "--durations=0", f"--cov={copy.package}"]
        began = time.monotonic()
        status, output = run(
            [*options, "--cov-context=test", "--cov-report=", *tests], environment, None
        )
        if status not in (0, 1):
            sys.exit(f"the tests could not be run:\n{output[-2000:]}")
        print(f"  {time.monotonic() - began:.0f} s: {output.strip().splitlines()[-1]}", flush=True)
        log.write_text(f"{output}\n{key}\n")
    return TestsByLine(base / "src" / "pairrank", coverage, log.read_text()), base / "cache"


def digest_of(paths: list[Path]) -> str:
    """Return a hash of files and of all Python files in folders."""
    files = [file for path in paths for file in (path.rglob("*.py") if path.is_dir() else [path])]
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(str(file).encode() + file.read_bytes())
    return digest.hexdigest()


def tried(fault: Fault, copy: Copy, tests: TestsByLine, budget: float) -> dict[str, Any]:
    """Plant one fault and run its tests, the quickest of each function first, within a budget."""
    chosen, total = [], 0.0
    candidates = tests.of(fault.path, fault.line)
    for test in candidates:
        total += tests.seconds[test]
        if total > budget and chosen:
            break
        chosen.append(test)
    record: dict[str, Any] = {"tests": len(chosen), "of": len(candidates), "by": ""}
    if not chosen:
        return {**record, "found": False, "seconds": 0.0}
    names = copy.folder / "tests.txt"
    names.write_text("\n".join(chosen))
    began = time.monotonic()
    with copy.planted(fault) as cache:
        limit = 180.0 + 5.0 * min(total, budget)
        status, output = run(["-x", f"@{names}"], copy.environment(cache), limit)
    failed = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", output, re.MULTILINE)
    by = "time" if status is None else failed[1] if failed else f"status {status}" if status else ""
    return {
        **record,
        "found": status != 0,
        "by": by,
        "seconds": round(time.monotonic() - began, 1),
    }


def keyed(fault: Fault) -> str:
    """Return what a fault's result is kept under: its name and the state of its file."""
    digest = hashlib.sha256((PACKAGE / fault.path).read_bytes()).hexdigest()[:12]
    return f"{fault.name} @{fault.start} {digest}"


def kept(file: Path, tests_digest: str) -> dict[str, dict[str, Any]]:
    """Return the results of earlier runs that still hold: found, or survived these very tests."""
    if not file.exists():
        return {}
    records = map(json.loads, file.read_text().splitlines())
    return {
        each["key"]: each
        for each in records
        if each["found"] or each["tests_digest"] == tests_digest
    }


def judged(file: Path | None) -> dict[str, str]:
    """Return "equivalent" or "dead" by the names of faults."""
    lines = file.read_text().splitlines() if file else []
    parts = [[part.strip() for part in line.split(" | ")] for line in lines if " | " in line]
    return {name: verdict for verdict, name, *_ in parts}


def report(
    faults: list[Fault], results: dict[str, dict[str, Any]], verdicts: dict[str, str]
) -> None:
    """Print the share found, by room, and the survivors."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    survivors = []
    for fault in faults:
        result = results.get(keyed(fault))
        if result is None:
            continue
        outcome = "found" if result["found"] else verdicts.get(fault.name, "missed")
        for room in (room_of(fault.path), "all"):
            counts[room].update([outcome, "planted"])
        if not result["found"]:
            survivors.append((fault, outcome, result))
    print(f"\n{'room':16} planted  found  equivalent  dead  missed  found of the rest")
    for room, count in sorted(counts.items(), key=lambda item: (item[0] == "all", item[0])):
        rest = count["planted"] - count["equivalent"] - count["dead"]
        share = f"{count['found'] / rest:.0%}" if rest else "-"
        figures = (count["planted"], count["found"], count["equivalent"], count["dead"])
        print("{:16} {:7}  {:5}  {:10}  {:4}".format(room, *figures), end="")
        print(f"  {count['missed']:6}  {share:>17}")
    for fault, outcome, result in survivors:
        print(f"\n{outcome}: {fault.name}\n    {result['tests']} of {result['of']} tests")


def parsed() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200, help="faults to plant (200)")
    parser.add_argument("--seed", type=int, default=0, help="which are drawn (0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (all)")
    parser.add_argument("--room", help="only the faults of one room")
    parser.add_argument("--seconds", type=float, default=120.0, help="of tests a fault (120)")
    parser.add_argument(
        "--state", type=Path, default=ROOT / ".planted", help="where results are kept"
    )
    parser.add_argument("--judged", type=Path, help="verdicts on survivors")
    parser.add_argument("--list", action="store_true", help="list the faults, plant none")
    parser.add_argument("tests", nargs="*", default=["tests/public"], help="(tests/public)")
    return parser.parse_args()


def main() -> None:
    """Draw, plant, report."""
    options = parsed()
    faults = [
        fault
        for fault in draw(PACKAGE, options.count, options.seed)
        if options.room in (None, room_of(fault.path))
    ]
    if not faults:
        sys.exit(f"no fault is drawn in a room {options.room!r}; --list names the places of all")
    if options.list:
        print("\n".join(fault.name for fault in faults))
        return
    options.state.mkdir(parents=True, exist_ok=True)
    tests, cache = baseline(options.state, options.jobs, options.tests)
    tests_digest = digest_of([ROOT / each for each in options.tests])
    file = options.state / "results.jsonl"
    results = kept(file, tests_digest)
    waiting = [fault for fault in faults if keyed(fault) not in results]
    copies: queue.Queue[Copy] = queue.Queue()
    for job in range(min(options.jobs, len(waiting))):
        copies.put(Copy(options.state / f"copy{job}", cache))

    def one(fault: Fault) -> dict[str, Any]:
        copy = copies.get()
        try:
            result = tried(fault, copy, tests, options.seconds)
        finally:
            copies.put(copy)
        return {"key": keyed(fault), "tests_digest": tests_digest, **result}

    with ThreadPoolExecutor(max(1, options.jobs)) as pool, file.open("a") as stream:
        futures = {pool.submit(one, fault): fault for fault in waiting}
        for done, future in enumerate(as_completed(futures), 1):
            result = future.result()
            results[result["key"]] = result
            print(json.dumps(result), file=stream, flush=True)
            mark = f"found by {result['by']}" if result["found"] else "SURVIVED"
            name = futures[future].name
            print(f"[{done}/{len(waiting)}] {result['seconds']} s {name}: {mark}", flush=True)
    report(faults, results, judged(options.judged))


if __name__ == "__main__":
    main()
