"""Reports of prepared blocks: the client waits for the workers when it first reads one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, overload


class Reports(Sequence[Any]):
    """Reports that are asked for when they are read."""

    def __init__(self, ask: Callable[[], list[Any]]) -> None:
        self._ask = ask

    @functools.cached_property
    def _found(self) -> list[Any]:
        return self._ask()

    @overload
    def __getitem__(self, at: int) -> Any: ...
    @overload
    def __getitem__(self, at: slice) -> list[Any]: ...
    def __getitem__(self, at: int | slice) -> Any:
        return self._found[at]

    def __len__(self) -> int:
        return len(self._found)
