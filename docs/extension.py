"""What the site adds to Sphinx: measured pictures, tables and decisions; docstrings as RST."""

from __future__ import annotations

import builtins
import re
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import decisions
import measures
import reproduced
from docutils import nodes
from docutils.parsers.rst import Directive, directives
from docutils.statemachine import StringList
from reproduced import Found, claim_id, escaped, prose, row_id
from results import RESULTS, table
from sphinx.util.nodes import nested_parse_with_titles

from reproduction.page import entries_of, grid


def _parsed(directive: Directive, lines: list[str]) -> list[nodes.Node]:
    """Return the nodes of some lines of reStructuredText."""
    holder = nodes.container()
    directive.state.nested_parse(StringList(lines), directive.content_offset, holder)
    return holder.children


class Measured(Directive):
    """`.. measured:: NAME`: a picture of `pictures.PICTURES`, which `:alt:` describes."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {"alt": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Return one image for light pages and one for dark ones, and the content as a caption."""
        lines = []
        for theme in ("light", "dark"):
            lines += [
                f".. image:: /_pictures/{self.arguments[0]}-{theme}.svg",
                f"   :alt: {self.options['alt']}",
                f"   :class: only-{theme} measured",
                "",
            ]
        caption = _parsed(self, list(self.content))
        return [*_parsed(self, lines), nodes.container("", *caption, classes=["caption"])]


class Results(Directive):
    """`.. results:: SECTION / SUBSECTION / NUMBER`: a table of RESULTS.md, or some columns."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Any]] = {"columns": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        self.state.document.settings.record_dependencies.add(str(RESULTS))
        section, subsection, number = (each.strip() for each in self.arguments[0].split(" / "))
        found = table(section, subsection.strip("-"), int(number))
        names = [each.strip() for each in self.options.get("columns", "").split(";") if each]
        kept = [found.columns.index(each) for each in names] or range(len(found.columns))
        rows = [[[escaped(row[k])] for k in kept] for row in [found.columns, *found.rows]]
        return _list_table(self, rows, "numbers")


Entry = list[str]
"""The paragraphs of an entry of a table, in reStructuredText."""


def _list_table(
    directive: Directive,
    rows: list[list[Entry]],
    looks: str,
    *,
    widths: str = "auto",
    ids: list[str] | None = None,
) -> list[nodes.Node]:
    """Return a table; the first row is the header, and `ids` are what others can be linked by."""
    lines = [".. list-table::", "   :header-rows: 1", f"   :class: {looks}"]
    lines += [f"   :widths: {widths}", ""]
    for row in rows:
        for place, entry in enumerate(row):
            first, *rest = entry or [""]
            lines.append(f"   {'  -' if place else '* -'} {first}".rstrip())
            for paragraph in rest:
                lines += ["", f"       {paragraph}"]
            lines += [""] * bool(rest)
    found = _parsed(directive, lines)
    body = next(node for each in found for node in each.findall(nodes.tbody))
    for line, name in zip(body.children, ids or [""] * len(body.children), strict=True):
        line["ids"] += [name] if name else []
    return found


class Decisions(Directive):
    """`.. decisions::`: each situation with its ranker and what was measured."""

    def run(self) -> list[nodes.Node]:
        """Return the table; a line whose cells have not run says so."""
        found = _reproduction(self)
        rows: list[list[Entry]] = [[["What you have or want"], ["Take"], ["Measured"]]]
        for line in decisions.LINES:
            rows.append([[line.situation], [line.take], decisions.reasons(line, found)])
        return _list_table(self, rows, "stack", widths="22 20 58")


class Verdicts(Directive):
    """`.. verdicts:: STUDY`: its claims with their verdicts; without STUDY, the count of all."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table, or the sentence with the counts."""
        found = _reproduction(self)
        if not self.arguments:
            return _parsed(self, [counted(found)])
        name = self.arguments[0]
        study = found.studies[name]
        rows: list[list[Entry]] = [[["Claim"], ["Verdict"], ["Figures"]]]
        ids = []
        for claim in study.claims:
            verdict, figure = claim.judge(study)
            shown = [prose(figure)] if figure else []
            rows.append([[prose(claim.text)], [f"**{verdict}**"], shown])
            ids.append(claim_id(name, claim.text))
        return _list_table(self, rows, "stack", widths="38 14 48", ids=ids)


def counted(found: Found) -> str:
    """Return how many claims hold, do not hold, and are not run."""
    counts = Counter(
        claim.judge(study)[0] for study in found.studies.values() for claim in study.claims
    )
    return (
        f"Of {counts.total()} claims **{counts['holds']} hold**, {counts['does not hold']} do not "
        f"hold, and {counts['not run']} are not run."
    )


class Measurements(Directive):
    """`.. measurements::`: the tables that the decisions link to, row by row."""

    def run(self) -> list[nodes.Node]:
        """Return a section per table."""
        found = _reproduction(self)
        return [self._section(found, *each) for each in decisions.SHOWN]

    def _section(self, found: Found, name: str, table_name: str) -> nodes.section:
        table, study = found.table(name, table_name)
        title = (table.title[:1].upper() + table.title[1:]).replace("`", "")
        section = nodes.section(ids=[row_id(name, table_name)], names=[])
        section += nodes.title(title, title)
        source = f"{study.title}, {table.label}. {study.note}"
        for paragraph in (source, f"{entries_of(table)} {table.note}"):
            section += _parsed(self, [prose(paragraph.strip())])
        shown, notes = grid(study, table)
        rows = [[[as_shown(text)] for text in row] for row in shown]
        names = [row_id(name, table_name, row[0]) for row in shown[1:]]
        section += (
            _list_table(self, rows, "numbers", ids=names) if names else _parsed(self, ["Not run."])
        )
        for number, note in notes.items():
            section += _parsed(self, [prose(f"[{number}] {note}")])
        return section


def _reproduction(directive: Directive) -> Found:
    """Return what the repository holds, and note that the page depends on it."""
    made_of = (decisions.__file__, measures.__file__, reproduced.__file__, str(RESULTS))
    directive.state.document.settings.record_dependencies.add(*made_of, *reproduced.result_files())
    return reproduced.Found()


def as_shown(entry: str) -> str:
    """Return an entry of REPRODUCTION.md as reStructuredText: ours, then the paper's."""
    ours, _, paper = entry.partition("<br>")
    if not paper:
        return escaped(ours)
    return f"{escaped(ours)} *(paper: {escaped(paper.strip('_'))})*".strip()


class Markdown(Directive):
    """`.. markdown:: FILE`: headings, lists and paragraphs of a file beside README.md."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the sections below the file's title."""
        path = RESULTS.parents[1] / self.arguments[0]
        self.state.document.settings.record_dependencies.add(str(path))
        lines = as_rst(path.read_text(encoding="utf-8")).splitlines()
        holder = nodes.section()
        nested_parse_with_titles(self.state, StringList(lines), holder)
        return holder.children


def as_rst(markdown: str) -> str:
    """Return the Markdown that CHANGELOG.md uses as reStructuredText, without its title."""
    lines: list[str] = []
    for line in markdown.partition("\n")[2].splitlines():
        heading = re.match(r"(##+) (.*)", line)
        if heading:
            title = heading[2].strip("[]")
            lines += ["", title, ("-" if len(heading[1]) == 2 else "~") * len(title), ""]
            continue
        if line.startswith("- ") and lines and lines[-1] and not lines[-1].startswith(("- ", "  ")):
            lines.append("")
        lines.append(line)
    text = re.sub(r"(?<!`)`([^`\n]+)`(?!`)", r"``\1``", "\n".join(lines))
    return re.sub(r"\[([^]]+)\]\(([^)]+)\)", r"`\1 <\2>`__", text)


DIRECTIVES = {
    "measured": Measured,
    "results": Results,
    "markdown": Markdown,
    "decisions": Decisions,
    "verdicts": Verdicts,
    "measurements": Measurements,
}
"""The directives by name."""

_CODE = re.compile(r"(``.+?``|:\w+:`.+?`|`.+?`_?)")
_MARK = re.compile(r"(?<!\\)\||(?<=\w)_(?!\w)")


def escape_docstring(
    app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Escape bars and final underscores of plain text: docstrings have them as in mathematics."""
    margin = -1
    for place, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if margin >= 0 and line.strip() and indent <= margin:
            margin = -1
        if line.lstrip().startswith(".. math::"):
            margin = indent
        if margin < 0 and not line.lstrip().startswith((">>>", "...", "..")):
            parts = _CODE.split(line)
            parts[::2] = (_MARK.sub(lambda mark: "\\" + mark[0], part) for part in parts[::2])
            lines[place] = "".join(parts)


def resolve_short_name(app: Any, env: Any, node: Any, content: Any) -> Any:
    """Link a name of the top, such as `RankSVM`, or of one module only, from every module."""
    name, where = node.get("reftarget", ""), node.get("refdoc", "")
    if node.get("refdomain") != "py" or "." in name:
        return None
    domain = env.get_domain("py")
    known = [full for full in domain.objects if full.rpartition(".")[2] == name]
    target = f"pairrank.{name}" if f"pairrank.{name}" in known or not known else known[0]
    if len(known) > 1 and target not in known:
        return None
    return domain.resolve_xref(env, where, app.builder, "obj", target, node, content)


def skip_member(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool:
    """Leave out fields of named tuples, and what scikit-learn documents on pages of its own."""
    generic = type(member).__name__ in {"_tuplegetter", "RequestMethod"}
    foreign = (getattr(member, "__module__", "") or "").startswith("sklearn")
    return skip or generic or foreign or (name.startswith("set_") and name.endswith("_request"))


def name_the_file(gallery: dict[str, Any], file: str) -> None:
    """Let an example read files beside it: the gallery runs examples without `__file__`."""
    builtins.__dict__["__file__"] = str(Path(gallery["src_dir"], "../examples", file).resolve())
