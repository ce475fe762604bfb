"""Make the small files of examples/data, on which the README's commands run; all numbers are made.

Run from the project's root: python examples/make_data.py
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank.datasets import make_queries
from pairrank.io import Rows, write_rows

HERE = Path(__file__).parent / "data"


def write_csv(name: str, header: str, rows: Iterable[Iterable[Any]]) -> None:
    """Write a CSV file, with numbers to four digits."""
    with (HERE / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header.split(","))
        writer.writerows([shown(each) for each in row] for row in rows)


def shown(value: Any) -> Any:
    """Return a number to four digits, other values unchanged."""
    return f"{value:.4g}" if isinstance(value, float) else value


def write_judged(sizes: dict[str, int], seed: int) -> None:
    """Write judged documents with identifiers as svmlight text; a file has so many queries."""
    made = make_queries(sum(sizes.values()), (8, 14), 6, 4, random_state=seed)
    first = 0
    for name, n_queries in sizes.items():
        there = np.flatnonzero((made.qid >= first) & (made.qid < first + n_queries))
        docid = np.array([f"D{row:04}" for row in there])
        rows = Rows(made.X[there].round(3), made.y[there], made.qid[there] + 1, docid=docid)
        write_rows(HERE / name, rows)
        first += n_queries


def columns(rng: np.random.Generator, n_rows: int) -> tuple[NDArray[np.float64], ...]:
    """Return three features and a score that they predict."""
    features = rng.normal(size=(3, n_rows))
    return (*features, features[0] - 0.5 * features[1] + rng.normal(size=n_rows))


def main() -> None:
    """Write every file."""
    HERE.mkdir(exist_ok=True)
    write_judged({"train.txt": 20, "vali.txt": 8, "test.txt": 8}, seed=0)
    rng = np.random.default_rng(0)
    price, length, age, score = columns(rng, 160)
    grade, query = np.digitize(score, [-1.0, 1.0]), np.arange(160) // 10 + 1
    clicks = zip(grade, query, rng.integers(1, 90, 160), price, length, age, strict=True)
    write_csv("clicks.csv", "grade,query,views,price,length,age", clicks)
    mass, size, power, strength = columns(rng, 12)
    write_csv("items.csv", "mass,size,power", zip(mass, size, power, strict=True))
    i, j = rng.integers(0, 12, (2, 80))
    wins = strength[i] - strength[j] > rng.normal(size=80)
    better, worse = np.where(wins, i, j), np.where(wins, j, i)
    write_csv("comparisons.csv", "i,j", zip(better[i != j], worse[i != j], strict=True))
    age, dose, stage, risk = columns(rng, 120)
    time, end = rng.exponential(300.0 * np.exp(-risk)) + 1.0, rng.exponential(600.0, 120) + 1.0
    patients = zip(np.minimum(time, end), (time <= end) + 0, age, dose, stage, strict=True)
    write_csv("patients.csv", "days,died,age,dose,stage", patients)


if __name__ == "__main__":
    main()
