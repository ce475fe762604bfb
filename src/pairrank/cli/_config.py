"""Options of a command in a TOML file: read by --config, written by --write-config."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand

from pairrank.cli._errors import UsageError
from pairrank.exceptions import FileFormatError, PairrankError

Value = bool | int | float | str | list[str]
Settings = dict[str, Value]
"""The given options and arguments of a command, by their long names."""

_LEFT_OUT = ("config", "write-config")


class Config(NamedTuple):
    """The content of a file of options."""

    path: str
    values: Mapping[str, Any]


class UnknownKey(UsageError):
    """A key of a file of options is not an option of the command."""

    def __init__(self, config: Config, key: str, known: Iterable[str], context: Any) -> None:
        self.option_name = f"-{key}" if len(key) == 1 else f"--{key}"
        self.possibilities = difflib.get_close_matches(key, list(known), n=3)
        hint = f" (did you mean {' or '.join(self.possibilities)}?)" * bool(self.possibilities)
        super().__init__(f"{config.path}: there is no option {key!r}{hint}.", context)


def read_config(path: str) -> Config:
    """Return the content of a TOML file of options."""
    from pairrank.io._streams import name_of, read_bytes

    try:
        return Config(name_of(path), tomllib.loads(read_bytes(path).decode("utf-8-sig")))
    except UnicodeDecodeError:
        raise FileFormatError(f"{name_of(path)}: is not UTF-8 text; convert it") from None
    except tomllib.TOMLDecodeError as error:
        raise FileFormatError(
            f"{name_of(path)}: is not valid TOML ({error}); write one option per line, as in "
            'qid = "query"'
        ) from None


class ConfigurableCommand(TyperCommand):
    """A command that takes options from the `Config` in its context's `obj`.

    Those of the command line replace them; --no-NAME switches off a flag of the file. Afterwards
    `obj` has the given options as `Settings`.
    """

    def make_parser(self, ctx: Any) -> Any:
        """Return the parser of the arguments, which knows --no-NAME of each flag."""
        parser = super().make_parser(ctx)
        flags: list[Any] = [param for param in self.params if _is_flag(param)]
        for flag in flags:
            off = [f"--no-{key_of(flag)}"]
            parser.add_option(flag, off, dest=flag.name, action="store_const", const=False)
        return parser

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse the arguments; options that they leave out are those of the file."""
        params = {key_of(param): param for param in self.params}
        config = ctx.obj if isinstance(ctx.obj, Config) else Config("", {})
        ctx.default_map = texts_of(config, params, ctx)
        words, *_ = self.make_parser(ctx).parse_args(args=list(args))
        given = {name: word for name, word in words.items() if word is not None}
        given = {**ctx.default_map, **given}
        rest = super().parse_args(ctx, args)
        ctx.obj = {
            key: _value_of(given[param.name], ctx.params.get(param.name))
            for key, param in params.items()
            if param.name in given and key not in _LEFT_OUT
        }
        return rest


def key_of(param: Any) -> str:
    """Return the key of an option, its long name without dashes, or the name of an argument."""
    return str(max(param.opts, key=len).lstrip("-"))


def texts_of(config: Config, params: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Return the options of a file by parameter, as texts such as the command line has them."""
    texts = {}
    for key, value in config.values.items():
        if key not in params or key in _LEFT_OUT:
            raise UnknownKey(config, key, params.keys() - set(_LEFT_OUT), context)
        param = params[key]
        items = value if isinstance(value, list) else [value]
        if _is_flag(param):
            kind, fits = "true or false", isinstance(value, bool)
            text: Any = value
        elif getattr(param, "multiple", False):
            kind, fits = "a list of texts", all(map(_is_scalar, items))
            text = [str(item) for item in items]
        else:
            kind, fits = "text or a number", _is_scalar(value)
            text = str(value)
        if not fits:
            raise UsageError(f"{config.path}: {key} must be {kind} (got {value!r}).", context)
        texts[param.name] = text
    return texts


def _is_flag(param: Any) -> bool:
    return bool(getattr(param, "is_flag", False)) and param.name != "help"


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _value_of(word: Any, parsed: Any) -> Value:
    """Return an option as a TOML value: a number if it is parsed as one, else as it was typed."""
    if isinstance(parsed, int | float):
        return parsed
    return word if isinstance(word, bool) else [*word] if isinstance(word, list) else str(word)


def settings_of(context: typer.Context, model: str, ranker: Any) -> Settings:
    """Return the given options of a command, and the model and the seed in any case."""
    return {"model": model, "seed": ranker._seed(), **context.obj}


def toml_of(settings: Settings, *notes: str) -> str:
    """Return options as the text of a TOML file.

    Examples
    --------
    >>> print(toml_of({"C": 0.5, "drop": ["id"]}).partition("\\n")[2], end="")
    C = 0.5
    drop = ["id"]
    """
    title = f"pairrank {version('pairrank')}: train --config THIS_FILE repeats the run"
    lines = [f"# {line}" for line in (title, *notes)]
    lines += [f"{key} = {_literal(value)}" for key, value in settings.items()]
    return "\n".join([*lines, ""])


def _literal(value: Value) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def check_config_output(path: str, settings: Settings, output: str, *inputs: str | None) -> None:
    """Refuse a file of options that cannot be written or is another file of the run."""
    from pathlib import Path

    from pairrank.cli._rows import check_output

    if path == "-":
        raise UsageError("--write-config writes a file: name it.")
    if output != "-" and Path(path).resolve() == Path(output).resolve():
        raise UsageError("--write-config and --output name the same file; name two.")
    check_output(path, *inputs)
    try:
        toml_of(settings).encode()
    except UnicodeEncodeError:
        raise PairrankError(
            f"{path}: an option is not valid Unicode, which TOML cannot hold; rename the file or "
            "column, or leave out --write-config"
        ) from None


def write_settings(path: str, settings: Settings, *notes: str) -> None:
    """Write options to a TOML file, atomically."""
    from pairrank.io import atomic_write

    with atomic_write(path, "w") as file:
        file.write(toml_of(settings, *notes))
