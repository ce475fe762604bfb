"""What the site adds to Sphinx: pictures and tables of RESULTS.md, and docstrings as RST."""

from __future__ import annotations

import builtins
import re
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from docutils.statemachine import StringList
from results import RESULTS, table
from sphinx.util.nodes import nested_parse_with_titles


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
        rows = [[row[k] for k in kept] for row in [found.columns, *found.rows]]
        lines = [".. list-table::", "   :header-rows: 1", "   :class: numbers", ""]
        for row in rows:
            for place, text in enumerate(row):
                lines.append(f"   {'  -' if place else '* -'} {literal(text)}")
        return _parsed(self, lines)


def literal(text: str) -> str:
    """Return a text of RESULTS.md so that reStructuredText shows it as it is."""
    code = text.replace("`", "")
    for mark in "\\*_|":
        code = code.replace(mark, "\\" + mark)
    return code


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


DIRECTIVES = {"measured": Measured, "results": Results, "markdown": Markdown}
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
