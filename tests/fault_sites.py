"""Faults that could be planted in a source file, found in its syntax tree."""

from __future__ import annotations

import ast
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple


class Fault(NamedTuple):
    """A change of some bytes of one file."""

    kind: str
    path: str
    line: int
    start: int
    stop: int
    old: str
    new: str

    @property
    def name(self) -> str:
        """Name the fault by its place and its change."""
        return f"{self.path}:{self.line}: {self.kind}: {shown(self.old)} -> {shown(self.new)}"

    def planted(self, source: bytes) -> bytes:
        """Return the source with the fault in it."""
        return source[: self.start] + self.new.encode() + source[self.stop :]


def shown(code: str) -> str:
    """Return code as one short line."""
    line = " ".join(code.split())
    return line if len(line) <= 60 else f"{line[:57]}..."


ARITHMETIC = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Div: ("/", "*")}
COMPARISONS = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
}  # fmt: skip
CONDITIONS = {
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"),
}  # fmt: skip
LOGIC = {ast.And: ("and", "or"), ast.Or: ("or", "and")}
EXTREMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}
CHECKS = ("check", "refuse", "require", "ensure")


class Sites:
    """The faults of one file; each method takes a node of the tree and yields faults."""

    def __init__(self, path: str, source: bytes) -> None:
        self.path, self.source = path, source
        starts = [0]
        for line in source.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self.starts = starts
        self.tree = ast.parse(source)

    def all(self) -> Iterator[Fault]:
        """Yield every fault that might be planted."""
        for node in self._runnable(self.tree):
            for method in FINDERS.get(type(node), ()):
                yield from method(self, node)

    def differs(self, fault: Fault) -> bool:
        """Tell whether the file still parses with a fault in it, to something else."""
        try:
            return ast.dump(ast.parse(fault.planted(self.source))) != self._dump
        except SyntaxError:
            return False

    @cached_property
    def _dump(self) -> str:
        return ast.dump(self.tree)

    def _runnable(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes that run: no annotation, nothing for type checkers only."""
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            return
        yield node
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list", "type_params"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from self._runnable(child)

    def _offset(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column

    def _span(self, node: ast.AST) -> tuple[int, int]:
        start = self._offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        return start, self._offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def text(self, node: ast.AST) -> str:
        """Return the source of a node."""
        start, stop = self._span(node)
        return self.source[start:stop].decode()

    def _replaced(self, kind: str, node: ast.AST, new: str) -> Fault:
        start, stop = self._span(node)
        return Fault(kind, self.path, node.lineno, start, stop, self.text(node), new)  # type: ignore[attr-defined]

    def _between(
        self, kind: str, left: ast.AST, right: ast.AST, change: tuple[str, str]
    ) -> Iterator[Fault]:
        """Change the operator that stands between two nodes."""
        begin, end = self._span(left)[1], self._span(right)[0]
        at = self.source.find(change[0].encode(), begin, end)
        if at >= 0:
            line = self.source.count(b"\n", 0, at) + 1
            yield Fault(kind, self.path, line, at, at + len(change[0]), *change)

    def arithmetic(self, node: ast.BinOp) -> Iterator[Fault]:
        """Turn a sign, or leave out a factor."""
        change = ARITHMETIC.get(type(node.op))
        if change and not isinstance(node.left, ast.JoinedStr):
            yield from self._between("sign", node.left, node.right, change)
        if isinstance(node.op, ast.Mult):
            yield self._replaced("factor", node, f"({self.text(node.left)})")
            yield self._replaced("factor", node, f"({self.text(node.right)})")

    def minus(self, node: ast.UnaryOp) -> Iterator[Fault]:
        """Leave out a minus or a `not`."""
        if isinstance(node.op, ast.USub | ast.Not):
            kind = "sign" if isinstance(node.op, ast.USub) else "condition"
            yield self._replaced(kind, node, f"({self.text(node.operand)})")

    def comparison(self, node: ast.Compare) -> Iterator[Fault]:
        """Move a bound, or turn a condition."""
        sides = [node.left, *node.comparators]
        for op, (left, right) in zip(node.ops, pairwise(sides), strict=True):
            if type(op) in COMPARISONS:
                yield from self._between("bound", left, right, COMPARISONS[type(op)])
            elif type(op) in CONDITIONS:
                yield from self._between("condition", left, right, CONDITIONS[type(op)])

    def logic(self, node: ast.BoolOp) -> Iterator[Fault]:
        """Take `or` for `and`."""
        yield from self._between("condition", node.values[0], node.values[1], LOGIC[type(node.op)])

    def index(self, node: ast.Subscript) -> Iterator[Fault]:
        """Take the neighbour of a place."""
        for part in ast.walk(node.slice):
            if isinstance(part, ast.Constant) and type(part.value) is int:
                yield self._replaced("index", part, str(part.value + 1))

    def number(self, node: ast.Constant) -> Iterator[Fault]:
        """Change a constant."""
        if (new := other_constant(node.value)) is not None:
            yield self._replaced("constant", node, new)

    def default(self, node: ast.arguments) -> Iterator[Fault]:
        """Change the default of a parameter."""
        for given in (*node.defaults, *node.kw_defaults):
            if isinstance(given, ast.Constant):
                new = other_constant(given.value)
                if new is not None or isinstance(given.value, str):
                    yield self._replaced("default", given, new or "None")

    def call(self, node: ast.Call) -> Iterator[Fault]:
        """Swap two arguments, or take the maximum for the minimum."""
        for first, second in pairwise(node.args):
            if not isinstance(first, ast.Starred) and not isinstance(second, ast.Starred):
                both = self.text(first), self.text(second)
                start, stop = self._span(first)[0], self._span(second)[1]
                between = self.source[self._span(first)[1] : self._span(second)[0]].decode()
                old, new = between.join(both), between.join(reversed(both))
                yield Fault("order", self.path, first.lineno, start, stop, old, new)
        name = self.text(node.func).rpartition(".")[2]
        if name in EXTREMES:
            new = self.text(node.func)[: -len(name)] + EXTREMES[name]
            yield self._replaced("bound", node.func, new)

    def message(self, node: ast.Raise) -> Iterator[Fault]:
        """Lose what an error says."""
        if isinstance(node.exc, ast.Call) and node.exc.args:
            yield self._replaced("message", node.exc.args[0], '"planted"')

    def check(self, node: ast.If) -> Iterator[Fault]:
        """Lose a check that raises."""
        if isinstance(node.body[-1], ast.Raise) and not node.orelse:
            yield self._replaced("check", node.test, "False")

    def lost(self, node: ast.stmt) -> Iterator[Fault]:
        """Lose a statement."""
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Constant):
            return
        name = self.text(call.func).rpartition(".")[2] if isinstance(call, ast.Call) else ""
        kind = "check" if name.lstrip("_").startswith(CHECKS) else "statement"
        yield self._replaced(kind, node, "pass")


def other_constant(value: object) -> str | None:
    """Return another constant of the same type; None where there is none."""
    if isinstance(value, bool):
        return str(not value)
    if isinstance(value, int):
        return str(value + 1)
    if isinstance(value, float):
        return repr(2.0 * value if value else 1.0)
    return None


FINDERS: dict[type, tuple[Callable, ...]] = {
    ast.BinOp: (Sites.arithmetic,),
    ast.UnaryOp: (Sites.minus,),
    ast.Compare: (Sites.comparison,),
    ast.BoolOp: (Sites.logic,),
    ast.Subscript: (Sites.index,),
    ast.Constant: (Sites.number,),
    ast.arguments: (Sites.default,),
    ast.Call: (Sites.call,),
    ast.Raise: (Sites.message,),
    ast.If: (Sites.check,),
    ast.Expr: (Sites.lost,),
    ast.AugAssign: (Sites.lost,),
}


def room_of(path: str) -> str:
    """Return the room of a file below the package: its folder, or "files"."""
    parts = Path(path).parts
    return parts[0] if len(parts) > 1 else "files"


def draw(package: Path, count: int, seed: int) -> list[Fault]:
    """Draw faults from a package: rooms in proportion to their lines, then kinds alike."""
    lines: Counter[str] = Counter()
    found: dict[str, list[Fault]] = defaultdict(list)
    sites: dict[str, Sites] = {}
    for file in sorted(package.rglob("*.py")):
        path, source = file.relative_to(package).as_posix(), file.read_bytes()
        lines[room_of(path)] += source.count(b"\n")
        sites[path] = Sites(path, source)
        found[room_of(path)] += sites[path].all()
    generator = random.Random(seed)
    return [
        fault
        for room, n in shares(lines, count).items()
        for fault in drawn_by_kind(found[room], n, generator, sites)
    ]


def shares(lines: Counter[str], count: int) -> dict[str, int]:
    """Divide `count` among rooms in proportion to their lines, by largest remainders."""
    exact = {room: count * n / lines.total() for room, n in sorted(lines.items())}
    whole = {room: int(share) for room, share in exact.items()}
    by_remainder = sorted(exact, key=lambda room: whole[room] - exact[room])
    for room in by_remainder[: count - sum(whole.values())]:
        whole[room] += 1
    return whole


def drawn_by_kind(
    faults: list[Fault], count: int, generator: random.Random, sites: dict[str, Sites]
) -> list[Fault]:
    """Draw a kind, then a fault of that kind that was not drawn before, `count` times."""
    kinds: dict[str, list[Fault]] = defaultdict(list)
    for fault in dict.fromkeys(faults):
        kinds[fault.kind].append(fault)
    for same in kinds.values():
        generator.shuffle(same)
    drawn: list[Fault] = []
    while kinds and len(drawn) < count:
        kind = generator.choice(sorted(kinds))
        fault = kinds[kind].pop()
        if sites[fault.path].differs(fault):
            drawn.append(fault)
        if not kinds[kind]:
            del kinds[kind]
    return drawn
