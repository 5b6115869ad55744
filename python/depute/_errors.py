"""Errors of the compiler."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable
from typing import Any

# Command-line options in messages, and their names in this package.
_WORDS = (
    (re.compile(r"--bound (\w+)=\.\.(\w+)"), r'bounds={"\1": (0, \2)}'),
    (re.compile(r"--quantize static"), 'quantize="static"'),
    (re.compile(r"--calibrate (?:\w+=)?FILE\.npz"), "calibrate=..."),
    (re.compile(r"--kernels FILE"), "--kernels FILE of the command line"),
    (re.compile(r"--cache DIR"), "cache=..."),
    (re.compile(r"--cache-size\b"), "cache_size"),
    (re.compile(r"--cache\b"), "cache"),
    (re.compile(r"--backend\b"), "partitioner"),
    (re.compile(r"--bound\b"), "bounds"),
    (re.compile(r"--quantize\b"), "quantize"),
    (re.compile(r"--calibrate\b"), "calibrate"),
    (re.compile(r"--integer-io input0, output0, \.\.\."), 'integer_io=["input0", "output0"]'),
    (re.compile(r"--integer-io\b"), "integer_io"),
    (re.compile(r"--constant\b"), "constant_methods"),
    (re.compile(r"`depute backends`"), "depute.backends()"),
    (re.compile(r"`depute explain`"), "explain()"),
)


def kind_of(value: object) -> str:
    """Returns the name of a value's class for messages: "list", "torch.Tensor"."""
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")


def in_python(text: str) -> str:
    """Replaces command-line options in a message by the arguments of this package."""
    for option, words in _WORDS:
        text = option.sub(words, text)
    return text


class Error(RuntimeError):
    """A diagnostic of the compiler: the cause, the place, and what to do about it.

    `str(error)` is the complete text, as on the command line: "[read_pt2] graph.nodes[3]: unknown tensor 'x_2'".
    """

    code: str  # the step that failed: "read_pt2", "to_backend.backend-failed"
    where: str  # place in the input; may be empty
    message: str  # the cause
    hint: str  # what to do; may be empty
    source: str  # the line of the user's model, "model.py:12"; may be empty
    details: list  # a line for each item that the message counts

    def __init__(self, code: str, where: str = "", message: str = "", hint: str = "", source: str = "", details: Iterable[str] = (), text: str = "") -> None:
        super().__init__(text or f"[{code}] {where}{': ' if where else ''}{message}")
        self.code = code
        self.where = where
        self.message = message
        self.hint = hint
        self.source = source
        self.details = list(details)

    def __str__(self) -> str:
        text = super().__str__()
        return f"{text}\n  help: {self.hint}" if self.hint else text

    def __reduce__(self) -> Any:
        fields = (self.code, self.where, self.message, self.hint, self.source, self.details, self.args[0])
        return (type(self), fields)


class MissingFile(Error, FileNotFoundError):
    """An input file does not exist."""

    def __new__(cls, *_: Any, **__: Any) -> MissingFile:
        return FileNotFoundError.__new__(cls)

    def __init__(self, code: str, where: str, *others: Any) -> None:
        super().__init__(code, where, *others)
        self.errno, self.filename = errno.ENOENT, where

    def __str__(self) -> str:
        return str(self.args[0])


def of_compiler(*fields: Any) -> Error:
    """Creates an Error from the compiler's fields, in the terms of this package."""
    code, where, message, hint, source, details, text = fields
    return Error(code, in_python(where), in_python(message), in_python(hint), source, list(map(in_python, details)), in_python(text))
