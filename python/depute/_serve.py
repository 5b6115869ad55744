"""Runs a Python backend as a separate program, which `depute --backend NAME` finds as depute-backend-NAME."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._depute import serve_backend as _serve


def serve_backend(partitioner: Callable[..., Any], backend: Any, *, options: Mapping[str, str] | None = None, description: str = "", version: str = "", argv: Sequence[str] | None = None) -> int:
    """Runs the worker side of docs/backend-protocol.md until its input ends; then the process ends.

        #!/usr/bin/env python3
        # depute-backend-chip
        import depute
        from chip import ChipBackend, ChipPartitioner

        depute.serve_backend(ChipPartitioner, ChipBackend, options={"cores": "how many to use"}, version="chip 3.1")

    `partitioner` creates a Partitioner; options such as `--backend chip:cores=2` become keyword arguments (strings).
    `backend` is a subclass of BackendDetails. `options` maps each option to its meaning. `description` is a line for
    `depute backends`. `version` identifies the software that produces the bytes. Standard output is reserved for
    answers, so Python's prints go to standard error. With arguments (`--version`, `--help`), prints information and
    returns the exit code. Raises TypeError if the classes are not of these kinds.
    """
    known = dict(options or {})
    if not callable(partitioner):
        raise TypeError(f"expected a class of partitioners, not {type(partitioner).__name__}")
    if not callable(getattr(backend, "preprocess", None)) or not isinstance(getattr(backend, "__name__", None), str):
        raise TypeError(f"expected a class with preprocess(), not {type(backend).__name__}")

    def make(given):
        return partitioner(**dict(given))

    words = [str(word) for word in (sys.argv if argv is None else argv)]
    if len(words) < 2:
        sys.stdout = sys.stderr
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _serve(words, backend, make, list(known.items()), description, version)
