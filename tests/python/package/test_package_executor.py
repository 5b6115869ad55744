"""Partitions that other processes preprocess: the same bytes, results in order, failures with their place, lost workers."""

import concurrent.futures
import multiprocessing
import os
import pickle
import shutil
import signal
import sys
import threading
import time
import types
from pathlib import Path

import depute
import pytest
import torch
from depute import _depute, _executor
from harness import ROOT, sample

sys.path.insert(0, str(ROOT / "examples"))
PARTS = 6


class Chain(torch.nn.Module):
    """Linear layers that a tangent keeps apart: a partition each."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(64, 64) for _ in range(PARTS))

    def forward(self, x):
        for layer in self.layers:
            x = torch.tan(layer(x))
        return x


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("chain") / "chain.pt2"
    torch.export.save(torch.export.export(Chain().eval(), (torch.randn(2, 64),)), path)
    return path


@pytest.fixture(scope="module")
def processes():
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as executor:
        yield executor


class Backwards(concurrent.futures.Executor):
    """Runs the last submitted first, when a result is asked for."""

    def __init__(self):
        self.pending = []

    def submit(self, function, /, *arguments, **named):
        future = concurrent.futures.Future()
        future.result = lambda timeout=None: (self.drain(), concurrent.futures.Future.result(future))[1]
        self.pending.append((future, function, pickle.dumps((arguments, named))))
        return future

    def drain(self):
        while self.pending:
            future, function, told = self.pending.pop()
            arguments, named = pickle.loads(told)
            future.set_result(function(*arguments, **named))


def lowered(given, **options):
    return depute.to_edge_transform_and_lower(given, partitioner="xnnpack", **options).to_executorch().buffer


class Counter(depute.BackendDetails):
    """A backend of Python's, whose payload tells what it was given."""

    @staticmethod
    def preprocess(edge_program, compile_specs):
        store = depute.NamedDataStore()
        for name, weight in edge_program.state_dict.items():
            store.add_named_data(name, weight, alignment=64)
        mapping = depute.DelegateMappingBuilder(generated_identifiers=True)
        for node in edge_program.graph.nodes:
            if node.op == "call_function":
                mapping.insert_delegate_mapping_entry(nodes=node)
        payload = edge_program.text(sources=True).encode() + b"".join(spec.value for spec in compile_specs)
        return depute.PreprocessResult(payload, mapping.get_delegate_mapping(), store, delegate_info="told", arena_padding=32, inline_bytes=True)


class FailsElsewhere(depute.BackendDetails):
    @staticmethod
    def preprocess(edge_program, compile_specs):
        folder = Path(compile_specs[0].value.decode())
        tries = len(list(folder.iterdir()))
        (folder / f"{tries}").touch()
        if tries < int(compile_specs[1].value.decode()):
            raise ValueError(f"the license server is busy, try {tries}")
        return depute.PreprocessResult(b"done")


class Tags(depute.Partitioner):
    def __init__(self, backend, *specs):
        super().__init__()
        self.backend, self.specs = backend, list(specs)

    def partition(self, exported_program):
        tags = {}
        for node in exported_program.graph.nodes:
            if node.op == "call_function" and node.target in ("aten.addmm.default", "aten.linear.default"):
                node.meta["delegation_tag"] = node.name
                tags[node.name] = depute.DelegationSpec(self.backend, self.specs)
        depute.tag_constant_data(exported_program)
        return depute.PartitionResult(exported_program, tags)


class RayLike:
    """The part of Ray's interface that is used, as threads."""

    def __init__(self):
        self.pool, self.functions, self.canceled = concurrent.futures.ThreadPoolExecutor(2), [], []

    def remote(self, *, max_retries):
        assert max_retries == 0  # the package counts retries
        return self.made

    def cancel(self, reference):
        self.canceled.append(reference)

    def made(self, function):
        self.functions.append(function)
        told = pickle.dumps(function)

        class Function:
            def remote(_, *arguments):
                future = self.pool.submit(pickle.loads(told), *pickle.loads(pickle.dumps(arguments)))
                return types.SimpleNamespace(future=lambda: future)

        return Function()


# --- the same bytes


def test_a_client_like_rays_will_do(chain, tmp_path):
    ray = RayLike()
    assert lowered(chain, executor=ray) == lowered(chain)
    assert ray.functions == [_executor.preprocess]
    specs = [depute.CompileSpec("folder", str(tmp_path).encode()), depute.CompileSpec("failures", b"99")]
    with pytest.raises(depute.Error, match="it failed on .*the license server is busy"):
        depute.to_edge_transform_and_lower(chain, partitioner=Tags("FailsElsewhere", *specs), executor=ray)


def test_bytes_are_the_same_whatever_the_executor(chain, processes):
    alone = lowered(chain)
    with concurrent.futures.ThreadPoolExecutor(3) as threads:
        for executor in (threads, processes, Backwards()):
            assert lowered(chain, executor=executor) == alone


@pytest.mark.parametrize("name", ["conv_relu_tan", "dynamic", "cond", "mutbuf", "qconv", "extra/loops", "multi"])
def test_samples_are_the_same_from_processes(name, processes):
    assert lowered(sample(name), executor=processes) == lowered(sample(name))


def test_weights_in_memory_travel_as_bytes(chain, processes):
    exported = torch.export.load(chain)
    assert lowered(exported, executor=processes) == lowered(exported)


def test_weights_of_a_file_stay_there(chain, monkeypatch):
    sizes = []
    real = _executor.preprocess
    monkeypatch.setattr(_executor, "preprocess", lambda *told: (sizes.append(len(pickle.dumps(told))), real(*told))[1])
    executor = Backwards()
    monkeypatch.setattr(executor, "submit", lambda function, *told: done(function(*told)))
    assert lowered(chain, executor=executor) == lowered(chain)
    assert len(sizes) == PARTS and max(sizes) < 64 * 64 * 4


def done(value):
    future = concurrent.futures.Future()
    future.set_result(value)
    return future


def test_a_worker_without_the_file_gets_the_bytes(chain, tmp_path, monkeypatch):
    """Its file of that name is another one."""
    copy = tmp_path / "copy.pt2"
    shutil.copy(chain, copy)
    program = depute.load(copy)
    alone = lowered(program)
    asked = []

    def submit(function, backend_id, backend, told, specs):
        kinds = {each[0] for each in told[2].values()}
        asked.append(kinds)
        monkeypatch.setattr(_executor, "_identity", lambda path: "another")
        try:
            return done(function(backend_id, backend, told, specs))
        finally:
            monkeypatch.undo()

    executor = Backwards()
    executor.submit = submit
    assert lowered(program, executor=executor) == alone
    assert asked.count({"file"}) == PARTS and asked.count({"bytes"}) == PARTS


def test_backends_of_python_travel(chain, processes):
    def payloads(**options):
        specs = [depute.CompileSpec("key", b"value")]
        edge = depute.to_edge(chain).to_backend(Tags("Counter", *specs), **options)
        modules = edge.program.lowered_modules().values()
        return edge.to_executorch().buffer, [(m.processed_bytes, m.meta, m.named_data_store_output.pte_data) for m in modules]

    alone = payloads()
    assert len(alone[1]) == PARTS
    assert payloads(executor=Backwards())[0] == alone[0]
    with concurrent.futures.ThreadPoolExecutor(3) as threads:
        assert payloads(executor=threads)[0] == alone[0]


# --- failures


class SharesData(depute.BackendDetails):
    """Uses all that a result has."""

    @staticmethod
    def preprocess(edge_program, compile_specs):
        node = next(node for node in edge_program.graph.nodes if node.op == "call_function")
        store = depute.NamedDataStore()
        store.add_named_data("w", torch.tensor([1.0, 2.0]).numpy(), alignment=64)
        store.add_named_data("own", b"1234", alignment=32, external_tag="lora")
        store.add_named_data("constant", _depute.make_constant("float16", [2], b"1234"), alignment=128, external_tag="typed")
        handles = {"first": (node.meta["debug_handle"],)}
        return depute.PreprocessResult(b"payload", handles, store, "told", arena_padding=24, inline_bytes=True)


class TagsRelus(depute.Partitioner):
    def partition(self, exported_program):
        tags = {}
        for node in exported_program.graph.nodes:
            if node.target == "aten.relu.default":
                node.meta["delegation_tag"] = node.name
                tags[node.name] = depute.DelegationSpec("SharesData", [])
        return depute.PartitionResult(exported_program, tags)


def test_all_of_a_result_travels():
    text = "program\nmethod forward(%x: f32[2]) {\n  %y: f32[2] = aten.relu.default(%x) #1\n  return %y\n}\n"
    alone = depute.to_edge_transform_and_lower(depute.parse(text), partitioner=TagsRelus())
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        traveled = depute.to_edge_transform_and_lower(depute.parse(text), partitioner=TagsRelus(), executor=executor)
    assert traveled.program == alone.program
    told = alone.program.text()
    for word in ("payload", "align 64", "align 32", "align 128", "lora", "typed", "f16[2]", '"told"', "first", "padding 24", "inline"):
        assert word in told, told
    ours, theirs = alone.to_executorch(), traveled.to_executorch()
    assert (ours.buffer, ours.data_files) == (theirs.buffer, theirs.data_files) and len(ours.data_files) == 2


def test_failures_name_partition_and_worker(chain, tmp_path):
    specs = [depute.CompileSpec("folder", str(tmp_path).encode()), depute.CompileSpec("failures", b"100")]
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        with pytest.raises(depute.Error) as error:
            depute.to_edge(chain).to_backend(Tags("FailsElsewhere", *specs), executor=threads, retries=1)
    text = str(error.value)
    assert "[executor] method forward, partition 0, backend FailsElsewhere: it failed on" in text
    assert text.count(f":{os.getpid()}: ValueError: the license server is busy") == 2
    assert isinstance(error.value.__cause__, ValueError)


def test_they_are_tried_again_as_told(chain, tmp_path):
    specs = [depute.CompileSpec("folder", str(tmp_path).encode()), depute.CompileSpec("failures", b"2")]
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        edge = depute.to_edge(chain).to_backend(Tags("FailsElsewhere", *specs), executor=threads, retries=2)
    assert edge.get_delegation_info().num_delegated_subgraphs == PARTS


@pytest.mark.parametrize("offset, first, size", [(0, 9, 0), (0, 4, 8), (0, 2**63, 8), (0, 0, 4), (2, 0, 8)])
def test_constants_lie_in_the_memory_that_is_told(offset, first, size):
    """Of eight bytes, for two numbers of four."""
    text = f'program\ndata "c": f32[2] = elided(8, "xxh3:{"0" * 32}")\nmethod forward(%c: f32[2] = constant "c") {{\n  return %c\n}}\n'
    memory = _depute.make_constant("uint8", [8], b"12345678")
    right = _depute.parse_with_data(text, [("c", "float32", [2], [1], 0, memory, 0, 8)])
    assert bytes(right.constant("c").bytes()) == b"12345678"
    with pytest.raises(ValueError, match="the memory does not have|not those of a tensor"):
        _depute.parse_with_data(text, [("c", "float32", [2], [1], offset, memory, first, size)])


def test_what_is_no_executor_is_refused(chain):
    with pytest.raises(TypeError, match="expected an object with submit"):
        lowered(chain, executor=3)
    with pytest.raises(ValueError, match="retries is -1"):
        lowered(chain, executor=Backwards(), retries=-1)


def test_a_pool_that_dies_is_told_of(chain):
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as executor:
        victim = executor.submit(os.getpid).result()
        os.kill(victim, signal.SIGKILL)
        for _ in range(2):  # the pool learns of its loss while it takes partitions, at any of them
            with pytest.raises(depute.Error, match=r"method forward, partition \d, backend XnnpackBackend"):
                lowered(chain, executor=executor, retries=1)
    assert lowered(chain)  # the process goes on


# --- Dask


def test_a_cluster_of_processes_loses_nothing_with_a_worker(chain, tmp_path):
    import distributed
    from dask_preprocess import lower_on

    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0) as cluster:
        with distributed.Client(cluster) as client:
            lower_on(client, chain, tmp_path / "model.pte")
            assert (tmp_path / "model.pte").read_bytes() == lowered(chain)
            pids = client.run(os.getpid)
            killer = threading.Timer(1.0, os.kill, (next(iter(pids.values())), signal.SIGKILL))
            killer.start()
            edge = depute.to_edge(chain).to_backend(Tags("SlowElsewhere"), executor=client)
            killer.join()
            assert set(client.run(os.getpid).values()) != set(pids.values())
    assert edge.get_delegation_info().num_delegated_subgraphs == PARTS
    names = [module.processed_bytes for module in edge.program.lowered_modules().values()]
    assert len(set(names)) == PARTS


class SlowElsewhere(depute.BackendDetails):
    @staticmethod
    def preprocess(edge_program, compile_specs):
        time.sleep(0.7)
        return depute.PreprocessResult(", ".join(edge_program.state_dict).encode())
