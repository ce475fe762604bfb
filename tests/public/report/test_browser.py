"""A report and a notebook's table in headless Chromium: no console error, no sideways scrolling."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from pairrank import RankNCG, RankSVM, compare
from pairrank.datasets import make_queries
from pairrank.report import report

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
PROBE = """<script>
document.documentElement.dataset.overflow =
  document.documentElement.scrollWidth - document.documentElement.clientWidth;
document.documentElement.dataset.pictures =
  [...document.querySelectorAll("svg")].filter(each => each.clientHeight < 20).length;
</script></body>"""


def opened(text, path, width):
    """Open a page in Chromium; return its document after loading, and the console's lines."""
    path.write_text(text, encoding="utf-8")
    arguments = [
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--enable-logging=stderr", "--v=0", f"--window-size={width},900", "--dump-dom",
        f"--user-data-dir={path.parent / 'profile'}", path.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(
        [CHROMIUM, *arguments], capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


pytest.importorskip("jinja2", reason="reports need jinja2")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium: install the package chromium"
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    data = make_queries(12, 15, 4, random_state=0)
    rows = {"X": data.X, "y": data.y, "qid": data.qid}
    first = RankNCG(covariance="rows").fit(**rows)
    page = report(first, **rows, other=RankSVM().fit(**rows)).html
    comparison = tmp_path_factory.mktemp("comparison") / "page.html"
    compare(**rows, models="ranksvm,ridge", cv=2, inner_cv=0).save(comparison)
    notebook = f"<!doctype html><html><body>{first._repr_html_()}</body></html>"
    return {"report": page, "comparison": comparison.read_text("utf-8"), "notebook": notebook}


@pytest.mark.parametrize("name", ["report", "comparison", "notebook"])
def test_pages_open_without_a_console_error(pages, name, tmp_path):
    document, console = opened(pages[name], tmp_path / "page.html", 1280)
    assert "<table" in document
    assert console == []


def test_console_errors_are_seen(tmp_path):
    text = "<!doctype html><html><body><script>console.error('broken')</script></body></html>"
    _, console = opened(text, tmp_path / "page.html", 1280)
    assert any("broken" in line for line in console)


def test_a_report_refuses_scripts(pages, tmp_path):
    document, console = opened(
        pages["report"].replace("</body>", PROBE), tmp_path / "page.html", 1280
    )
    assert "data-overflow" not in document
    assert any("Content Security Policy" in line for line in console)


@pytest.mark.parametrize("width", [1280, 420])
@pytest.mark.parametrize("name", ["report", "comparison"])
def test_pages_fit_the_window(pages, name, width, tmp_path):
    probed = POLICY.sub("", pages[name]).replace("</body>", PROBE)
    document, _ = opened(probed, tmp_path / "page.html", width)
    assert 'data-overflow="0"' in document
    assert 'data-pictures="0"' in document
