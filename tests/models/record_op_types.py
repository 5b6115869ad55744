#!/usr/bin/env python3
"""Records the result types PyTorch gives to many calls, as a program in the text form.

    record_op_types.py > tests/unit/ops/op_types.ir

Each node of the program is one call with the element types and sizes torch computed for its results. The unit tests of
src/ops hold the op table's rules against it. Nothing is computed: tensors are fake, as they are in torch.export.
"""

import re

import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401  registers quantized_decomposed
from torch._subclasses import FakeTensorMode

DTYPES = {
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "u8": torch.uint8,
    "bool": torch.bool,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
TENSOR = re.compile(r"(\w+)\[([\d, ]*)\]$")
END = 2**63 - 1


def calls():
    """Every recorded call: the op, its arguments, its keyword arguments. Texts like "f32[2, 3]" are tensors."""
    yield from pointwise()
    yield from views()
    yield from parts()
    yield from reductions()
    yield from products()
    yield from convolutions()
    yield from pools()
    yield from norms()
    yield from combinations()
    yield from creation()
    yield from indexing()
    yield from others()


def call(op, *args, **kwargs):
    return op, args, kwargs


def pointwise():
    for op in ("abs", "neg", "relu", "ceil", "sign", "hardtanh", "clone"):
        for dtype in ("f32", "f16", "i32"):
            yield call(f"aten.{op}.default", f"{dtype}[2, 3]")
    for op in ("exp", "sin", "sqrt", "rsqrt", "sigmoid", "tanh", "reciprocal", "log1p", "erf"):
        for dtype in ("f32", "bf16", "i64", "bool"):
            yield call(f"aten.{op}.default", f"{dtype}[4]")
    for op in ("logical_not", "isnan", "isinf"):
        yield call(f"aten.{op}.default", "f32[2, 3]")
    for op in ("gelu", "silu", "hardswish", "hardsigmoid", "selu", "celu", "softplus", "mish", "log_sigmoid", "elu", "relu6"):
        yield call(f"aten.{op}.default", "f32[2, 3]")

    pairs = [("f32[2, 3]", "f32[3]"), ("f32[2, 1]", "i64[1, 3]"), ("i32[2]", "i64[2]"), ("f16[2]", "f32[]"),
             ("i64[2]", "f32[]"), ("f16[2]", "bf16[2]"), ("u8[2]", "i8[2]"), ("bool[2]", "i64[]"), ("f32[]", "f64[]"),
             ("f64[]", "f32[2]"), ("f32[3, 1, 1]", "f32[4, 1]"), ("f32[0, 3]", "f32[1, 3]")]
    for op in ("add.Tensor", "mul.Tensor", "div.Tensor", "minimum.default", "eq.Tensor", "fmod.Tensor"):
        for a, b in pairs:
            yield call(f"aten.{op}", a, b)
    yield call("aten.sub.Tensor", "f32[2, 3]", "i64[3]", alpha=2)
    numbers = [("f32[2]", 1), ("f32[2]", 0.5), ("i64[2]", 1), ("i64[2]", 0.5), ("f16[2]", 2.0), ("u8[2]", 300)]
    for op in ("add.Tensor", "mul.Tensor", "div.Tensor", "pow.Tensor_Scalar", "remainder.Scalar", "lt.Scalar"):
        for a, b in numbers:
            yield call(f"aten.{op}", a, b)
    yield call("aten.add.Tensor", "bool[2]", 1)
    yield call("aten.pow.Scalar", 2, "i64[2]")
    yield call("aten.pow.Scalar", 2.5, "i64[2]")
    yield call("aten.pow.Tensor_Tensor", "i64[2]", "f32[2]")
    yield call("aten.div.Tensor_mode", "i64[2]", "i64[2]", rounding_mode="floor")
    yield call("aten.div.Tensor_mode", "i64[2]", "i64[2]", rounding_mode=None)
    yield call("aten.div.Tensor_mode", "f32[2]", 2, rounding_mode="trunc")
    yield call("aten.rsub.Scalar", "i64[2]", 1.5)
    yield call("aten.atan2.default", "i64[2]", "i64[2]")
    yield call("aten.clamp.default", "i64[2]", 0, 1.5)
    yield call("aten.clamp.default", "f16[2]", 0.0)
    yield call("aten.clamp.Tensor", "f16[2, 3]", "f32[3]", None)
    yield call("aten.where.self", "bool[2, 1]", "f32[3]", "f64[]")
    yield call("aten.where.self", "bool[2, 1]", "i64[3]", "f32[2, 3]")
    yield call("aten.where.ScalarOther", "bool[2]", "f16[2]", -1.5)
    yield call("aten.where.ScalarSelf", "bool[2]", 1, "f16[2]")
    yield call("aten.masked_fill.Scalar", "f16[2, 3]", "bool[3]", 0)
    yield call("aten.masked_fill.Tensor", "f32[1, 3]", "bool[2, 3]", "f32[]")
    yield call("aten.logical_and.default", "f32[2, 1]", "bool[3]")
    yield call("aten.bitwise_and.Tensor", "bool[2]", "i64[2]")
    yield call("aten.bitwise_not.default", "i64[2]")
    yield call("aten.addcmul.default", "f32[2, 3]", "f32[3]", "f32[2, 1]", value=2)
    yield call("aten.prelu.default", "f32[2, 3, 4]", "f32[3]")
    yield call("aten.glu.default", "f32[2, 6]", -1)
    yield call("aten._softmax.default", "f32[2, 3]", -1, False)
    yield call("aten.softmax.int", "f16[2, 3]", 1, torch.float32)
    yield call("aten.log_softmax.int", "f32[2, 3]", 0)
    yield call("aten.dropout.default", "f32[2]", 0.5, False)


def views():
    yield call("aten.view.default", "f32[2, 3, 4]", [6, 4])
    yield call("aten.view.default", "f32[2, 3, 4]", [-1, 2])
    yield call("aten.view.default", "f32[2, 3, 4]", [24])
    yield call("aten.view.default", "f32[1]", [])
    yield call("aten.view.default", "f32[0, 3]", [0, 1, 3])
    yield call("aten.reshape.default", "i64[2, 3]", [3, -1])
    yield call("aten.reshape_as.default", "f32[2, 3]", "i64[3, 2]")
    yield call("aten.flatten.using_ints", "f32[2, 3, 4]", 1)
    yield call("aten.flatten.using_ints", "f32[2, 3, 4]", 0, 1)
    yield call("aten.flatten.using_ints", "f32[]")
    yield call("aten.unflatten.int", "f32[2, 12]", 1, [3, -1])
    yield call("aten.unsqueeze.default", "f32[2, 3]", -1)
    yield call("aten.unsqueeze.default", "f32[]", 0)
    yield call("aten.squeeze.default", "f32[1, 3, 1]")
    yield call("aten.squeeze.dim", "f32[1, 3, 1]", -1)
    yield call("aten.squeeze.dim", "f32[1, 3, 1]", 1)
    yield call("aten.squeeze.dims", "f32[1, 3, 1]", [0, 1])
    yield call("aten.permute.default", "f32[2, 3, 4]", [2, 0, -2])
    yield call("aten.transpose.int", "f32[2, 3, 4]", -1, 0)
    yield call("aten.t.default", "f32[2, 3]")
    yield call("aten.t.default", "f32[3]")
    yield call("aten.numpy_T.default", "f32[2, 3, 4]")
    yield call("aten.mT.default", "f32[2, 3, 4]")
    yield call("aten.movedim.int", "f32[2, 3, 4]", 0, 2)
    yield call("aten.movedim.intlist", "f32[2, 3, 4, 5]", [0, 1], [-1, 0])
    yield call("aten.swapaxes.default", "f32[2, 3]", 0, 1)
    yield call("aten.expand.default", "f32[2, 1]", [3, -1, 4])
    yield call("aten.expand_as.default", "f32[2, 1]", "f32[2, 5]")
    yield call("aten.as_strided.default", "f32[2, 3]", [3, 2], [1, 3])
    yield call("aten.unfold.default", "f32[2, 9]", 1, 3, 2)
    yield call("aten.diagonal.default", "f32[2, 3, 4]", 1, 0, 2)
    yield call("aten.alias.default", "f32[2]")
    yield call("aten.detach.default", "f32[2]")
    yield call("aten.view_copy.default", "f32[2, 3]", [6])
    yield call("aten.to.dtype", "f32[2]", torch.float16)
    yield call("aten._to_copy.default", "f32[2]", dtype=torch.int64)
    yield call("aten.contiguous.default", "f32[2]")
    yield call("aten.type_as.default", "f32[2]", "i64[1]")


def parts():
    for start, end, step in ((0, END, 1), (1, 3, 1), (-2, END, 1), (0, -1, 1), (0, 100, 2), (3, 1, 1), (None, None, 1)):
        yield call("aten.slice.Tensor", "f32[5, 2]", 0, start, end, step)
    yield call("aten.select.int", "f32[5, 2]", 1, -1)
    yield call("aten.narrow.default", "f32[5, 2]", 0, 1, 3)
    yield call("aten.split.Tensor", "f32[5, 2]", 2)
    yield call("aten.split.Tensor", "f32[0, 2]", 2)
    yield call("aten.split_with_sizes.default", "f32[5, 2]", [1, 4])
    yield call("aten.chunk.default", "f32[2, 7]", 3, 1)
    yield call("aten.chunk.default", "f32[2, 2]", 3, 1)
    yield call("aten.unbind.int", "f32[2, 3]", 1)


def reductions():
    for op in ("sum.dim_IntList", "mean.dim", "amax.default", "amin.default"):
        for dims, keep in (([1], False), ([0, -1], True), ([], False), ([-2], True)):
            yield call(f"aten.{op}", "f32[2, 3, 4]", dims, keep)
    yield call("aten.sum.dim_IntList", "bool[2, 3]", [0])
    yield call("aten.sum.dim_IntList", "i32[2, 3]", None, True)
    yield call("aten.sum.dim_IntList", "f16[2, 3]", [1], dtype=torch.float32)
    yield call("aten.sum.default", "i32[2, 3]")
    yield call("aten.mean.default", "f32[2, 3]")
    yield call("aten.mean.dim", "i64[2, 3]", [1], dtype=torch.float32)
    yield call("aten.prod.dim_int", "i32[2, 3]", 1)
    yield call("aten.any.default", "f32[2, 3]")
    yield call("aten.any.dim", "bool[2, 3]", -1, True)
    yield call("aten.all.dim", "f32[2, 3]", 0)
    yield call("aten.max.default", "i64[2, 3]")
    yield call("aten.max.dim", "f32[2, 3]", 1, True)
    yield call("aten.min.dim", "f32[2, 3]", 0)
    yield call("aten.argmax.default", "f32[2, 3]")
    yield call("aten.argmax.default", "f32[2, 3]", 1, True)
    yield call("aten.var.correction", "f32[2, 3]", [1], correction=0, keepdim=True)
    yield call("aten.linalg_vector_norm.default", "f32[2, 3]", 2, [1], True)
    yield call("aten.linalg_vector_norm.default", "f16[2, 3]", 1)
    yield call("aten.cumsum.default", "bool[2, 3]", 1)
    yield call("aten.cumsum.default", "f32[2, 3]", 0)
    yield call("aten.diff.default", "f32[2, 5]", 2, -1)
    yield call("aten.diff.default", "f32[2, 5]", 1, 1, "f32[2, 1]", None)


def products():
    yield call("aten.linear.default", "f32[2, 5, 3]", "f32[4, 3]", "f32[4]")
    yield call("aten.linear.default", "f32[3]", "f32[4, 3]")
    yield call("aten.mm.default", "f32[2, 3]", "f32[3, 4]")
    yield call("aten.bmm.default", "f32[6, 2, 3]", "f32[6, 3, 4]")
    yield call("aten.addmm.default", "f32[4]", "f32[2, 3]", "f32[3, 4]")
    yield call("aten.baddbmm.default", "f32[6, 2, 4]", "f32[6, 2, 3]", "f32[6, 3, 4]")
    for a, b in (("f32[3]", "f32[3]"), ("f32[2, 3]", "f32[3]"), ("f32[3]", "f32[3, 4]"), ("f32[2, 3]", "f32[3, 4]"),
                 ("f32[5, 2, 3]", "f32[3, 4]"), ("f32[5, 1, 2, 3]", "f32[6, 3, 4]"), ("f32[3]", "f32[6, 3, 4]"),
                 ("f32[6, 2, 3]", "f32[3]")):
        yield call("aten.matmul.default", a, b)
    yield call("aten.outer.default", "f32[2]", "i64[3]")
    yield call("aten.dot.default", "f32[3]", "f32[3]")
    yield call("aten.mv.default", "f32[2, 3]", "f32[3]")
    yield call("aten.einsum.default", "bhld,bhmd->bhlm", ["f32[2, 3, 4, 5]", "f32[2, 3, 6, 5]"])
    yield call("aten.einsum.default", "ij,jk", ["f32[2, 3]", "f32[3, 4]"])
    yield call("aten.einsum.default", "ij->j", ["f32[2, 3]"])
    attention = "aten.scaled_dot_product_attention.default"
    yield call(attention, "f32[2, 4, 5, 8]", "f32[2, 4, 6, 8]", "f32[2, 4, 6, 7]")
    yield call(attention, "f32[2, 4, 5, 8]", "f32[2, 2, 6, 8]", "f32[2, 2, 6, 8]", "bool[5, 6]", enable_gqa=True)


def convolutions():
    yield call("aten.conv1d.default", "f32[1, 3, 9]", "f32[4, 3, 3]", None, [2], [1])
    yield call("aten.conv2d.default", "f32[1, 3, 9, 8]", "f32[4, 3, 3, 2]", "f32[4]", [2, 1], [1, 0], [2, 1])
    yield call("aten.conv2d.default", "f32[6, 9, 8]", "f32[6, 1, 3, 3]", None, [1], [1], [1], 6)
    yield call("aten.conv3d.default", "f32[1, 2, 5, 5, 5]", "f32[4, 2, 3, 3, 3]")
    yield call("aten.conv2d.padding", "f32[1, 3, 9, 8]", "f32[4, 3, 3, 2]", None, [1, 1], "same")
    yield call("aten.conv2d.padding", "f32[1, 3, 9, 8]", "f32[4, 3, 3, 2]", None, [2, 2], "valid")
    yield call("aten.conv2d.padding", "f32[1, 1, 3, 3]", "f32[1, 1, 6, 5]", None, [1, 1], "same")
    yield call("aten.conv_transpose1d.default", "f32[1, 3, 9]", "f32[3, 4, 3]", None, [2], [1], [1])
    yield call("aten.conv_transpose2d.input", "f32[1, 4, 9, 8]", "f32[4, 3, 3, 2]", None, [2, 2], [1, 0], [1, 0], 2)
    convolution = "aten.convolution.default"
    yield call(convolution, "f32[1, 3, 9, 8]", "f32[4, 3, 3, 3]", None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    yield call(convolution, "f32[1, 4, 9, 8]", "f32[4, 3, 3, 3]", None, [2, 2], [1, 1], [1, 1], True, [1, 1], 1)


def pools():
    yield call("aten.max_pool2d.default", "f32[1, 3, 9, 8]", [3, 3], [2, 2], [1, 1])
    yield call("aten.max_pool2d.default", "f32[1, 3, 9, 8]", [2, 2])
    yield call("aten.max_pool2d.default", "f32[1, 3, 9, 8]", [3, 3], [2, 2], [0, 0], [1, 1], True)
    yield call("aten.max_pool2d_with_indices.default", "f32[3, 9, 8]", [3, 3], [2, 2], [1, 1], [2, 2])
    yield call("aten.max_pool1d.default", "f32[1, 3, 9]", [3], [2])
    yield call("aten.max_pool3d.default", "f32[1, 3, 9, 9, 9]", [3, 3, 3], [2, 2, 2])
    yield call("aten.avg_pool2d.default", "f32[1, 3, 9, 8]", [3, 3], [2, 2], [1, 1], True)
    yield call("aten.avg_pool2d.default", "f32[1, 3, 9, 8]", [2])
    yield call("aten.avg_pool1d.default", "f32[1, 3, 9]", [3], [2], [1], True)
    yield call("aten.adaptive_avg_pool1d.default", "f32[1, 3, 9]", [3])
    yield call("aten.adaptive_avg_pool2d.default", "f32[1, 3, 9, 8]", [1, 1])
    yield call("aten._adaptive_avg_pool2d.default", "f32[1, 3, 9, 8]", [2, 5])
    yield call("aten.adaptive_avg_pool3d.default", "f32[1, 3, 9, 8, 7]", [1, 1, 1])
    yield call("aten.adaptive_max_pool2d.default", "f32[1, 3, 8, 8]", [4, 4])


def norms():
    statistics = ("f32[3]", "f32[3]", "f32[3]", "f32[3]")
    yield call("aten.batch_norm.default", "f32[2, 3, 4, 4]", *statistics, False, 0.1, 1e-5, True)
    yield call("aten._native_batch_norm_legit_no_training.default", "f32[2, 3, 4]", *statistics, 0.1, 1e-5)
    yield call("aten._native_batch_norm_legit.no_stats", "f32[2, 3, 4]", None, None, True, 0.1, 1e-5)
    yield call("aten.layer_norm.default", "f32[2, 3, 4]", [3, 4], "f32[3, 4]", None)
    yield call("aten.native_layer_norm.default", "f32[2, 3, 4]", [3, 4], None, None, 1e-5)
    yield call("aten.group_norm.default", "f32[2, 6, 4]", 3)
    yield call("aten.native_group_norm.default", "f32[2, 6, 4]", None, None, 2, 6, 4, 3, 1e-5)
    yield call("aten.instance_norm.default", "f32[2, 6, 4]", None, None, None, None, True, 0.1, 1e-5, True)
    yield call("aten.rms_norm.default", "f16[2, 6]", [6], "f16[6]")
    yield call("aten._weight_norm.default", "f32[4, 3, 2]", "f32[4, 1, 1]")


def combinations():
    yield call("aten.cat.default", ["f32[2, 3]", "f32[4, 3]"])
    yield call("aten.cat.default", ["f32[2, 3]", "i64[2, 1]", "f64[2, 2]"], -1)
    yield call("aten.cat.default", ["f32[0]", "f32[4, 3]"], 1)
    yield call("aten.stack.default", ["f32[2, 3]", "f32[2, 3]"], -1)
    yield call("aten.constant_pad_nd.default", "f32[2, 3]", [1, 2, -1, 0], 1.5)
    yield call("aten.pad.default", "f32[1, 3, 4, 4]", [1, 2, 3, 0], "reflect")
    yield call("aten.pad.default", "f32[1, 3, 4, 4]", [1, 2], "constant", 0.5)
    yield call("aten.repeat.default", "f32[2, 3]", [4, 1, 2])
    yield call("aten.repeat_interleave.self_int", "f32[2, 3]", 2, 1)
    yield call("aten.repeat_interleave.self_int", "f32[2, 3]", 2)
    yield call("aten.meshgrid.indexing", ["f32[2]", "f32[3]"], indexing="xy")
    yield call("aten.flip.default", "f32[2, 3]", [1])
    yield call("aten.roll.default", "f32[2, 3]", [1], [1])
    yield call("aten.tril.default", "f32[2, 3]")


def creation():
    yield call("aten.full.default", [2, 3], 1)
    yield call("aten.full.default", [2, 3], 1.0)
    yield call("aten.full.default", [2, 3], True)
    yield call("aten.full.default", [], 1, dtype=torch.float16)
    yield call("aten.zeros.default", [2])
    yield call("aten.ones.default", [2], dtype=torch.int64)
    yield call("aten.new_zeros.default", "i64[1]", [2, 3])
    yield call("aten.new_ones.default", "i64[1]", [2, 3], dtype=torch.bool)
    yield call("aten.zeros_like.default", "i64[2, 3]")
    yield call("aten.ones_like.default", "i64[2, 3]", dtype=torch.float32)
    yield call("aten.full_like.default", "f16[2, 3]", 1)
    yield call("aten.scalar_tensor.default", 1)
    yield call("aten.scalar_tensor.default", 1, dtype=torch.int64)
    yield call("aten.arange.default", 5)
    yield call("aten.arange.default", 5.5)
    yield call("aten.arange.start", 2, 7)
    yield call("aten.arange.start_step", 2, 7, 2)
    yield call("aten.arange.start_step", 7, 2, -2)
    yield call("aten.arange.start_step", 0.0, 1.0, 0.3)
    yield call("aten.arange.start_step", 0, 4, 1, dtype=torch.float32)


def indexing():
    yield call("aten.index.Tensor", "f32[4, 5, 6]", ["i64[3]"])
    yield call("aten.index.Tensor", "f32[4, 5, 6]", [None, "i64[3, 1]", "i64[2]"])
    yield call("aten.index.Tensor", "f32[4, 5, 6]", ["i64[3]", None, "i64[3]"])
    yield call("aten.index.Tensor", "f32[4, 5, 6]", [None, None, "i64[]"])
    yield call("aten.index_put.default", "f32[4, 5]", [None, "i64[3]"], "f32[3]")
    yield call("aten.index_select.default", "f32[4, 5]", 1, "i64[3]")
    yield call("aten.gather.default", "f32[4, 5]", 1, "i64[4, 2]")
    yield call("aten.scatter.src", "f32[4, 5]", 1, "i64[4, 2]", "f32[4, 2]")
    yield call("aten.slice_scatter.default", "f32[4, 5]", "f32[2, 5]", 0, 1, 3)
    yield call("aten.select_scatter.default", "f32[4, 5]", "f32[4]", 1, 2)
    yield call("aten.embedding.default", "f32[10, 4]", "i64[2, 3]", 1)
    yield call("aten.sort.default", "f32[4, 5]")
    yield call("aten.argsort.default", "f32[4, 5]", 0)
    yield call("aten.topk.default", "f32[4, 5]", 2, 0)


def others():
    yield call("aten.upsample_bilinear2d.vec", "f32[1, 3, 4, 5]", [8, 9], False, None)
    yield call("aten.upsample_bilinear2d.vec", "f32[1, 3, 4, 5]", None, True, [2.0, 1.5])
    yield call("aten.upsample_nearest2d.vec", "f32[1, 3, 4, 5]", None, [2.0, 2.0])
    yield call("aten.grid_sampler_2d.default", "f32[1, 3, 4, 5]", "f32[1, 6, 7, 2]", 0, 0, False)
    yield call("aten.pixel_shuffle.default", "f32[1, 8, 4, 5]", 2)
    yield call("aten.pixel_unshuffle.default", "f32[1, 2, 4, 6]", 2)
    weights = ["f32[16, 3]", "f32[16, 4]", "f32[16]", "f32[16]"]
    yield call("aten.lstm.input", "f32[2, 5, 3]", ["f32[1, 2, 4]", "f32[1, 2, 4]"], weights, True, 1, 0.0, False, False, True)
    weights = ["f32[12, 3]", "f32[12, 4]"] * 2
    yield call("aten.gru.input", "f32[5, 2, 3]", "f32[2, 2, 4]", weights, False, 1, 0.0, False, True, False)
    limits = (-128, 127, torch.int8)
    yield call("quantized_decomposed.quantize_per_tensor.default", "f32[2, 3]", 0.5, 1, *limits)
    yield call("quantized_decomposed.dequantize_per_tensor.default", "i8[2, 3]", 0.5, 1, *limits)
    yield call("quantized_decomposed.dequantize_per_channel.default", "i8[2, 3]", "f32[2]", "i64[2]", 0, *limits)


def type_text(tensor):
    sizes = ", ".join(str(size) for size in tensor.shape)
    return f"{NAMES[tensor.dtype]}[{sizes}]"


class Recorder:
    """The inputs the recorded calls need, each type with as many values as one call uses of it."""

    def __init__(self):
        self.inputs = {}
        self.lines = []

    def record(self, op, args, kwargs):
        namespace, name, overload = op.split(".")
        function = getattr(getattr(getattr(torch.ops, namespace), name), overload)
        results = function(*self.tensors(args), **self.tensors(kwargs))
        flat = list(results) if isinstance(results, (tuple, list)) else [results]
        defined = ", ".join(f"%r{len(self.lines)}_{i}: {type_text(result)}" for i, result in enumerate(flat))
        written = [self.text(arg) for arg in args] + [f"{key}={self.text(value)}" for key, value in kwargs.items()]
        self.lines.append(f"  {defined} = {op}({', '.join(written)})")

    def tensors(self, value):
        if isinstance(value, dict):
            return {key: self.tensors(item) for key, item in value.items()}
        if isinstance(value, (tuple, list)):
            return [self.tensors(item) for item in value]
        match = TENSOR.match(value) if isinstance(value, str) else None
        if match is None:
            return value
        sizes = [int(size) for size in match[2].split(",") if size]
        return torch.empty(sizes, dtype=DTYPES[match[1]])

    def text(self, value):
        if isinstance(value, (tuple, list)):
            return f"[{', '.join(self.text(item) for item in value)}]"
        if value is None or isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, torch.dtype):
            return f".{NAMES[value]}"
        if isinstance(value, str) and TENSOR.match(value):
            return f"%{self.inputs.setdefault(value, f'x{len(self.inputs)}')}"
        return f'"{value}"' if isinstance(value, str) else repr(value)

    def program(self):
        inputs = ", ".join(f"%{name}: {text}" for text, name in self.inputs.items())
        return "\n".join(["program", "", f"method calls({inputs}) {{", *self.lines, "  return", "}"])


def main():
    recorder = Recorder()
    with FakeTensorMode():
        for op, args, kwargs in calls():
            recorder.record(op, args, kwargs)
    print("; Result types of PyTorch, recorded by tests/models/record_op_types.py.")
    print(recorder.program())


if __name__ == "__main__":
    main()
