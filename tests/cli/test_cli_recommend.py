"""pairrank recommend: from a file of ratings to ranked items, or to one sentence."""

from __future__ import annotations

import csv
import io

import pytest

from cli_runs import invoke
from pairrank.datasets import make_ratings

RATINGS = make_ratings(40, 60, random_state=0)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("ratings") / "ratings.csv"
    lines = "".join(f"u{u},i{i},{r}\n" for u, i, r in zip(*RATINGS, strict=True))
    path.write_text("user,item,rating\n" + lines)
    return path


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def interrupt_at(monkeypatch, n_fits):
    """Let Ctrl-C come in the n-th fit of RankRLS, heeded there as a solver does."""
    from pairrank import RankRLS

    fits = []
    fit = RankRLS.fit

    def interrupted(self, *arguments, **options):
        fit(self, *arguments, **options)
        fits.append(self)
        if len(fits) == n_fits:
            self.status_ = "interrupted"
        return self

    monkeypatch.setattr(RankRLS, "fit", interrupted)
    monkeypatch.setattr("pairrank.recommend._pool._LARGEST_CHUNK", 1)


def test_control_c_keeps_the_users_that_are_done(file, tmp_path, monkeypatch):
    interrupt_at(monkeypatch, 3)
    result = invoke(["recommend", str(file), "-o", f"{tmp_path}/out.csv", "-q"])
    assert result.exit_code == 130
    assert len(result.stderr.splitlines()) == 1
    assert "out.csv holds the 2 users that were done" in result.stderr
    assert len({row["user"] for row in rows_of((tmp_path / "out.csv").read_text())}) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_control_c_before_any_user_leaves_the_old_file(file, tmp_path, monkeypatch):
    (tmp_path / "out.csv").write_text("as it was")
    interrupt_at(monkeypatch, 1)
    result = invoke(["recommend", str(file), "-o", f"{tmp_path}/out.csv", "-q"])
    assert result.exit_code == 130
    assert result.stderr == "pairrank: error: interrupted; nothing was written\n"
    assert (tmp_path / "out.csv").read_text() == "as it was"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_a_failure_while_writing_leaves_the_old_file(file, tmp_path, monkeypatch):
    (tmp_path / "out.csv").write_text("as it was")

    class Torn:
        def writerow(self, row):
            raise KeyboardInterrupt

    monkeypatch.setattr("pairrank.cli.recommend.csv.writer", lambda *_, **__: Torn())
    result = invoke(["recommend", str(file), "-o", f"{tmp_path}/out.csv", "-q"])
    assert result.exit_code == 130
    assert (tmp_path / "out.csv").read_text() == "as it was"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
