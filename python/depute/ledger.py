"""Where the bytes of a .pte or .ptd file go: what `depute size` prints, as an object.

    ledger = depute.size("model.pte")
    ledger.kinds["constant"], ledger.savable
    ledger.to_dataframe().sort_values("bytes")

Each byte of the file is counted once. Files of ExecuTorch are told as well as Depute's.
"""

import html
import json
import os

from . import _depute
from .manager import ExecutorchProgramManager
from .program import _kind
from .report import Text


class ByteLedger:
    """All bytes of a file, by what they are. Sizes and offsets are bytes."""

    def __init__(self, native):
        self._native = native
        self._told = None

    def to_dict(self):
        """What `depute size --json` prints (docs/cli.md), as a dict."""
        return json.loads(self._native.json())

    def _dict(self):
        if self._told is None:
            self._told = self.to_dict()
        return self._told

    file = property(lambda self: self._dict()["file"], doc="Its name, as it was given.")
    bytes = property(lambda self: self._dict()["bytes"], doc="The size of the file.")
    kinds = property(lambda self: self._dict()["kinds"], doc="Bytes by kind.")
    entries = property(lambda self: self._dict()["entries"], doc="A dict for each: offset, bytes, kind, owner, name; by offset.")
    duplicates = property(lambda self: self._dict()["duplicates"], doc="What is there several times, with its copies.")
    savable = property(lambda self: self._dict()["savable"], doc="Bytes that sharing duplicates would save.")

    def text(self, top=10):
        """Groups with their shares, the largest first, of each the `top` largest entries; 0: all."""
        if top < 0:
            raise ValueError(f"top: expected 0 or more, not {top}")
        return Text(self._native.text(top))

    def to_dataframe(self):
        """A pandas DataFrame with a row for each entry, by offset. Needs pandas."""
        import pandas

        return pandas.DataFrame(self.entries, columns=("offset", "bytes", "kind", "owner", "name"))

    def _repr_html_(self):
        def row(*cells, tag="td"):
            return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

        kinds = sorted(self.kinds.items(), key=lambda kind: -kind[1])
        rows = [row(kind, size, f"{100 * size / self.bytes:.1f} %") for kind, size in [*kinds, ("total", self.bytes)]]
        repeated = [row(each["how"], each["saves"], len(each["copies"])) for each in self.duplicates]
        tables = f"<table>{row('kind', 'bytes', 'share', tag='th')}{''.join(rows)}</table>"
        if repeated:
            tables += f"<table>{row('there several times', 'saves', 'copies', tag='th')}{''.join(repeated)}</table>"
        return f"<div><b>{html.escape(self.file)}</b>{tables}</div>"

    def __repr__(self):
        return self.text()


def size(file):
    """Where the bytes of a .pte or .ptd file go: a ByteLedger.

    file: a path, bytes, or what to_executorch gave. A file that is named is mapped, not read.
    """
    if isinstance(file, ExecutorchProgramManager):
        return ByteLedger(_depute.ledger_of_bytes(file.buffer, "program.pte"))
    if isinstance(file, (str, os.PathLike)):
        return ByteLedger(_depute.ledger_of_file(os.fspath(file)))
    if isinstance(file, (bytes, bytearray, memoryview)):
        return ByteLedger(_depute.ledger_of_bytes(bytes(file), "<memory>"))
    raise TypeError(f"size takes a path, bytes or an ExecutorchProgramManager, not {_kind(file)}")
