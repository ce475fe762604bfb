"""Plant faults in the package, one by one, and see whether the tests that you name find them.

A seed draws faults from the syntax trees of src, rooms in proportion to their lines. Each is
planted in a copy of src, and the tests are run until one fails. A survivor is equivalent (no input
tells it from the original), dead, or a missing test.
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


def is_found(fault, copy, options):
    """Plant one fault in a copy of src, run the tests until one fails, and say what found it."""
    file = copy / "src" / "pairrank" / fault.path
    source, times = file.read_bytes(), file.stat()
    cache = copy / ("fresh" if fault.room == "compiled" else "cache")
    shutil.rmtree(copy / "fresh", ignore_errors=True)
    path = os.pathsep.join([str(copy / "src"), str(ROOT / "tests")])
    written = {"PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", *options.tests]
    file.write_bytes(source[: fault.start] + fault.new.encode() + source[fault.stop :])
    try:
        done = subprocess.run(
            command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path, **written}, text=True,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=options.seconds, check=False,
        )  # fmt: skip
        by = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
        by = done.returncode and (by[1] if by else f"status {done.returncode}")
    except subprocess.TimeoutExpired:
        by = "time"
    finally:
        file.write_bytes(source)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    print(f"{fault}: {f'found by {by}' if by else 'SURVIVED'}", flush=True)
    return bool(by)


def main():
    """Draw, plant, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=50, help="faults to plant (50)")
    parser.add_argument("--seed", type=int, default=0, help="which are drawn (0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (all)")
    parser.add_argument("--room", help="only faults of one folder or file of the package")
    parser.add_argument("--seconds", type=float, default=900.0, help="for the tests (900)")
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

    def one(fault):
        copy = copies.get()
        try:
            return is_found(fault, copy, options)
        finally:
            copies.put(copy)

    with ThreadPoolExecutor(options.jobs) as pool:
        found = list(pool.map(one, faults))
    for room in [*sorted({fault.room for fault in faults}), ""]:
        of_room = [
            was for fault, was in zip(faults, found, strict=True) if room in ("", fault.room)
        ]
        print(f"{room or 'all':20} {sum(of_room):4} of {len(of_room)} found")


if __name__ == "__main__":
    main()
