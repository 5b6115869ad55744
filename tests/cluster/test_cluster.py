"""Partitions on real clusters of two nodes, each node a group of processes of this machine: Ray's and Dask's.

A lowering gives the bytes of a lowering without a cluster, also if a worker or a whole node is killed while it has a
partition. `make test-cluster` makes the environment, which has neither torch nor executorch.
"""

import concurrent.futures
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

depute = pytest.importorskip("depute")
PARTS = 4
SECONDS = 120  # for anything that is waited for


# --- backends, which the workers import from this file


class Texts(depute.BackendDetails):
    """Its payload is the partition as text."""

    @staticmethod
    def preprocess(edge_program, compile_specs):
        return depute.PreprocessResult(edge_program.text().encode())


class DiesFirst(depute.BackendDetails):
    """Kills its process as often as the second spec says; the first is the folder that counts."""

    @staticmethod
    def preprocess(edge_program, compile_specs):
        folder, times = Path(compile_specs[0].value.decode()), int(compile_specs[1].value)
        tries = len(list(folder.iterdir()))
        if tries < times:
            (folder / f"{tries}-{os.getpid()}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return depute.PreprocessResult(edge_program.text().encode())


class Waits(depute.BackendDetails):
    """Tells in a folder that it has a partition, then waits for the file `go`."""

    @staticmethod
    def preprocess(edge_program, compile_specs):
        folder = Path(compile_specs[0].value.decode())
        (folder / f"started-{os.getpid()}").touch()
        wait_for(lambda: (folder / "go").exists())
        return depute.PreprocessResult(edge_program.text().encode())


class TagsLinear(depute.Partitioner):
    """Each linear layer is a partition."""

    def __init__(self, backend, *specs):
        super().__init__()
        self.backend, self.specs = backend, [depute.CompileSpec(f"{i}", spec) for i, spec in enumerate(specs)]

    def partition(self, exported_program):
        tags = {}
        for node in exported_program.graph.nodes:
            if node.op == "call_function" and node.target == "aten.linear.default":
                node.meta["delegation_tag"] = node.name
                tags[node.name] = depute.DelegationSpec(self.backend, self.specs)
        depute.tag_constant_data(exported_program)
        return depute.PartitionResult(exported_program, tags)

    def ops_to_not_decompose(self, exported_program):
        return (["aten.linear.default"], None)


def wait_for(condition):
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)


# --- clusters


class RayNodes:
    """One worker for each node. The second node may be killed, and another takes its place."""

    def __init__(self, folder):
        ray = pytest.importorskip("ray")
        from ray.cluster_utils import Cluster

        size = {"num_cpus": 1, "object_store_memory": 100 << 20, "include_dashboard": False}
        self.cluster = Cluster(initialize_head=True, head_node_args=size)
        self.executor = ray
        self.add_node()
        paths = {"env_vars": {"PYTHONPATH": str(Path(__file__).parent)}}
        ray.init(address=self.cluster.address, log_to_driver=False, runtime_env=paths)

    def add_node(self):
        self.node = self.cluster.add_node(num_cpus=1, object_store_memory=100 << 20)

    def kill_node(self):
        self.cluster.remove_node(self.node, allow_graceful=False)

    def stop(self):
        self.executor.shutdown()
        self.cluster.shutdown()


class DaskNodes:
    """A scheduler, and a worker with its nanny for each node."""

    def __init__(self, folder):
        distributed = pytest.importorskip("distributed")
        self.file, self.processes = folder / "scheduler.json", []
        self.start("distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard")
        wait_for(self.file.exists)
        self.add_node()
        self.add_node()
        self.executor = distributed.Client(scheduler_file=str(self.file))
        self.executor.wait_for_workers(2, timeout=SECONDS)

    def start(self, module, *options):
        command = [sys.executable, "-m", module, "--scheduler-file", str(self.file), *options]
        paths = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
        streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.processes.append(subprocess.Popen(command, cwd=self.file.parent, env=paths, start_new_session=True, **streams))

    def add_node(self):
        self.start("distributed.cli.dask_worker", "--nthreads", "1", "--memory-limit", "0", "--no-dashboard")

    def kill_node(self):
        self.kill(self.processes.pop())

    def kill(self, process):
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self):
        self.executor.close()
        for process in self.processes:
            self.kill(process)


@pytest.fixture(scope="module", params=[RayNodes, DaskNodes], ids=["ray", "dask"])
def nodes(request, tmp_path_factory):
    made = request.param(tmp_path_factory.mktemp("nodes"))
    yield made
    made.stop()


# --- lowerings


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """A file with linear layers that tangents keep apart: a partition each."""
    lines = ["program"]
    lines += [f'data "w{i}": f32[64, 64] = random({i})' for i in range(PARTS)]
    inputs = ", ".join(f'%w{i}: f32[64, 64] = param "w{i}"' for i in range(PARTS))
    lines.append(f"method forward({inputs}, %t0: f32[2, 64]) {{")
    for i in range(PARTS):
        lines.append(f"  %y{i}: f32[2, 64] = aten.linear.default(%t{i}, %w{i}) #{2 * i + 1}")
        lines.append(f"  %t{i + 1}: f32[2, 64] = aten.tan.default(%y{i}) #{2 * i + 2}")
    path = tmp_path_factory.mktemp("chain") / "chain.pt2"
    depute.save(depute.parse("\n".join([*lines, f"  return %t{PARTS}", "}", ""])), path)
    return path


def lowered(given, partitioner="xnnpack", **options):
    edge = depute.to_edge_transform_and_lower(given, partitioner=partitioner, **options)
    assert edge.get_delegation_info().num_delegated_subgraphs == PARTS
    return edge.to_executorch().buffer


def test_the_bytes_are_those_without_a_cluster(nodes, chain):
    assert lowered(chain, executor=nodes.executor) == lowered(chain)
    in_memory = chain.read_bytes()
    assert lowered(in_memory, executor=nodes.executor) == lowered(in_memory)


def test_backends_in_python_travel(nodes, chain):
    assert lowered(chain, TagsLinear("Texts"), executor=nodes.executor) == lowered(chain, TagsLinear("Texts"))


def test_a_worker_that_is_killed_with_a_partition_is_replaced(nodes, chain, tmp_path):
    partitioner = TagsLinear("DiesFirst", str(tmp_path).encode(), b"1")
    survived = lowered(chain, partitioner, executor=nodes.executor, retries=2)
    assert len(list(tmp_path.iterdir())) == 1
    assert survived == lowered(chain, partitioner)  # here none dies: the folder has counted


def test_a_partition_that_kills_every_worker_is_named(nodes, chain, tmp_path):
    partitioner = TagsLinear("DiesFirst", str(tmp_path).encode(), b"1000")
    with pytest.raises(depute.Error, match=r"method forward, partition \d, backend DiesFirst: it failed.* a lost worker"):
        lowered(chain, partitioner, executor=nodes.executor, retries=1)
    assert lowered(chain, executor=nodes.executor, retries=2) == lowered(chain)  # the cluster goes on


def test_a_node_that_is_killed_with_a_partition_is_replaced(nodes, chain, tmp_path):
    partitioner = TagsLinear("Waits", str(tmp_path).encode())
    with concurrent.futures.ThreadPoolExecutor(1) as thread:  # Ray adds nodes in the main thread alone
        survived = thread.submit(lowered, chain, partitioner, executor=nodes.executor, retries=2)
        try:
            wait_for(lambda: len(list(tmp_path.glob("started-*"))) >= 2)  # a partition on each node
            nodes.kill_node()
            nodes.add_node()
        finally:
            (tmp_path / "go").touch()
        assert survived.result(SECONDS) == lowered(chain, partitioner)
    assert len(list(tmp_path.glob("started-*"))) > 2
