"""The binaries that users get are hardened, and name nothing of the machine that built them."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from harness import DEPUTE, ROOT

RELEASE = ROOT / "build" / "release"


def package_core():
    import depute

    return next(Path(depute.__file__).parent.glob("_depute*.so"))


BINARIES = {"program": lambda: DEPUTE, "library": lambda: RELEASE / "libdepute.so", "package": package_core}


def read(tool: str, *arguments) -> str:
    return subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True, check=True).stdout


@pytest.fixture(params=BINARIES)
def binary(request):
    if "asan" in str(DEPUTE):
        pytest.skip("a build for tests")
    return BINARIES[request.param]()


def test_headers(binary):
    text = read("readelf", "-hldW", binary)
    assert "DYN" in re.search(r"Type:\s+(\S+)", text)[1]  # position-independent
    assert "GNU_RELRO" in text and re.search(r"BIND_NOW|Flags:.*\bNOW\b", text)
    assert re.search(r"GNU_STACK\s+(?:0x\S+\s+){5}RW\s", text), "an executable stack"
    # Libraries are looked for in the system's places, or beside a wheel's own module.
    assert all(path == "$ORIGIN/lib" for path in re.findall(r"\(R(?:UN)?PATH\).*\[(.*)\]", text))
    assert not re.search(r"^\s+LOAD\s.*\bRWE\b", text, re.MULTILINE)


def test_control_flow_is_marked(binary):
    if "X86-64" not in read("readelf", "-hW", binary):
        pytest.skip("CET is of x86-64")
    # The mark of a whole file needs the C library's own start code to have it, which Debian's has not.
    assert Path(binary).read_bytes().count(b"\xf3\x0f\x1e\xfa") > 1000  # endbr64


def test_stack_and_copies_are_checked(binary):
    undefined = read("readelf", "-W", "--dyn-syms", binary)
    assert "__stack_chk_fail" in undefined
    assert re.search(r"__(mem\w+|str\w+|read|fdelt|snprintf|vsnprintf|fprintf|longjmp)_chk", undefined)


def test_no_paths_of_the_build(binary):
    text = subprocess.run(["strings", "-a", binary], capture_output=True).stdout.decode(errors="replace")
    found = [line for line in text.splitlines() if str(ROOT) in line or re.search(r"(^|[^\w.])/(root|home)/", line)]
    assert not found, found[:10]


def test_sbom(tmp_path):
    """The list names what CMake looks for, with licenses."""
    if "asan" in str(DEPUTE):
        pytest.skip("a build for tests")
    out = tmp_path / "depute.cdx.json"
    subprocess.run([ROOT / "scripts" / "sbom.py", "-o", out], check=True, capture_output=True)
    document = json.loads(out.read_text())
    assert document["metadata"]["component"]["version"] in read(DEPUTE, "--version")
    components = {each["name"]: each for each in document["components"]}
    cmake = (ROOT / "CMakeLists.txt").read_text().split("set(CMAKE_UNITY_BUILD ")[0]
    wanted = re.findall(r"find_(?:package|path|library)\((\w+)", cmake)
    words = {"fmt": "fmt", "simdjson": "simdjson", "nlohmann_json": "nlohmann", "CLI11": "cli11",
             "Threads": "libc6", "XXHASH_INCLUDE_DIR": "xxhash", "DEFLATE_INCLUDE_DIR": "libdeflate", "DEFLATE_LIBRARY": "libdeflate", "OPENSSL_INCLUDE_DIR": "libssl", "CRYPTO_LIBRARY": "libssl"}  # fmt: skip
    assert set(wanted) == set(words)
    for word in (*words.values(), "flatbuffers", "libstdc++"):
        assert any(word in name for name in components), f"{word}: {sorted(components)}"
    assert all(each["version"] for each in components.values())
    assert all(each["licenses"] for name, each in components.items() if not name.startswith(("gcc", "libgcc", "libc", "libstdc", "linux"))), components
