"""Reading ahead: a thread makes the next item while the caller uses the last one."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Generator, Iterator
from typing import Any, TypeVar

Item = TypeVar("Item")

IN_FLIGHT = 2
"""So many items exist at a time: the one in use, and the next one."""

_END = object()


class _Failure:
    def __init__(self, error: BaseException) -> None:
        self.error = error


@contextlib.contextmanager
def read_ahead(make: Callable[[], Generator[Item, None, None]]) -> Iterator[Iterator[Item]]:
    """Lend an iterator over the items of `make()`, which a thread runs.

    The thread has ended when the context ends, whatever ends it; an error of the thread is raised
    from the iterator. An item is in use until the next one is asked for.

    Yields
    ------
    iterator
    """
    items: queue.SimpleQueue[Any] = queue.SimpleQueue()
    permits, stop = threading.Semaphore(IN_FLIGHT), threading.Event()

    def work() -> None:
        try:
            with contextlib.closing(make()) as made:
                while True:
                    permits.acquire()
                    if stop.is_set():
                        return
                    item = next(made, _END)
                    items.put(item)
                    if item is _END:
                        return
                    del item
        except BaseException as error:
            items.put(_Failure(error))

    def taken() -> Iterator[Item]:
        while (item := items.get()) is not _END:
            if isinstance(item, _Failure):
                raise item.error
            yield item
            del item
            permits.release()

    thread = threading.Thread(target=work, name="pairrank-reader", daemon=True)
    try:
        thread.start()  # an interrupt may end it, though the thread runs
        yield taken()
    finally:
        stop.set()
        permits.release()
        if thread.is_alive():
            thread.join()
