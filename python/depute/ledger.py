"""Shows how the bytes of a .pte or .ptd file are used: the output of `depute size` as an object.

    ledger = depute.size("model.pte")
    ledger.kinds["constant"], ledger.savable
    ledger.to_dataframe().sort_values("bytes")

Each byte of the file is counted once. Files written by ExecuTorch work as well.
"""

from __future__ import annotations

import html
import json
import os
from typing import Any

from . import _depute
from ._errors import kind_of
from .manager import ExecutorchProgramManager
from .program import existing
from .report import Text


class ByteLedger:
    """The use of each byte of a file. Sizes and offsets are in bytes."""

    def __init__(self, native: _depute.ByteLedger) -> None:
        self._native = native
        self._as_dict = None

    def to_dict(self) -> dict[str, Any]:
        """Returns the output of `depute size --json` (docs/cli.md) as a dict."""
        return json.loads(self._native.json())

    def _dict(self):
        if self._as_dict is None:
            self._as_dict = self.to_dict()
        return self._as_dict

    @property
    def file(self) -> str:
        """The file name as given."""
        return self._dict()["file"]

    @property
    def bytes(self) -> int:
        """The size of the file."""
        return self._dict()["bytes"]

    @property
    def kinds(self) -> dict[str, int]:
        """Bytes by kind."""
        return self._dict()["kinds"]

    @property
    def entries(self) -> list[dict[str, Any]]:
        """A dict for each entry: offset, bytes, kind, owner, name; sorted by offset."""
        return self._dict()["entries"]

    @property
    def duplicates(self) -> list[dict[str, Any]]:
        """Content that the file has several times, with its copies."""
        return self._dict()["duplicates"]

    @property
    def savable(self) -> int:
        """Bytes that sharing duplicates would save."""
        return self._dict()["savable"]

    def text(self, top: int = 10) -> Text:
        """Returns groups with their shares, largest first, with the `top` largest entries of each; 0 lists all."""
        if top < 0:
            raise ValueError(f"top: expected 0 or more, not {top}")
        return Text(self._native.text(top))

    def to_dataframe(self) -> Any:
        """Returns a pandas DataFrame with a row for each entry, sorted by offset. Needs pandas."""
        import pandas

        return pandas.DataFrame(self.entries, columns=("offset", "bytes", "kind", "owner", "name"))

    def _repr_html_(self) -> str:
        def row(*cells, tag="td"):
            return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

        kinds = sorted(self.kinds.items(), key=lambda kind: -kind[1])
        rows = [row(kind, size, f"{100 * size / self.bytes:.1f} %") for kind, size in [*kinds, ("total", self.bytes)]]
        repeated = [row(each["how"], each["saves"], len(each["copies"])) for each in self.duplicates]
        tables = f"<table>{row('kind', 'bytes', 'share', tag='th')}{''.join(rows)}</table>"
        if repeated:
            tables += f"<table>{row('duplicated content', 'saves', 'copies', tag='th')}{''.join(repeated)}</table>"
        return f"<div><b>{html.escape(self.file)}</b>{tables}</div>"

    def __repr__(self) -> str:
        return self.text()


def size(file: Any) -> ByteLedger:
    """Returns the ByteLedger of a .pte or .ptd file.

    file: a path, bytes, or the result of to_executorch(). A file at a path is mapped, not read.
    """
    if isinstance(file, ExecutorchProgramManager):
        return ByteLedger(_depute.ledger_of_bytes(file.buffer, "program.pte"))
    if isinstance(file, (str, os.PathLike)):
        return ByteLedger(_depute.ledger_of_file(existing(file)))
    if isinstance(file, (bytes, bytearray, memoryview)):
        return ByteLedger(_depute.ledger_of_bytes(bytes(file), "<memory>"))
    raise TypeError(f"size: expected a path, bytes or an ExecutorchProgramManager, not {kind_of(file)}")
