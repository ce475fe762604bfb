"""Optional libraries, imported where they are used; an absent one is an error with the remedy."""

from importlib import import_module
from typing import Any

from pairrank.exceptions import MissingLibraryError


def require(library: str, extra: str, purpose: str) -> Any:
    """Import an optional library.

    Parameters
    ----------
    library : str
        The module to import, such as "matplotlib.pyplot".
    extra : str
        The extra of pairrank that installs it.
    purpose : str
        What needs it, as the subject of a sentence in the plural: "plots".

    Returns
    -------
    module

    Raises
    ------
    MissingLibraryError
        If the library is not installed.
    """
    try:
        return import_module(library)
    except ImportError as error:
        name = library.partition(".")[0]
        raise MissingLibraryError(
            f"{purpose} need {name}, which is not installed: pip install 'pairrank[{extra}]'"
        ) from error
