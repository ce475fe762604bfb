"""Plant faults in the package, one by one, and see whether tests find them.

A seed draws faults from the syntax trees of src, rooms in proportion to their lines. Each is
planted in a copy of src, and the tests that run its function are run, the quickest first, until one
fails. A survivor is equivalent (no input tells it from the original), dead, or a missing test.
"""

from __future__ import annotations

import argparse
import ast
import os
import queue
import random
import re
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

from coverage import CoverageData

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "pairrank"
STATE = ROOT / ".planted"
BOTH = (
    *((ast.Add, ast.Sub), (ast.Div, ast.Mult), (ast.And, ast.Or), (ast.Lt, ast.LtE)),
    *((ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn)),
)
OTHER = {one: other for pair in BOTH for one, other in (pair, pair[::-1])}
EXTREMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}


class Fault(NamedTuple):
    """A file, the part of its source that is replaced, and by what."""

    path: str
    line: int
    start: int
    stop: int
    old: str
    new: str

    @property
    def room(self):
        return self.path.partition("/")[0]

    def __str__(self):
        return f"{self.path}:{self.line}: {self.old[:60]!r} -> {self.new[:60]!r}"


def draw(count, seed, room=None):
    """Draw faults: a room in proportion to its lines, then one of its faults."""
    generator, found, lines = random.Random(seed), defaultdict(list), Counter()
    for file in sorted(PACKAGE.rglob("*.py")):
        path, source = file.relative_to(PACKAGE).as_posix(), file.read_bytes()
        name = path.partition("/")[0]
        if room in (None, name):
            lines[name] += source.count(b"\n")
            found[name] += faults_of(path, source)
    drawn = {}
    while len(drawn) < min(count, sum(map(len, found.values()))):
        (name,) = generator.choices(list(lines), list(lines.values()))
        drawn |= dict.fromkeys(generator.sample(found[name], min(1, len(found[name]))))
    return list(drawn)


def faults_of(path, source):
    """Return every fault that might be planted in a file, outside annotations and f-strings."""
    starts = list(accumulate(map(len, source.splitlines(keepends=True)), initial=0))
    found, waiting = [], [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        for old, new in changes_of(node):
            start = starts[old.lineno - 1] + old.col_offset
            stop = starts[old.end_lineno - 1] + old.end_col_offset
            text = new if isinstance(new, str) else f"({ast.unparse(new)})"
            found.append(Fault(path, old.lineno, start, stop, source[start:stop].decode(), text))
        for field, value in ast.iter_fields(node):
            if field not in ("annotation", "returns", "decorator_list", "type_params"):
                each = value if isinstance(value, list) else [value]
                waiting += [child for child in each if isinstance(child, ast.AST)
                            and not isinstance(child, ast.JoinedStr)]  # fmt: skip
    return found


def changes_of(node):
    """Yield nodes with what may replace them: operators, bounds, conditions, then the others."""
    match node:
        case ast.BinOp(op=ast.Mult()):
            yield from ((node, node.left), (node, node.right))
        case ast.BinOp() if type(node.op) in OTHER:
            yield node, ast.BinOp(node.left, OTHER[type(node.op)](), node.right)
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            yield node, node.operand
        case ast.BoolOp():
            yield node, ast.BoolOp(OTHER[type(node.op)](), node.values)
        case ast.Compare():
            ops = [OTHER[type(node.ops[0])](), *node.ops[1:]]
            yield node, ast.Compare(node.left, ops, node.comparators)
        case _:
            yield from other_changes_of(node)


def other_changes_of(node):
    """Yield changes of constants, messages, checks, statements and the order of arguments."""
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            yield node, repr(not value if isinstance(value, bool) else 2 * value or value + 1)
        case ast.Raise(exc=ast.Call(args=[message, *_])):
            yield message, '"planted"'
        case ast.If(body=[*_, ast.Raise()], orelse=[]):
            yield node.test, "False"
        case ast.AugAssign() | ast.Expr(value=ast.Call()):
            yield node, "pass"
        case ast.Call():
            name = ast.unparse(node.func).rpartition(".")[2]
            if name in EXTREMES:
                yield node.func, ast.unparse(node.func).removesuffix(name) + EXTREMES[name]
            for at, (one, other) in enumerate(pairwise(node.args)):
                if ast.Starred not in (type(one), type(other)):
                    swapped = [*node.args[:at], other, one, *node.args[at + 2 :]]
                    yield node, ast.Call(node.func, swapped, node.keywords)


def pytest_in(copy, arguments, timeout=None, cache="cache"):
    """Run pytest on a copy of src; return its status (None: it took too long) and its output."""
    path = os.pathsep.join([str(copy / "src"), str(ROOT / "tests")])
    environment = os.environ | {
        "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(copy / cache),
        "PYTHONDONTWRITEBYTECODE": "1", "COVERAGE_FILE": str(STATE / "coverage"),
    }  # fmt: skip
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, errors="replace", timeout=timeout, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stdout


class Tests:
    """The tests that run each line of a copy of the package, and the seconds that each takes."""

    __test__ = False

    def __init__(self, copy, jobs, tests):
        options = ["-n", str(jobs), "-vv", "--durations=0", f"--cov={copy / 'src' / 'pairrank'}"]
        _, log = pytest_in(copy, [*options, "--cov-context=test", "--cov-report=", *tests])
        print(log.strip().splitlines()[-1], flush=True)
        self.bad = set(re.findall(r"^(?:FAILED|ERROR) (\S+?::.+?)(?: - .*)?$", log, re.MULTILINE))
        self.seconds = Counter()
        for taken, test in re.findall(r"^ *([\d.]+)s \w+ +(\S+?::.+)$", log, re.MULTILINE):
            self.seconds[test] += float(taken)
        data = CoverageData(str(STATE / "coverage"))
        data.read()
        package = copy / "src" / "pairrank"
        self.lines = {
            Path(file).relative_to(package).as_posix(): data.contexts_by_lineno(file)
            for file in data.measured_files()
        }

    def of(self, fault):
        """Return the tests that run a fault's function, else its file, else files that name it.

        Compiled functions leave no trace in coverage, nor does what runs at import.
        """
        tree, where = ast.parse((PACKAGE / fault.path).read_bytes()), self.lines.get(fault.path, {})
        inside = {line for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
                  and node.lineno <= fault.line <= node.end_lineno
                  for line in range(node.body[0].lineno, node.end_lineno + 1)}  # fmt: skip
        found = self.running(where, inside) or self.running(where, where)
        if not found or fault.path.startswith("compiled/"):
            word = re.compile(rf"\b{Path(fault.path).stem}\b")
            for path, lines in self.lines.items():
                if word.search((PACKAGE / path).read_text("utf-8")):
                    found |= self.running(lines, lines)
        return sorted(found - self.bad, key=lambda test: (self.seconds[test], test))

    def running(self, contexts, lines):
        names = (name.rpartition("|") for line in lines for name in contexts.get(line, ()))
        return {test for test, _, phase in names if phase == "run"}


def is_found(fault, copy, tests, budget):
    """Plant one fault and run its tests within a budget of seconds; say what found it."""
    candidates = tests.of(fault)
    taken = accumulate(tests.seconds[test] for test in candidates)
    chosen = candidates[: max(1, sum(seconds <= budget for seconds in taken))]
    (copy / "tests.txt").write_text("\n".join(chosen))
    file = copy / "src" / "pairrank" / fault.path
    source, times = file.read_bytes(), file.stat()
    shutil.rmtree(copy / "fresh", ignore_errors=True)
    cache = "fresh" if fault.path.startswith("compiled/") else "cache"
    file.write_bytes(source[: fault.start] + fault.new.encode() + source[fault.stop :])
    try:
        asked = ["-x", f"@{copy / 'tests.txt'}"]
        status, output = pytest_in(copy, asked, 180 + 5 * budget, cache) if chosen else (0, "")
    finally:
        file.write_bytes(source)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    by = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", output, re.MULTILINE)
    said = f"found by {by[1] if by else status}" if status != 0 else "SURVIVED"
    print(f"{fault}: {said} ({len(chosen)} of {len(candidates)} tests)", flush=True)
    return status != 0


def main():
    """Draw, plant, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="faults to plant (200)")
    parser.add_argument("--seed", type=int, default=0, help="which are drawn (0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (all)")
    parser.add_argument("--room", help="only faults of one folder or file of the package")
    parser.add_argument("--seconds", type=float, default=120.0, help="of tests per fault (120)")
    parser.add_argument("--list", action="store_true", help="list the faults, plant none")
    parser.add_argument("tests", nargs="*", default=["tests/public"], help="(tests/public)")
    options = parser.parse_args()
    faults = draw(options.count, options.seed, options.room)
    if options.list:
        print(*faults, sep="\n")
        return
    copies = queue.Queue()
    for job in range(options.jobs):
        copies.put(STATE / f"copy{job}")
        shutil.rmtree(STATE / f"copy{job}" / "src", ignore_errors=True)
        shutil.copytree(ROOT / "src", STATE / f"copy{job}" / "src")
    tests = Tests(STATE / "copy0", options.jobs, options.tests)

    def one(fault):
        copy = copies.get()
        try:
            return is_found(fault, copy, tests, options.seconds)
        finally:
            copies.put(copy)

    with ThreadPoolExecutor(options.jobs) as pool:
        found = list(pool.map(one, faults))
    planted = Counter(fault.room for fault in faults)
    kept = Counter(fault.room for fault, was_found in zip(faults, found, strict=True) if was_found)
    for room, count in [*sorted(planted.items()), ("all", len(faults))]:
        print(f"{room:20} {kept[room] if room != 'all' else sum(found):4} of {count} found")


if __name__ == "__main__":
    main()
