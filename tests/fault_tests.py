"""Which tests run a line: one run of the tests under coverage, with a context for each test."""

from __future__ import annotations

import ast
import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

from coverage import CoverageData


class TestsByLine:
    """The tests that run each line of a package, and how long each test takes.

    What is compiled leaves no trace in coverage, nor does a constant that is read at import: the
    tests of such a line are those that run a line which mentions the name it is part of.
    """

    __test__ = False

    def __init__(self, package: Path, coverage_file: Path, log: str) -> None:
        self.package = package
        self.seconds: dict[str, float] = defaultdict(float)
        self.bad = set(re.findall(r"^(?:FAILED|ERROR) (\S+?::.+?)(?: - .*)?$", log, re.MULTILINE))
        for taken, test in re.findall(r"^ *([\d.]+)s \w+ +(\S+?::.+)$", log, re.MULTILINE):
            self.seconds[test] += float(taken)
        self._data = CoverageData(str(coverage_file))
        self._data.read()
        self._of_file: dict[str, list[str]] = defaultdict(list)
        self._contexts = sorted(filter(None, self._data.measured_contexts()))
        for test in {context.rpartition("|")[0] for context in self._contexts}:
            self._of_file[test.partition("::")[0]].append(test)

    def of(self, path: str, line: int) -> list[str]:
        """Return the tests to run for a line: of those that run it, then of those that may do.

        The quickest case of every test function comes first.
        """
        place = _Place(self._sources[path], line)
        found = self._running(path, place.lines)
        others: set[str] = set()
        if not found or path.startswith("compiled"):
            others = self._mentioning({place.top}) - found
        if not found and not others:
            others = self._running(path, range(1, 1 + self._sources[path].count("\n")))
        return [*self._in_order(found - self.bad), *self._in_order(others - self.bad)]

    def _in_order(self, tests: Iterable[str]) -> list[str]:
        cases: dict[str, list[str]] = defaultdict(list)
        for test in sorted(tests, key=lambda test: (self.seconds[test], test)):
            cases[test.partition("[")[0]].append(test)
        rounds = itertools.zip_longest(*cases.values())
        return [test for each in rounds for test in each if test]

    def _running(self, path: str, lines: Iterable[int]) -> set[str]:
        found: set[str] = set()
        by_line = self._lines[path]
        for context in {context for line in lines for context in by_line.get(line, ())}:
            test, _, phase = context.rpartition("|")
            # A fixture of a whole file is made in the setup of its first test.
            found.update(self._of_file[test.partition("::")[0]] if phase == "setup" else [test])
        return found

    def _mentioning(self, names: set[str]) -> set[str]:
        found: set[str] = set()
        seen = set(names)
        while names:
            name = names.pop()
            word = re.compile(rf"\b{re.escape(name)}\b")
            for path, source in self._sources.items():
                hits = {n for n, text in enumerate(source.split("\n"), 1) if word.search(text)}
                found |= self._running(path, hits)
                if path.startswith("compiled"):
                    callers = {_Place(source, line).top for line in hits} - seen
                    names |= callers
                    seen |= callers
        return found

    @cached_property
    def _sources(self) -> dict[str, str]:
        files = sorted(self.package.rglob("*.py"))
        return {f.relative_to(self.package).as_posix(): f.read_text("utf-8") for f in files}

    @cached_property
    def _lines(self) -> dict[str, dict[int, list[str]]]:
        """The contexts of each line of each file, without the empty one of an import."""
        found: dict[str, dict[int, list[str]]] = defaultdict(dict)
        for file in self._data.measured_files():
            if Path(file).is_relative_to(self.package):
                path = Path(file).relative_to(self.package).as_posix()
                for line, contexts in self._data.contexts_by_lineno(file).items():
                    found[path][line] = [context for context in contexts if context]
        return found


class _Place:
    """The statement around a line, and the name right under the module that it is part of."""

    def __init__(self, source: str, line: int) -> None:
        around = list(_around(_tree(source), line))
        self.top = next(filter(None, map(_name, around[:1])), "")
        self.lines: Iterable[int] = ()
        if around:
            node = around[-1]
            body = getattr(node, "body", None)
            is_function = isinstance(node, ast.FunctionDef | ast.ClassDef)
            last = node.end_lineno if not body or is_function else body[0].lineno - 1
            first = body[0].lineno if is_function else node.lineno
            self.lines = range(first, max(first, last or first) + 1)


_trees: dict[int, ast.Module] = {}


def _tree(source: str) -> ast.Module:
    return _trees.setdefault(hash(source), ast.parse(source))


def _around(node: ast.AST, line: int) -> Iterator[ast.stmt]:
    """Yield the statements around a line, the outermost first."""
    for child in ast.iter_child_nodes(node):
        begin, end = getattr(child, "lineno", 0), getattr(child, "end_lineno", 0)
        if begin <= line <= end or isinstance(child, ast.excepthandler | ast.match_case):
            if isinstance(child, ast.stmt):
                yield child
            yield from _around(child, line)


def _name(node: ast.stmt) -> str:
    """Return the name that a statement defines."""
    if isinstance(node, ast.Assign):
        node = node.targets[0]  # type: ignore[assignment]
    elif isinstance(node, ast.AnnAssign):
        node = node.target  # type: ignore[assignment]
    return getattr(node, "name", "") or getattr(node, "id", "")
