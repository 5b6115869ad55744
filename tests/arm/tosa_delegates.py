"""Executes and validates the delegates of TOSABackend in scripts that try many programs.

    register()                  # Arm's reference model executes the delegates of this process and its children
    message = complaints()      # what Arm's validation has against the delegates that were loaded since the last call

The reference model aborts on graphs that are not sound, and would start a debugger: run each program in a child process.
"""

import functools
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / "arm"), str(ROOT / "tests" / "python")]
import depute  # noqa: E402
from tosa_reference import PROFILES, check_tosa  # noqa: E402
from tosa_runtime import TosaRuntime  # noqa: E402

BACKEND = b"TOSABackend"
EXTENSIONS = {"pro_fp": ["bf16", "controlflow"], "pro_int": ["int16", "controlflow"]}
loaded: list[tuple[bytes, tuple]] = []  # each with the profiles that it may need


class CheckedRuntime(TosaRuntime):
    def init(self, processed, compile_specs):
        super().init(processed, compile_specs)
        words = next((bytes(spec.value).decode().split("+") for spec in compile_specs if spec.key == "tosa_spec"), [])
        named = tuple(f"pro_{word.lower()}" for word in words if word in ("FP", "INT"))
        loaded.append((self.graph, named or PROFILES))


def register() -> None:
    os.environ["PATH"] = ""  # the model would start a debugger when it aborts
    register_once()


@functools.cache
def register_once() -> None:
    depute.register_runtime_backend(BACKEND.decode(), CheckedRuntime)


def complaints() -> str:
    found = [check_tosa(graph, profiles, [name for profile in profiles for name in EXTENSIONS[profile]]) for graph, profiles in loaded]
    loaded.clear()
    return "; ".join(complaint for complaint in found if complaint)


def has_delegates(pte: Path) -> bool:
    return pte.exists() and BACKEND in pte.read_bytes()
