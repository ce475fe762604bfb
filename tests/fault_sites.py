"""Faults that could be planted in the package, found in its syntax trees and drawn by a seed."""

from __future__ import annotations

import ast
import random
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

OTHER: dict[type[ast.AST], type[ast.AST]] = {
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Div: ast.Mult, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In},
}
EXTREMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}
CHECKS = ("check", "refuse", "require", "ensure")

Change = tuple[str, Any, Any]
"""A kind of fault, the node that it replaces, and what replaces it."""


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
        """The fault's place and its change."""
        old, new = (" ".join(code.split())[:60] for code in (self.old, self.new))
        return f"{self.path}:{self.line}: {self.kind}: {old} -> {new}"

    def planted(self, source: bytes) -> bytes:
        """Return the source with the fault in it."""
        return source[: self.start] + self.new.encode() + source[self.stop :]


def room_of(path: str) -> str:
    """Return the room of a file below the package: its folder, or "files"."""
    room, slash, _ = path.partition("/")
    return room if slash else "files"


def draw(package: Path, count: int, seed: int) -> list[Fault]:
    """Draw faults: a room in proportion to its lines, then a kind, then a fault of that kind."""
    generator = random.Random(seed)
    lines: dict[str, int] = defaultdict(int)
    kinds: dict[str, dict[str, list[Fault]]] = defaultdict(lambda: defaultdict(list))
    for file in sorted(package.rglob("*.py")):
        path, source = file.relative_to(package).as_posix(), file.read_bytes()
        lines[room_of(path)] += source.count(b"\n")
        for fault in faults_of(path, source):
            kinds[room_of(path)][fault.kind].append(fault)
    drawn: dict[Fault, None] = {}
    while len(drawn) < count:
        (room,) = generator.choices(list(lines), list(lines.values()))
        if kinds[room]:
            kind = generator.choice(sorted(kinds[room]))
            fault = generator.choice(kinds[room][kind])
            if differs(fault, (package / fault.path).read_bytes()):
                drawn[fault] = None
    return list(drawn)


def differs(fault: Fault, source: bytes) -> bool:
    """Return whether the file still parses with a fault in it, to something else."""
    try:
        return ast.dump(ast.parse(fault.planted(source))) != ast.dump(ast.parse(source))
    except SyntaxError:
        return False


def faults_of(path: str, source: bytes) -> Iterator[Fault]:
    """Yield every fault that might be planted in a file."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in runnable(ast.parse(source)):
        for kind, old, new in (
            *of_operators(node), *of_values(node), *of_calls(node), *of_statements(node),
        ):  # fmt: skip
            start = starts[old.lineno - 1] + old.col_offset
            stop = starts[old.end_lineno - 1] + old.end_col_offset
            text = new if isinstance(new, str) else f"({ast.unparse(new)})"
            yield Fault(kind, path, old.lineno, start, stop, source[start:stop].decode(), text)


def runnable(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run: no annotation, nothing for type checkers only, no f-string."""
    is_for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
    if is_for_types or isinstance(node, ast.JoinedStr):
        return
    yield node
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns", "decorator_list", "type_params"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from runnable(child)


def of_operators(node: Any) -> Iterator[Change]:
    """Turn a sign, leave out a factor, move a bound, turn a condition."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield "factor", node, node.left
        yield "factor", node, node.right
    elif isinstance(node, ast.BinOp) and type(node.op) in OTHER:
        yield "sign", node, ast.BinOp(node.left, OTHER[type(node.op)](), node.right)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        yield "sign" if isinstance(node.op, ast.USub) else "condition", node, node.operand
    elif isinstance(node, ast.BoolOp):
        yield "condition", node, ast.BoolOp(OTHER[type(node.op)](), node.values)
    elif isinstance(node, ast.Compare):
        for at, op in enumerate(node.ops):
            kind = "bound" if isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) else "condition"
            ops = [*node.ops[:at], OTHER[type(op)](), *node.ops[at + 1 :]]
            yield kind, node, ast.Compare(node.left, ops, node.comparators)


def of_values(node: Any) -> Iterator[Change]:
    """Change a constant, an index or a default."""
    if isinstance(node, ast.Subscript):
        for part in ast.walk(node.slice):
            if isinstance(part, ast.Constant) and type(part.value) is int:
                yield "index", part, str(part.value + 1)
    elif isinstance(node, ast.Constant) and (new := other_constant(node.value)):
        yield "constant", node, new
    elif isinstance(node, ast.arguments):
        for given in (*node.defaults, *node.kw_defaults):
            if isinstance(given, ast.Constant) and given.value is not None:
                yield "default", given, other_constant(given.value) or "None"


def of_calls(node: Any) -> Iterator[Change]:
    """Swap two arguments, or turn min into max."""
    if isinstance(node, ast.Call):
        for at, both in enumerate(pairwise(node.args)):
            if not any(isinstance(each, ast.Starred) for each in both):
                swapped = [*node.args[:at], both[1], both[0], *node.args[at + 2 :]]
                yield "order", node, ast.Call(node.func, swapped, node.keywords)
        function = ast.unparse(node.func)
        name = function.rpartition(".")[2]
        if name in EXTREMES:
            yield "bound", node.func, function.removesuffix(name) + EXTREMES[name]


def of_statements(node: Any) -> Iterator[Change]:
    """Lose what an error says, a check, or a statement."""
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
        yield "message", node.exc.args[0], '"planted"'
    elif isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise) and not node.orelse:
        yield "check", node.test, "False"
    elif isinstance(node, ast.AugAssign):
        yield "statement", node, "pass"
    elif isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant):
        name = ast.unparse(getattr(node.value, "func", node.value)).rpartition(".")[2]
        yield "check" if name.lstrip("_").startswith(CHECKS) else "statement", node, "pass"


def other_constant(value: object) -> str | None:
    """Return another constant of the same type; None where there is none."""
    if isinstance(value, bool):
        return str(not value)
    if isinstance(value, int):
        return str(value + 1)
    if isinstance(value, float):
        return repr(2.0 * value or 1.0)
    return None
