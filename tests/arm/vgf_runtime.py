"""Runs programs with VGF delegates in ExecuTorch's stock runtime, on an emulated GPU.

    [outputs] = run_program("model.pte", [(torch.ones(2, 3),)])

Only the wheel of ExecuTorch 1.4 has the runtime half of the VGF backend (`scripts/releases.txt`: previous), and its Vulkan
environment has to be set before the process starts. So the programs run in a process of their own, which is this file.
Mesa's driver for CPUs (`install_system.sh arm`) knows no tensors; two layers of Arm add them (`install_python.sh arm`).
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv-previous"
DRIVERS = Path("/usr/share/vulkan/icd.d")
# In the order from the program to the driver: a graph is computed by shaders that use the layer of tensors.
LAYERS = {"VK_LAYER_ML_Graph_Emulation": "VkLayer_Graph", "VK_LAYER_ML_Tensor_Emulation": "VkLayer_Tensor"}
TIMEOUT = 600
ERRORS = r"(?i)fail|error|unable|invalid|missing|insufficient|mismatch|does not|not support|expected|assert"


@dataclass
class Job:
    """A program, and the calls of one of its methods, in order and on one load."""

    program: Path | str
    calls: list
    method: str = "forward"


def why_not() -> str | None:
    """What is missing here, or None."""
    if not (VENV / "bin/python").is_file() or not find_layers():
        return "make test-arm installs what runs VGF files"
    return None if find_driver() else f"{DRIVERS} has no driver for CPUs: scripts/install_system.sh arm"


def find_driver() -> Path | None:
    return next(iter(sorted(DRIVERS.glob("lvp_icd*.json"))), None)


def find_layers() -> Path | None:
    """The folder `deploy` of Arm's wheel: the layers' libraries and manifests."""
    return next(iter(VENV.glob("lib/python3*/site-packages/emulation_layer/deploy")), None)


def vulkan_environment(folder: Path) -> dict[str, str]:
    """Variables by which Vulkan's loader finds the driver and the layers; manifests are written to the folder.

    The loader of Debian 12 ignores the order of VK_INSTANCE_LAYERS. It stacks layers as it finds them, so each manifest has a
    folder of its own, and the order of the folders is the order of the layers.
    """
    deploy, places = find_layers(), []
    for library in LAYERS.values():
        manifest = json.loads((deploy / f"share/vulkan/explicit_layer.d/{library}.json").read_text())
        manifest["layer"]["library_path"] = str(deploy / f"lib/lib{library}.so")
        place = folder / library
        place.mkdir()
        (place / f"{library}.json").write_text(json.dumps(manifest))
        places.append(str(place))
    return {
        "VK_ICD_FILENAMES": str(find_driver()),
        "VK_ADD_LAYER_PATH": os.pathsep.join(places),
        "VK_INSTANCE_LAYERS": os.pathsep.join(LAYERS),
    }


def run_program(program: Path | str, calls: list, method: str = "forward", timeout: float = TIMEOUT) -> list[list[torch.Tensor]]:
    """The outputs of each call, whose arguments are tensors and numbers."""
    result = run_jobs([Job(program, calls, method)], timeout)[0]
    if isinstance(result, str):
        raise RuntimeError(result)
    return result


def run_jobs(jobs: list[Job], timeout: float = TIMEOUT) -> list[list[list[torch.Tensor]] | str]:
    """Of each job the outputs of its calls, or what went wrong. One process runs them all: it takes seconds to start."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        torch.save([(str(Path(job.program).resolve()), job.method, [list(call) for call in job.calls]) for job in jobs], folder / "jobs")
        env = {**os.environ, "OMP_NUM_THREADS": "1", **vulkan_environment(folder)}
        command = [str(VENV / "bin/python"), str(Path(__file__).resolve()), str(folder)]
        run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout, env=env)
        if run.returncode != 0 and not (folder / "log0").is_file():
            raise RuntimeError(f"{command[0]} ended with code {run.returncode}: {run.stderr[-2000:]}")
        results = []
        for index in range(len(jobs)):
            place = folder / f"result{index}"
            result = torch.load(place) if place.is_file() else f"the runtime ended with code {run.returncode}"
            results.append(f"{result}\n{find_errors(folder / f'log{index}')}" if isinstance(result, str) else result)
        return results


def find_errors(log: Path) -> str:
    """What the runtime wrote, without its account of each step."""
    lines = log.read_text(errors="replace").splitlines() if log.is_file() else []
    harmless = ("Failed to find extension", "Checking VGFBackend")
    return "\n".join(line for line in lines if re.search(ERRORS, line) and not any(each in line for each in harmless))


def run_here(folder: Path) -> None:
    """The process that run_jobs() starts."""
    import executorch.kernels.quantized  # noqa: F401  (registers kernels)
    from executorch.runtime import Runtime

    runtime = Runtime.get()
    for index, (program, method, calls) in enumerate(torch.load(folder / "jobs")):
        os.dup2(os.open(folder / f"log{index}", os.O_WRONLY | os.O_CREAT), 2)
        try:
            loaded = runtime.load_program(program)  # the method points into it
            method = loaded.load_method(method)
            # A result is a view of memory that the next call writes.
            result = [[each.clone() if torch.is_tensor(each) else each for each in method.execute(call)] for call in calls]
        except RuntimeError as error:
            result = f"{program}: {error}"
        torch.save(result, folder / "writing")
        (folder / "writing").rename(folder / f"result{index}")


if __name__ == "__main__":
    run_here(Path(sys.argv[1]))
