"""The releases that are tested together (scripts/releases.txt), and where the exports of the installed torch are kept."""

from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Release(NamedTuple):
    name: str
    torch: str
    executorch: str
    environment: str


RELEASES = [
    Release(*line.split())
    for line in (ROOT / "scripts" / "releases.txt").read_text().splitlines()
    if line and not line.startswith("#")
]


def installed(package: str) -> str:
    """The version without what a build adds: 2.13.0 for 2.13.0+cpu."""
    return version(package).partition("+")[0]


def models_folder() -> Path:
    """build/models for the torch that `make test` uses, and build/models-2.14.1 for another one."""
    torch = installed("torch")
    return ROOT / "build" / ("models" if torch == RELEASES[0].torch else f"models-{torch}")
