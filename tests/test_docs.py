"""The site, without building it: its reference, toctrees, tables, pictures, checks of pages."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import pytest

from pairrank.exceptions import MissingLibraryError
from reference import documented, public_objects

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
if not DOCS.exists():
    pytest.skip("docs/ is not part of an installed package", allow_module_level=True)
PAGES = sorted(
    path
    for path in DOCS.rglob("*.rst")
    if not {"_build", "_templates", "gallery", "generated"} & set(path.relative_to(DOCS).parts)
)


DOCUMENTED = [f"{module}.{name}" for module, names in documented().items() for name in names]


def test_every_public_name_is_in_the_reference():
    names = {name.rpartition(".")[2] for name in public_objects() if "._" not in name}
    assert names - {name.rpartition(".")[2] for name in DOCUMENTED} == set()


def test_the_reference_names_what_exists_once():
    assert len(DOCUMENTED) == len(set(DOCUMENTED)) > 100
    for name in DOCUMENTED:
        module, _, thing = name.rpartition(".")
        try:
            assert hasattr(importlib.import_module(module), thing), name
        except MissingLibraryError:
            assert module.startswith(("pairrank.torch", "pairrank.dask")) or thing == "RankNet"


def test_every_page_is_in_a_toctree():
    listed = {(DOCS / "index").resolve()}
    for page in PAGES:
        for tree in re.findall(
            r"\.\. toctree::\n((?: +\S.*\n|\n)+)", page.read_text("utf-8") + "\n"
        ):
            for entry in (line.strip() for line in tree.splitlines()):
                target = re.search(r"<(.*)>", entry)
                if entry and not entry.startswith(":"):
                    listed.add((page.parent / (target[1] if target else entry)).resolve())
    assert {page.with_suffix("").resolve() for page in PAGES} <= listed
    built = {DOCS / "gallery" / "index"}
    assert {page for page in listed if not page.with_suffix(".rst").exists()} <= built


def test_links_of_the_readme_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)]+)\)|(?:src|srcset)=\"([^\"]+)\"", text)
    assert len(targets) > 10
    for target in ("".join(each) for each in targets):
        assert (ROOT / target).exists(), target


def test_every_table_and_picture_of_the_site_is_in_the_results(helper):
    results = helper("results")
    asked = [
        argument
        for page in PAGES
        for argument in re.findall(
            r"\.\. results:: (.*)\n(?:   :columns: (.*)\n)?", page.read_text("utf-8")
        )
    ]
    assert len(asked) >= 8
    for argument, columns in asked:
        section, subsection, number = argument.split(" / ")
        table = results.table(section, subsection.strip("-"), int(number))
        assert table.rows
        assert {each.strip() for each in columns.split(";") if each} <= set(table.columns)
    with pytest.raises(KeyError, match="no table under 'Nothing'"):
        results.table("Nothing")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_picture_of_the_readme_has_the_figures_of_the_results(helper, theme):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    picture = (DOCS / "_static" / f"time-against-rows-{theme}.svg").read_text(encoding="utf-8")
    described = re.search(r"<dc:description>(.*?)</dc:description>", picture)[1]
    wanted = helper("pictures").time_against_rows()
    assert json.loads(described.replace("&quot;", '"')) == json.loads(json.dumps(wanted))
    assert len(wanted["pairrank"][0]) == 7


def test_every_picture_of_the_pages_can_be_drawn_for_both_themes(helper, tmp_path):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    pictures = helper("pictures")
    text = "".join(page.read_text("utf-8") for page in PAGES)
    assert set(re.findall(r"\.\. measured:: (\S+)", text)) == set(pictures.PICTURES)
    name = min(pictures.PICTURES)
    pictures.draw(name, tmp_path)
    assert sorted(path.name for path in tmp_path.glob("*.svg")) == [
        f"{name}-dark.svg", f"{name}-light.svg"
    ]  # fmt: skip


def test_the_built_site_asks_no_other_host(helper):
    built = DOCS / "_build" / "html"
    if not (built / "index.html").exists():
        pytest.skip("the site is not built: make docs")
    assert helper("check_site").complaints(built) == []
