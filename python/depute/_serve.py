"""A backend in Python as a program of its own, which `depute --backend NAME` finds as depute-backend-NAME."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._depute import serve_backend as _serve


def serve_backend(partitioner: Callable[..., Any], backend: Any, *, options: Mapping[str, str] | None = None, description: str = "", version: str = "", argv: Sequence[str] | None = None) -> int:
    """Answers as the worker of docs/backend-protocol.md until its input ends; then the process ends.

        #!/usr/bin/env python3
        # depute-backend-chip
        import depute
        from chip import ChipBackend, ChipPartitioner

        depute.serve_backend(ChipPartitioner, ChipBackend, options={"cores": "how many to use"}, version="chip 3.1")

    `partitioner` makes a Partitioner; what `--backend chip:cores=2` gives are keywords of it, as texts. `backend` is
    a subclass of BackendDetails, `options` tells each option's meaning, `description` is a line for `depute backends`,
    `version` is that of what makes the bytes. Standard output belongs to the answers: what Python prints goes to
    standard error. With arguments (`--version`, `--help`) it says what it is and returns the exit code. Raises
    TypeError where these are not such classes.
    """
    known = dict(options or {})
    if not callable(partitioner):
        raise TypeError(f"a class of partitioners is needed, not {type(partitioner).__name__}")
    if not callable(getattr(backend, "preprocess", None)) or not isinstance(getattr(backend, "__name__", None), str):
        raise TypeError(f"a class with preprocess() is needed, not {type(backend).__name__}")

    def make(given):
        return partitioner(**dict(given))

    words = [str(word) for word in (sys.argv if argv is None else argv)]
    if len(words) < 2:
        sys.stdout = sys.stderr
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _serve(words, backend, make, list(known.items()), description, version)
