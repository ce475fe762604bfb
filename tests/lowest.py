"""Print every requirement of pyproject.toml at its lowest declared version, for pip to keep to."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = project["optional-dependencies"].values()
for requirement in (*project["dependencies"], *(each for extra in extras for each in extra)):
    name, _, version = re.sub(r"\[.*\]", "", requirement).partition(">=")
    if name != project["name"]:
        print(f"{name}=={version.partition(',')[0]}")
