#!/usr/bin/env python3
"""Writes what the program contains of others as a CycloneDX list (SBOM): the Debian packages of the shared libraries that
it loads, of the static ones that it links, and of the headers whose code is compiled into it.

    sbom.py [--build build/release] [--platform PLATFORM] [-o build/depute.cdx.json]

Asks the build for what it used, and dpkg for whose that is, so that there is no list to keep. For another platform,
scripts/platforms/libraries.sh has written what it built.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def lines(*command) -> list[str]:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout.splitlines()


def shared_libraries(program: Path) -> set[str]:
    return {match[1] for line in lines("ldd", program) if (match := re.search(r"=> (/\S+)", line))}


def compiled_and_linked(build: Path) -> set[str]:
    """Files of the system that the program's objects and its link step read."""
    inputs = lines("ninja", "-C", build, "-t", "inputs", "depute")
    objects = [line for line in inputs if line.endswith((".o", ".gch"))]
    files = {line for line in inputs if line.startswith("/usr/") and line.endswith((".a", ".so"))}
    files |= {line.strip() for line in lines("ninja", "-C", build, "-t", "deps", *objects) if line.startswith("    /usr/")}
    return files


def packages_of(files: set[str]) -> dict[str, str]:
    """{package: version}; a file that no package has is told."""
    names = sorted({str(Path(file).resolve()) for file in files})
    done = subprocess.run(["dpkg-query", "-S", *names], capture_output=True, text=True)
    found = {}
    for line in done.stdout.splitlines():
        owners, _, file = line.partition(": ")
        found[file] = owners.split(", ")[0].split(":")[0]
    # Debian's merged /usr: a package may know the file by its old place.
    missing = [name for name in names if name not in found]
    for name in list(missing):
        old = subprocess.run(["dpkg-query", "-S", name.removeprefix("/usr")], capture_output=True, text=True)
        if old.returncode == 0:
            found[name] = old.stdout.split(":")[0]
            missing.remove(name)
    if missing:
        sys.exit(f"error: no package has {', '.join(missing[:5])}")
    versions = lines("dpkg-query", "-W", "-f", "${Package} ${Version}\n", *sorted(set(found.values())))
    return dict(line.split(" ", 1) for line in versions)


def licenses(package: str, platform: str | None) -> list[str]:
    built = libraries(platform) / "licenses" / package if platform else Path()
    path = built if built.is_file() else Path("/usr/share/doc") / package / "copyright"
    text = path.read_text(errors="replace") if path.exists() else ""
    return sorted(set(re.findall(r"^License: *(\S.*)$", text, re.MULTILINE)))


def libraries(platform: str) -> Path:
    """What scripts/platforms/libraries.sh made."""
    return ROOT / "build" / "platforms" / platform / "libraries"


def contents(build: Path, platform: str | None) -> dict[str, str]:
    """{"deb/debian/NAME": version} of all that the program contains."""
    if platform:
        text = (libraries(platform) / "contents.txt").read_text()
        return dict(line.split(" ", 1) for line in text.splitlines())
    packages = packages_of(shared_libraries(build / "depute") | compiled_and_linked(build))
    return {f"deb/debian/{name}": number for name, number in packages.items()}


def sbom(build: Path, platform: str | None) -> dict:
    version = lines(build / "depute", "--version")[0].split()[-1]
    components = [
        {
            "type": "library",
            "name": Path(name).name,
            "version": number,
            "purl": f"pkg:{name}@{number}",
            "licenses": [{"license": {"name": each}} for each in licenses(Path(name).name, platform)],
        }
        for name, number in sorted(contents(build, platform).items())
    ]
    about = {"component": {"type": "application", "name": "depute", "version": version, "licenses": [{"license": {"id": "BSD-3-Clause"}}]}}
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": about, "components": components}


def main() -> None:
    parser = argparse.ArgumentParser(description="Write what the program contains of others.")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--platform", help="another platform's program, by the name of its preset")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "build" / "depute.cdx.json")
    options = parser.parse_args()
    document = sbom(options.build, options.platform)
    options.output.write_text(json.dumps(document, indent=1) + "\n")
    print(f"{options.output}: {len(document['components'])} packages")


if __name__ == "__main__":
    main()
