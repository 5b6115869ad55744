"""Ops that write to tensors of the caller, torch.add(x, y, out=z), against eager PyTorch in the stock runtime."""

import subprocess

import pytest
import torch
from executorch.runtime import Runtime
from harness import lower
from test_op_table import DEPUTE_TEXT, is_gone, table, torch_op  # noqa: F401


class Fresh(torch.nn.Module):
    """Out tensors of the result's size, of none and of another type."""

    def forward(self, x, y):
        same, grown, wide = torch.empty_like(x), torch.empty(0), torch.empty(3, 4, dtype=torch.float64)
        torch.add(x, y, alpha=2, out=same)
        torch.mul(same, y, out=grown)
        torch.matmul(x, y.t(), out=torch.empty(0))
        torch.sub(x, y, out=wide)
        smaller = torch.sum(x, 1, out=torch.empty(0))
        return same, grown, wide, smaller, torch.maximum(x, y, out=grown) + 0, torch.max(x, y, out=same) + 0


class Seen(torch.nn.Module):
    """Out tensors that are views, written in place afterwards, or written twice."""

    def forward(self, x, y):
        base = torch.zeros(2, 3, 4)
        torch.exp(x, out=base[0])
        torch.neg(base[0], out=base[1])
        grown = torch.empty(0)
        result = torch.mul(x, y, out=grown)
        result.add_(1.0)
        copied = grown + 0
        torch.sin(x[0], out=grown)
        return base, copied, grown


class Several(torch.nn.Module):
    def forward(self, x, y):
        values, indices = torch.empty(3), torch.empty(3, dtype=torch.int64)
        torch.max(x, 1, out=(values, indices))
        torch.topk(y, 2, out=(sorted_values := torch.empty(0), sorted_indices := torch.empty(0, dtype=torch.int64)))
        low, high = torch.aminmax(x, dim=0, out=(torch.empty(0), torch.empty(0)))
        return values, indices, sorted_values, sorted_indices, low, high


class Given(torch.nn.Module):
    """An out tensor that is an input is one for the caller, too."""

    def forward(self, x, y):
        torch.atan2(x, y, out=y)
        return torch.cat([x, y], out=torch.empty(0))


@pytest.mark.parametrize("backend", [None, "xnnpack"])
@pytest.mark.parametrize("model", [Fresh, Seen, Several, Given], ids=lambda model: model.__name__)
def test_out_tensors_are_written_as_in_eager(model, backend, tmp_path):
    inputs = [torch.randn(3, 4), torch.randn(3, 4)]
    torch.export.save(torch.export.export(model(), tuple(inputs)), tmp_path / "m.pt2")
    lower(tmp_path / "m.pt2", tmp_path / "m.pte", *(["--backend", backend] if backend else []))
    given = [each.clone() for each in inputs]
    got = Runtime.get().load_program(tmp_path / "m.pte").load_method("forward").execute(given)
    got = [each.clone() for each in got][-len(model()(*[each.clone() for each in inputs])) if model is not Given else -1 :]
    want = model()(*inputs)
    torch.testing.assert_close(got, [want] if model is Given else list(want))


def out_names():
    """torch's ops with out tensors whose functional op, of the same arguments, is in the table: {name: its schema}."""
    found = {}
    for schema, _, _ in table():
        name = schema.partition("(")[0]
        if not name.startswith("aten.") or is_gone(name):
            continue
        own = torch_op(name)._schema
        if own.is_mutable or not own.returns or any(str(r.type) != "Tensor" or r.alias_info for r in own.returns):
            continue
        made = {"dtype", "layout", "device", "pin_memory"} if "pin_memory" in {a.name for a in own.arguments} else set()
        wanted = [(a.name, str(a.type)) for a in own.arguments if a.name not in made]
        packet = getattr(torch.ops.aten, name.split(".")[1])
        viewed = getattr(torch.ops.aten, name.split(".")[1].removesuffix("_copy"), packet)
        if viewed is not packet and any(r.alias_info for r in getattr(viewed, viewed.overloads()[0])._schema.returns):
            continue  # copies of views, which nobody calls by hand
        for overload in packet.overloads():
            variant = getattr(packet, overload)._schema
            if any(a.is_out for a in variant.arguments) and wanted == [(a.name, str(a.type)) for a in variant.arguments if not a.is_out]:
                found[f"aten.{name.split('.')[1]}.{overload}"] = (schema, variant)
    return found


# Their results have no names in torch's schemas, and nobody calls them by hand.
WITHOUT_NAMES = {
    "var_mean.correction_out",
    "std_mean.correction_out",
    "max_pool2d_with_indices.out",
    "adaptive_max_pool2d.out",
    "native_batch_norm.out",
    "_native_batch_norm_legit_no_training.out",
    "_native_batch_norm_legit.no_stats_out",
    "native_layer_norm.out",
    "native_group_norm.out",
    "max_pool3d_with_indices.out",
    "adaptive_max_pool3d.out",
    "_embedding_bag.out",
    "_embedding_bag_forward_only.out",
    "native_dropout.out",
    "_unique2.out",
    "unique_consecutive.out",
    # Steps of a loss and gradients.
    "nll_loss_forward.output",
    "nll_loss2d_forward.output",
    "threshold_backward.grad_input",
    "max_pool2d_with_indices_backward.grad_input",
    # Its probability has a default, which that of the functional form has not.
    "bernoulli.float_out",
}


def test_every_op_of_the_table_has_torchs_out_variant():
    wanted = {name: schema for name, (_, schema) in out_names().items() if name.removeprefix("aten.") not in WITHOUT_NAMES}
    assert len(wanted) > 500
    found = subprocess.run(
        [DEPUTE_TEXT, "ops", "--find", ",".join(wanted)], input="program\n", capture_output=True, text=True, check=True
    ).stdout
    schemas = {line.partition("(")[0]: line.split("\t")[0] for line in found.splitlines()}
    theirs = {name: name + str(schema)[str(schema).index("(") :] for name, schema in wanted.items()}
    assert {name: (schemas.get(name), text) for name, text in theirs.items() if schemas.get(name) != text} == {}
