"""Plant faults in the package, one by one, and see whether the public tests find them.

Faults are drawn by a seed from the syntax trees of src, rooms in proportion to their lines: a
changed sign, bound, index, factor, constant, default, order, message, or a check that is missing.
Each is planted in a copy of src, and the tests that run its line are run until one fails. Results
are kept as they come, so that a second run continues an interrupted one; survivors are tried again
when the tests have changed. The share found and the survivors end the output.

A survivor is equivalent (no input tells it from the original), dead (no user can reach it), or a
missing test.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
import itertools
import json
import os
import queue
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from coverage import CoverageData

from fault_sites import Fault, draw, room_of

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "pairrank"
MEMORY = 12 * 2**30
"""Bytes of addresses of one process: a fault may ask for all there are."""


class Copy:
    """A copy of src in which faults are planted, with its own compiled code."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.package = folder, folder / "src" / "pairrank"
        shutil.rmtree(folder / "src", ignore_errors=True)
        shutil.copytree(PACKAGE, self.package, ignore=shutil.ignore_patterns("__pycache__"))

    def run(
        self, arguments: list[str], seconds: float | None = None, cache: str = "cache"
    ) -> tuple[int | None, str]:
        """Run pytest; returns its status (None where it took too long) and what it printed."""
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
            cwd=ROOT,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(self.folder / "src"), str(ROOT / "tests")]),
                "NUMBA_CACHE_DIR": str(self.folder / cache),
                "PYTHONDONTWRITEBYTECODE": "1",
                "COVERAGE_FILE": str(self.folder / "coverage"),
            },
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

    @contextlib.contextmanager
    def planted(self, fault: Fault) -> Iterator[str]:
        """Plant a fault; yields the folder of compiled code: an empty one if that may change."""
        file = self.package / fault.path
        source, times = file.read_bytes(), file.stat()
        shutil.rmtree(self.folder / "planted_cache", ignore_errors=True)
        try:
            file.write_bytes(fault.planted(source))
            yield "planted_cache" if fault.path.startswith("compiled/") else "cache"
        finally:
            file.write_bytes(source)
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def limited() -> None:
    """Limit the memory of a process that is about to start."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


class TestsByLine:
    """The tests that run each line of a package, and how long each test takes.

    Compiled functions leave no trace in coverage, nor does a constant that is read at import: the
    tests of such a line are those that run a line which mentions the name it is part of.
    """

    __test__ = False

    def __init__(self, copy: Copy, log: str) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        for taken, test in re.findall(r"^ *([\d.]+)s \w+ +(\S+?::.+)$", log, re.MULTILINE):
            self.seconds[test] += float(taken)
        self.bad = set(re.findall(r"^(?:FAILED|ERROR) (\S+?::.+?)(?: - .*)?$", log, re.MULTILINE))
        data = CoverageData(str(copy.folder / "coverage"))
        data.read()
        self.sources, self.contexts = {}, {}
        for file in sorted(copy.package.rglob("*.py")):
            path = file.relative_to(copy.package).as_posix()
            self.sources[path] = file.read_text("utf-8")
            self.contexts[path] = data.contexts_by_lineno(str(file))
        self.of_file: dict[str, set[str]] = defaultdict(set)
        for test in {each.rpartition("|")[0] for each in data.measured_contexts() if each}:
            self.of_file[test.partition("::")[0]].add(test)

    def of(self, path: str, line: int) -> list[str]:
        """Return the tests to run for a line: of those that run it, then of those that may do.

        The quickest case of every test function comes first.
        """
        top, lines = self.place(path, line)
        found, others = self.running(path, lines), set()
        if not found or path.startswith("compiled"):
            others = self.mentioning(top) - found
        return [*self.in_order(found - self.bad), *self.in_order(others - self.bad)]

    def place(self, path: str, line: int) -> tuple[str, Iterable[int]]:
        """Return the name right under the module around a line, and the innermost statement."""
        top, lines = "", range(line, line + 1)
        for node in ast.walk(ast.parse(self.sources[path])):  # the outermost first
            if isinstance(node, ast.stmt) and node.lineno <= line <= node.end_lineno:
                target = getattr(node, "targets", [getattr(node, "target", node)])[0]
                top = top or getattr(target, "name", "") or getattr(target, "id", "")
                body = getattr(node, "body", None)
                is_function = isinstance(node, ast.FunctionDef | ast.ClassDef)
                first = body[0].lineno if is_function else node.lineno
                last = body[0].lineno - 1 if body and not is_function else node.end_lineno
                lines = range(first, 1 + max(first, last))
        return top, lines

    def running(self, path: str, lines: Iterable[int]) -> set[str]:
        """Return the tests that run a line; a fixture's setup stands for the tests of its file."""
        found: set[str] = set()
        for context in {each for line in lines for each in self.contexts[path].get(line, ())}:
            test, _, phase = context.rpartition("|")
            found |= self.of_file[test.partition("::")[0]] if phase == "setup" else {test}
        return found - {""}

    def mentioning(self, name: str) -> set[str]:
        """Return the tests that run a line with a name, or with a compiled caller of it."""
        found, waiting, seen = set(), [name], {name, ""}
        while waiting:
            word = re.compile(rf"\b{re.escape(waiting.pop())}\b")
            for path, source in self.sources.items():
                lines = [n for n, text in enumerate(source.split("\n"), 1) if word.search(text)]
                found |= self.running(path, lines)
                if path.startswith("compiled"):
                    callers = {self.place(path, line)[0] for line in lines} - seen
                    waiting += callers
                    seen |= callers
        return found

    def in_order(self, tests: Iterable[str]) -> list[str]:
        """Return the quickest case of each test function, then the second, and so on."""
        cases: dict[str, list[str]] = defaultdict(list)
        for test in sorted(tests, key=lambda test: (self.seconds[test], test)):
            cases[test.partition("[")[0]].append(test)
        rounds = itertools.zip_longest(*cases.values())
        return [test for each in rounds for test in each if test]


def baseline(folder: Path, jobs: int, tests: list[str]) -> TestsByLine:
    """Run every test without a fault, under coverage, unless the same was done before."""
    key = digest_of([PACKAGE, *(ROOT / test for test in tests)])
    log, copy = folder / "base.log", Copy(folder / "copy0")
    if not log.exists() or not log.read_text().endswith(f"{key}\n"):
        print("running the tests without a fault, under coverage", flush=True)
        options = ["-n", str(jobs), "-vv", "--durations=0", f"--cov={copy.package}"]
        status, output = copy.run([*options, "--cov-context=test", "--cov-report=", *tests])
        if status not in (0, 1):
            sys.exit(f"the tests could not be run:\n{output[-2000:]}")
        print(f"  {output.strip().splitlines()[-1]}", flush=True)
        log.write_text(f"{output}\n{key}\n")
    return TestsByLine(copy, log.read_text())


def digest_of(paths: list[Path]) -> str:
    """Return a hash of files and of all Python files in folders."""
    files = [file for path in paths for file in (path.rglob("*.py") if path.is_dir() else [path])]
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(str(file).encode() + file.read_bytes())
    return digest.hexdigest()


def tried(fault: Fault, copy: Copy, tests: TestsByLine, budget: float) -> dict[str, Any]:
    """Plant one fault and run its tests, the quickest of each function first, within a budget."""
    candidates = tests.of(fault.path, fault.line)
    taken = itertools.accumulate(tests.seconds[test] for test in candidates)
    chosen = candidates[: max(1, sum(seconds <= budget for seconds in taken))]
    counts = {"tests": len(chosen), "of": len(candidates)}
    if not chosen:
        return {**counts, "found": False, "by": ""}
    names = copy.folder / "tests.txt"
    names.write_text("\n".join(chosen))
    with copy.planted(fault) as cache:
        status, output = copy.run(["-x", f"@{names}"], 180.0 + 5.0 * budget, cache)
    failed = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", output, re.MULTILINE)
    by = "time" if status is None else failed[1] if failed else f"status {status}"
    return {**counts, "found": status != 0, "by": by}


def keyed(fault: Fault) -> str:
    """Return what a fault's result is kept under: its name and the state of its file."""
    return f"{fault.name} @{fault.start} {digest_of([PACKAGE / fault.path])[:12]}"


def kept(file: Path, tests_digest: str) -> dict[str, dict[str, Any]]:
    """Return the results of earlier runs that still hold: found, or survived these very tests."""
    records = map(json.loads, file.read_text().splitlines() if file.exists() else ())
    return {
        each["key"]: each
        for each in records
        if each["found"] or each["tests_digest"] == tests_digest
    }


def report(faults: list[Fault], results: dict[str, dict[str, Any]]) -> None:
    """Print the share found, by room, and the survivors."""
    planted: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for fault in faults:
        result = results[keyed(fault)]
        for room in (room_of(fault.path), "all"):
            planted[room] += 1
            found[room] += result["found"]
        if not result["found"]:
            print(f"\nmissed: {fault.name}\n    {result['tests']} of {result['of']} tests")
    print(f"\n{'room':16} planted  found  share")
    for room, count in sorted(planted.items(), key=lambda item: (item[0] == "all", item[0])):
        print(f"{room:16} {count:7}  {found[room]:5}  {found[room] / count:5.0%}")


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
    parser.add_argument("--list", action="store_true", help="list the faults, plant none")
    parser.add_argument("tests", nargs="*", default=["tests/public"], help="(tests/public)")
    return parser.parse_args()


def main() -> None:
    """Draw, plant, report."""
    options = parsed()
    drawn = draw(PACKAGE, options.count, options.seed)
    faults = [fault for fault in drawn if options.room in (None, room_of(fault.path))]
    if not faults:
        sys.exit(f"no fault is drawn in a room {options.room!r}; --list names the places of all")
    if options.list:
        print("\n".join(fault.name for fault in faults))
        return
    options.state.mkdir(parents=True, exist_ok=True)
    tests = baseline(options.state, options.jobs, options.tests)
    tests_digest = digest_of([ROOT / each for each in options.tests])
    file = options.state / "results.jsonl"
    results = kept(file, tests_digest)
    waiting = [fault for fault in faults if keyed(fault) not in results]
    copies: queue.Queue[Copy] = queue.Queue()
    for job in range(options.jobs):
        copies.put(Copy(options.state / f"copy{job}"))

    def one(fault: Fault) -> dict[str, Any]:
        copy = copies.get()
        try:
            return tried(fault, copy, tests, options.seconds)
        finally:
            copies.put(copy)

    with ThreadPoolExecutor(options.jobs) as pool, file.open("a") as stream:
        futures = {pool.submit(one, fault): fault for fault in waiting}
        for done, future in enumerate(as_completed(futures), 1):
            fault = futures[future]
            result = {"key": keyed(fault), "tests_digest": tests_digest, **future.result()}
            results[result["key"]] = result
            print(json.dumps(result), file=stream, flush=True)
            mark = f"found by {result['by']}" if result["found"] else "SURVIVED"
            print(f"[{done}/{len(waiting)}] {fault.name}: {mark}", flush=True)
    report(faults, results)


if __name__ == "__main__":
    main()
