"""A platform that Depute cannot be built for is refused when CMake configures, with all reasons at once."""

import subprocess

import pytest
from harness import ROOT


def configured(system="Linux", address_bytes=8, byte_order="LITTLE_ENDIAN"):
    words = {"CMAKE_SYSTEM_NAME": system, "CMAKE_SIZEOF_VOID_P": address_bytes, "CMAKE_CXX_BYTE_ORDER": byte_order}
    settings = [word for name, value in words.items() for word in ("-D", f"{name}={value}")]
    return subprocess.run(["cmake", *settings, "-P", ROOT / "cmake/platform.cmake"], capture_output=True, text=True)


@pytest.mark.parametrize("system", ["Linux", "Windows", "Darwin"])
def test_a_platform_with_all_that_is_needed(system):
    assert configured(system=system).returncode == 0


@pytest.mark.parametrize(
    ("platform", "reasons"),
    [
        ({"system": "Haiku"}, ["the system is Haiku"]),
        ({"address_bytes": 4}, ["addresses of 32 bits, and 64 are needed"]),
        ({"byte_order": "BIG_ENDIAN"}, ["big-endian"]),
        ({"system": "AIX", "address_bytes": 4, "byte_order": "BIG_ENDIAN"}, ["AIX", "32 bits", "big-endian"]),
    ],
)
def test_a_platform_that_is_refused(platform, reasons):
    run = configured(**platform)
    assert run.returncode != 0
    assert "Depute cannot be built for this platform" in run.stderr
    assert [reason for reason in reasons if reason not in run.stderr] == []


def test_the_build_asks():
    assert "include(cmake/platform.cmake)" in (ROOT / "CMakeLists.txt").read_text()
