"""ExecuTorch's export recipes with the import changed to depute.recipes: the stock runtime computes what it computes of
ExecuTorch's own result. `--recipe` and `recipe=` are the same choices without torch.
"""

import os
import subprocess

import depute
import executorch.export as theirs
import numpy as np
import pytest
import torch
from depute import recipes
from depute.recipes import ExportRecipe, LoweringRecipe, QuantizationRecipe, StageType, XNNPackRecipeType
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackFloatingPointPartitioner, XnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.devtools.etrecord import parse_etrecord
from executorch.exir.backend.partitioner import PartitionResult
from executorch.exir.pass_base import ExportPass
from harness import DEPUTE
from releases import installed
from torchao.quantization.utils import compute_error

# Most results are equal bit for bit; by sums in f32 that round differently an integer may be off by one.
CLOSE_DB = 40


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(64, 96), torch.nn.ReLU(), torch.nn.Linear(96, 32))

    def forward(self, x):
        return self.layers(x)


class Conv(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.second = torch.nn.Conv2d(8, 16, 3, stride=2)
        self.head = torch.nn.Linear(32, 10)

    def forward(self, x):
        x = torch.relu(self.norm(self.first(x)))
        x = torch.relu(self.second(x)) + 0.5
        return self.head(torch.nn.functional.adaptive_avg_pool2d(x, (2, 1)).flatten(1))


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(64, 4, batch_first=True)
        self.norm = torch.nn.LayerNorm(64)

    def forward(self, x):
        return self.norm(x + self.attention(x, x, x, need_weights=False)[0])


SHAPES = {Mlp: (5, 64), Conv: (1, 3, 16, 16), Attention: (1, 6, 64)}


# One model for each recipe; UPSTREAM=all has all for each.
PAIRS = [
    pytest.param(recipe, kind, id=f"{recipe.value}-{kind.__name__}")
    for i, recipe in enumerate(XNNPackRecipeType)
    for j, kind in enumerate(SHAPES)
    if os.environ.get("UPSTREAM") == "all" or i % len(SHAPES) == j
]


def made(kind, samples=1):
    torch.manual_seed(0)
    model = kind().eval()
    return model, [(torch.randn(SHAPES[kind]),) for _ in range(samples)]


def decibels(expected, actual):
    return float(compute_error(expected.detach(), actual.detach()))


def test_recipes_have_the_names_of_executorch():
    run = subprocess.run([DEPUTE, "backends", "--recipes"], capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in run.stdout.splitlines()] == [each.value for each in XNNPackRecipeType]


@pytest.mark.parametrize("recipe, kind", PAIRS)
def test_each_recipe_computes_what_executorch_computes(recipe, kind):
    model, inputs = made(kind)
    ours = recipes.export(model, inputs, ExportRecipe.get_recipe(recipe))
    upstream = theirs.export(model, inputs, ExportRecipe.get_recipe(recipe))
    assert isinstance(ours.get_executorch_program_manager(), depute.ExecutorchProgramManager)
    actual, expected = ours.run_method()[0], upstream.run_method()[0]
    assert decibels(expected, actual) > CLOSE_DB
    assert decibels(model(*inputs[0]), actual) > 15  # 4-bit weights lose most
    assert "XnnpackBackend" in {each.backend_id for each in ours.get_edge_program_manager().program.lowered_modules().values()}


def lower_by_command(tmp_path, model, inputs, recipe, *options):
    torch.export.save(torch.export.export(model, inputs[0]), tmp_path / "m.pt2")
    samples = []
    if "static" in recipe:
        np.savez(tmp_path / "samples.npz", arg0=np.concatenate([each[0].numpy() for each in inputs]))
        samples = ["--calibrate", tmp_path / "samples.npz"]
    words = [DEPUTE, "lower", tmp_path / "m.pt2", "-o", tmp_path / "m.pte", "--recipe", recipe, *samples, *options]
    return subprocess.run(words, capture_output=True, text=True)


def result_of(pte, inputs):
    from executorch.runtime import Runtime

    return Runtime.get().load_program(pte).load_method("forward").execute(inputs)[0].clone()


@pytest.mark.parametrize("recipe, kind", PAIRS)
def test_the_command_and_the_argument_give_the_recipe_without_torch(recipe, kind, tmp_path):
    samples = 1 if kind is Mlp else 4  # an Mlp's samples would be its first dimension
    model, inputs = made(kind, samples)
    run = lower_by_command(tmp_path, model, inputs, recipe.value)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith(f"{recipe.value}: --backend xnnpack")
    pte = (tmp_path / "m.pte").read_bytes()
    calibrate = tmp_path / "samples.npz" if "static" in recipe.value else None
    edge = depute.to_edge_transform_and_lower(tmp_path / "m.pt2", recipe=recipe.value, calibrate=calibrate)
    assert edge.to_executorch().buffer == pte
    upstream = theirs.export(model, inputs, ExportRecipe.get_recipe(recipe))
    actual, expected = result_of(pte, inputs[0]), upstream.run_method()[0]
    is_same = recipe is XNNPackRecipeType.FP32 or "static" in recipe.value
    # The integers are equal; of the convolutions' result one is off by one, by the rounding of sums in f32. Weights of 8da8w have
    # torchao's range where PT2E's lack -128.
    assert decibels(expected, actual) > (30 if not is_same else CLOSE_DB if kind is Conv else 100)


def test_options_beside_a_recipe_win(tmp_path):
    model, inputs = made(Mlp)
    dynamic = "xnnpack_pt2e_int8_dynamic_per_channel"

    def bytes_of(recipe, *options):
        run = lower_by_command(tmp_path, model, inputs, recipe, *options)
        assert run.returncode == 0, run.stderr
        return (tmp_path / "m.pte").read_bytes()

    four_bits = bytes_of("xnnpack_torchao_int8da_int4w_per_tensor")
    assert bytes_of(dynamic) != four_bits
    assert bytes_of(dynamic, "--quantize", "linear=8da4w") == four_bits
    assert bytes_of(dynamic, "--quantize", "linear=8da4w", "--backend", "xnnpack") == four_bits
    assert bytes_of("xnnpack_fp32", "--backend", "xnnpack:off=op:relu") != bytes_of("xnnpack_fp32")
    assert bytes_of("xnnpack_fp32", "--recipe", dynamic) == bytes_of(dynamic)  # both, as ExportRecipe.combine


@pytest.mark.parametrize(
    "recipe, message",
    [
        ("xnnpack_fp23", "error[usage]: --recipe: there is no recipe 'xnnpack_fp23'\n  help: did you mean xnnpack_fp32?"),
        ("xnnpack_pt2e_int8_static_per_tensor", "static requires calibration inputs"),
    ],
)
def test_what_a_recipe_lacks_is_told(recipe, message, tmp_path):
    model, inputs = made(Mlp)
    torch.export.save(torch.export.export(model, inputs[0]), tmp_path / "m.pt2")
    run = subprocess.run([DEPUTE, "lower", tmp_path / "m.pt2", "--recipe", recipe], capture_output=True, text=True)
    assert run.returncode != 0 and message in run.stderr
    with pytest.raises(depute.Error, match=recipe if "no recipe" in message else "calibration inputs"):
        depute.to_edge_transform_and_lower(tmp_path / "m.pt2", recipe=recipe)


def test_the_methods_of_a_session_work(tmp_path, capsys):
    model, inputs = made(Mlp)
    session = recipes.export(model, inputs, ExportRecipe.get_recipe(XNNPackRecipeType.FP32), constant_methods={"get_n": 7})
    session.save_to_pte(str(tmp_path / "m.pte"))
    assert (tmp_path / "m.pte").read_bytes() == session.get_pte_buffer()
    assert session.run_method("get_n", ())[0] == 7
    instructions = session.get_executorch_program().execution_plan[0].chains[0].instructions
    assert [type(each.instr_args).__name__ for each in instructions] == ["DelegateCall"]
    session.print_delegation_info()
    assert "Total delegated subgraphs: 1" in capsys.readouterr().out
    assert session.get_exported_program().graph_module is not None


def test_a_session_makes_etrecords(tmp_path):
    model, inputs = made(Mlp)
    session = recipes.export(model, inputs, ExportRecipe.get_recipe(XNNPackRecipeType.FP32), generate_etrecord=True)
    session.get_etrecord().save(tmp_path / "m.etrecord")
    record = parse_etrecord(str(tmp_path / "m.etrecord"))
    assert record._delegate_map["forward"]["0"]["name"] == "XnnpackBackend"
    assert record.exported_program is not None


def test_a_session_of_executorch_gets_the_stages():
    model, inputs = made(Mlp)
    recipe = ExportRecipe.get_recipe(XNNPackRecipeType.FP32)
    session = theirs.ExportSession(model, inputs, recipe)
    recipes.register_stages(session, {"jobs": 2})
    session.export()
    assert session.get_pte_buffer() == recipes.export(model, inputs, recipe).get_pte_buffer()


def test_stages_apart_give_the_same_program():
    model, inputs = made(Mlp)
    recipe = ExportRecipe.get_recipe(XNNPackRecipeType.FP32)
    whole = recipes.export(model, inputs, recipe).get_pte_buffer()
    recipe.pipeline_stages = [StageType.TORCH_EXPORT, StageType.TO_EDGE, StageType.TO_BACKEND, StageType.TO_EXECUTORCH]
    assert recipes.export(model, inputs, recipe).get_pte_buffer() == whole


class Doubled(ExportPass):
    """Turns each relu into twice its input: its effect is seen in the result."""

    def call_operator(self, op, args, kwargs, meta):
        if "relu" not in str(op):
            return super().call_operator(op, args, kwargs, meta)
        from executorch.exir.dialects._ops import ops

        return super().call_operator(ops.edge.aten.add.Tensor, (args[0], args[0]), {}, meta)


def doubled(model, x):
    first, _, second = model.layers
    return second(first(x) * 2)


@pytest.mark.parametrize("field", ["edge_transform_passes", "edge_manager_transform_passes"])
def test_passes_of_a_recipe_run(field):
    model, inputs = made(Mlp)
    make = (lambda name, program: [Doubled()]) if field == "edge_transform_passes" else lambda manager: [Doubled()]
    recipe = ExportRecipe(lowering_recipe=LoweringRecipe(partitioners=[XnnpackPartitioner()], **{field: [make]}))
    if field == "edge_manager_transform_passes":
        recipe.pipeline_stages = [
            StageType.TORCH_EXPORT,
            StageType.TO_EDGE,
            StageType.EDGE_PROGRAM_MANAGER_TRANSFORM,
            StageType.TO_BACKEND,
            StageType.TO_EXECUTORCH,
        ]
    session = recipes.export(model, inputs, recipe)
    torch.testing.assert_close(session.run_method()[0], doubled(model, *inputs[0]), atol=1e-4, rtol=1e-4)


of_1_5 = pytest.mark.skipif(installed("executorch").startswith("1.4"), reason="its recipes have no such field or stage")


@of_1_5
def test_passes_after_delegation_are_refused():
    model, inputs = made(Mlp)
    lowering = LoweringRecipe(partitioners=[XnnpackPartitioner()], edge_manager_transform_passes=[lambda manager: [Doubled()]])
    with pytest.raises(depute.Error, match="must run before to_backend"):
        recipes.export(model, inputs, ExportRecipe(lowering_recipe=lowering))


def quantization(is_qat=False, **others):
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True, is_qat=is_qat))
    return QuantizationRecipe(quantizers=[quantizer], is_qat=is_qat, **others)


@of_1_5
def test_calibration_inputs_of_a_recipe_decide_the_scales():
    model, inputs = made(Conv)

    def bytes_by(factor):
        recipe = ExportRecipe.get_recipe(XNNPackRecipeType.PT2E_INT8_STATIC_PER_CHANNEL)
        recipe.quantization_recipe = quantization(calibration_inputs_fn=lambda: [(inputs[0][0] * factor,)])
        session = recipes.export(model, inputs, recipe)
        return session.get_pte_buffer(), decibels(model(*inputs[0]), session.run_method()[0])

    (right, right_db), (wrong, wrong_db) = bytes_by(1), bytes_by(0.1)
    assert right != wrong and right_db > wrong_db + 10


@of_1_5
def test_training_with_quantization_is_lowered():
    model, inputs = made(Mlp)  # with a batch norm torchao's preparation takes minutes
    steps = []

    def train(prepared):
        optimizer = torch.optim.SGD(prepared.parameters(), lr=0.01)
        for _ in range(3):
            with torch.enable_grad():
                loss = prepared(*inputs[0]).square().mean()
                loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            steps.append(float(loss))

    recipe = ExportRecipe.get_recipe(XNNPackRecipeType.PT2E_INT8_STATIC_PER_CHANNEL)
    recipe.quantization_recipe = quantization(is_qat=True, train_fn=train)
    session = recipes.export(model, inputs, recipe)
    assert len(steps) == 3 and steps[2] < steps[0]
    trained = session.get_exported_program().module()
    assert decibels(trained(*inputs[0]), session.run_method()[0]) > 30
    assert decibels(model(*inputs[0]), session.run_method()[0]) < 60  # the trained weights, not those before


def test_combined_recipes_give_one_program():
    model, inputs = made(Mlp)
    fp32, dynamic = (ExportRecipe.get_recipe(each) for each in (XNNPackRecipeType.FP32, XNNPackRecipeType.PT2E_INT8_DYNAMIC_PER_CHANNEL))
    session = recipes.export(model, inputs, ExportRecipe.combine([fp32, dynamic]))
    alone = recipes.export(model, inputs, dynamic)
    assert session.get_pte_buffer() == alone.get_pte_buffer()


class TanThenLinear(torch.nn.Module):
    """The demo backend takes what comes before the linear layer."""

    def __init__(self):
        super().__init__()
        self.conv, self.linear = torch.nn.Conv2d(1, 1, 2, bias=False), torch.nn.Linear(4, 3)

    def forward(self, x):
        return self.linear(torch.tan(torch.relu(self.conv(x))).flatten(1))


def test_a_backend_of_a_recipe_comes_before_xnnpack():
    model, inputs = TanThenLinear().eval(), [(torch.ones(1, 1, 3, 3),)]
    own = ExportRecipe(name="own", lowering_recipe=LoweringRecipe(partitioners=[depute.partitioner("demo")]))
    both = ExportRecipe.combine([own, ExportRecipe.get_recipe(XNNPackRecipeType.FP32)])
    session = recipes.export(model, inputs, both)
    ids = {each.backend_id for each in session.get_edge_program_manager().program.lowered_modules().values()}
    assert "XnnpackBackend" in ids and len(ids) == 2


def test_partitioners_with_options_are_executorchs():
    model, inputs = made(Mlp)
    lowering = LoweringRecipe(partitioners={"forward": [XnnpackFloatingPointPartitioner()]})
    session = recipes.export(model, inputs, ExportRecipe(lowering_recipe=lowering))
    torch.testing.assert_close(session.run_method()[0], model(*inputs[0]), atol=1e-4, rtol=1e-4)


class TakesNothing(XnnpackPartitioner):
    def partition(self, exported_program):
        return PartitionResult(exported_program, {})


@pytest.mark.parametrize("partitioner, delegates", [(TakesNothing(), 0), (XnnpackPartitioner(per_op_mode=True), 2)])
def test_partitioners_of_their_own_are_called(partitioner, delegates):
    model, inputs = made(Mlp)
    session = recipes.export(model, inputs, ExportRecipe(lowering_recipe=LoweringRecipe(partitioners=[partitioner])))
    assert session.get_edge_program_manager().get_delegation_info().num_delegated_subgraphs == delegates


def test_methods_and_exported_programs():
    model, inputs = made(Mlp)
    programs = {name: torch.export.export(model, inputs[0]) for name in ("prefill", "decode")}
    session = recipes.export(programs, export_recipe=ExportRecipe.get_recipe(XNNPackRecipeType.FP32))
    for name in programs:
        torch.testing.assert_close(session.run_method(name, inputs[0])[0], model(*inputs[0]), atol=1e-4, rtol=1e-4)
    assert sorted(session.get_edge_program_manager().methods) == ["decode", "prefill"]
