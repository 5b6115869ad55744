#!/usr/bin/env python3
"""Records what torch computes for small calls of many ops: tests/unit/kernels/cases.json, which the unit tests of
the reference kernels replay.

    .venv/bin/python tests/models/record_kernel_cases.py

A case is {"op": "aten.add.Tensor", "args": [...], "kwargs": {...}, "out": [...]}. A tensor is
{"t": dtype, "s": sizes, "d": elements in order} and, when it is no dense one, "strides" of a larger base given in "d".
"""

import json
import math
import pathlib

import torch

OUT = pathlib.Path(__file__).resolve().parents[1] / "unit" / "kernels" / "cases.json"
NAMES = {
    torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16",
    torch.int64: "i64", torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8",
    torch.bool: "bool",
}  # fmt: skip
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTS = [torch.int64, torch.int32, torch.int8, torch.uint8]

cases = []
generator = torch.Generator().manual_seed(20)


def rand(*sizes, dtype=torch.float32, low=-2.0, high=2.0):
    values = torch.rand(sizes, generator=generator, dtype=torch.float64) * (high - low) + low
    return (values * 16).round().div(16).to(dtype)


def ints(*sizes, low=-5, high=6, dtype=torch.int64):
    return torch.randint(low, high, sizes, generator=generator).to(dtype)


def bools(*sizes):
    return torch.randint(0, 2, sizes, generator=generator).bool()


def edges(dtype=torch.float32):
    return torch.tensor(
        [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.75, -7.0, 20.5, math.inf, -math.inf, math.nan], dtype=dtype
    )


def number(value):
    if isinstance(value, bool) or isinstance(value, int):
        return value
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def elements(tensor):
    if tensor.dtype in (torch.float32, torch.float16, torch.bfloat16):
        return [number(float(f"{v:.9g}")) for v in tensor.flatten().tolist()]
    return [number(v) for v in tensor.flatten().tolist()]


def encode(value):
    if isinstance(value, torch.Tensor):
        result = {"t": NAMES[value.dtype], "s": list(value.shape)}
        if value.is_contiguous():
            return result | {"d": elements(value)}
        base = torch.as_strided(value, (value.untyped_storage().nbytes() // value.element_size(),), (1,), 0)
        return result | {"d": elements(base), "strides": list(value.stride()), "offset": value.storage_offset()}
    if isinstance(value, torch.dtype):
        return {"dtype": NAMES[value]}
    if isinstance(value, (list, tuple)):
        return [encode(v) for v in value]
    if isinstance(value, float):
        return {"f": number(value)}
    return value


def record(op, *args, **kwargs):
    namespace, name, overload = op.split(".")
    function = getattr(getattr(getattr(torch.ops, namespace), name), overload)
    result = function(*args, **kwargs)
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    outputs = [encode(r.contiguous() if isinstance(r, torch.Tensor) else r) for r in results]
    case = {"op": op, "args": encode(args)}
    if kwargs:
        case["kwargs"] = {key: encode(value) for key, value in kwargs.items()}
    cases.append(case | {"out": outputs})


def pointwise():
    unary = "abs neg sign ceil floor round trunc exp expm1 log log10 log1p log2 sqrt rsqrt reciprocal erf sin cos tan \
        asin acos atan sinh cosh asinh acosh atanh isnan isinf logical_not relu sigmoid tanh silu hardswish \
        hardsigmoid square relu6 softplus elu leaky_relu hardtanh logit".split()
    for name in unary:
        op = f"aten.{name}.default"
        record(op, edges())
        record(op, rand(2, 3).t())
        for dtype in (torch.float64, torch.float16, torch.bfloat16):
            record(op, rand(3, dtype=dtype))
    for name in "abs neg sign ceil floor round trunc bitwise_not relu square".split():
        for dtype in INTS:
            record(f"aten.{name}.default", torch.tensor([0, 1, 2, 127, 3], dtype=dtype))
        record(f"aten.{name}.default", torch.tensor([-128, -1, 5], dtype=torch.int8))
    for name in "exp log sqrt rsqrt reciprocal sigmoid tanh sin erf isnan isinf logical_not".split():
        record(f"aten.{name}.default", ints(4, low=1))
        record(f"aten.{name}.default", bools(4))
    record("aten.bitwise_not.default", bools(4))
    record("aten.relu.default", rand(0, 3))
    record("aten.exp.default", rand())
    for mode in ("none", "tanh"):  # torch's own vector code gives nan for gelu(inf)
        record("aten.gelu.default", edges()[:12], approximate=mode)
        record("aten.gelu.default", rand(4, dtype=torch.float64), approximate=mode)
        record("aten.gelu.default", rand(4, dtype=torch.float16), approximate=mode)
    record("aten.elu.default", edges(), 0.5, 1.5, 2.0)
    record("aten.leaky_relu.default", edges(), 0.25)
    record("aten.hardtanh.default", edges(), -0.75, 2.0)
    record("aten.softplus.default", edges(), 2.0, 3.0)
    record("aten.logit.default", rand(5, low=0, high=1), 0.1)

    binary = "add.Tensor sub.Tensor rsub.Tensor mul.Tensor div.Tensor fmod.Tensor remainder.Tensor minimum.default \
        maximum.default atan2.default pow.Tensor_Tensor eq.Tensor ne.Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor \
        logical_and.default logical_or.default logical_xor.default floor_divide.default".split()
    for name in binary:
        op = f"aten.{name}"
        record(op, edges(), edges().flip(0))
        record(op, rand(2, 1, 3), rand(4, 1))
        record(op, rand(3, 2).t(), rand(2, 3, dtype=torch.float64))
        record(op, rand(3, dtype=torch.float16), rand(3, dtype=torch.bfloat16))
        record(op, ints(5), rand(5, low=0.5))
        record(op, ints(5), rand(low=0.5))
        if name != "pow.Tensor_Tensor":
            record(op, ints(5, dtype=torch.int32), torch.tensor([1, -2, 3, -4, -1], dtype=torch.int64))
        record(op, ints(5, low=0, high=100, dtype=torch.uint8), ints(5, low=1, high=4, dtype=torch.uint8))
    for name in "add mul logical_and logical_or logical_xor minimum maximum eq lt".split():
        overload = "Tensor" if name in ("add", "mul", "eq", "lt") else "default"
        record(f"aten.{name}.{overload}", bools(6), bools(6))
    record("aten.add.Tensor", torch.tensor([120, 127], dtype=torch.int8), torch.tensor([100, 127], dtype=torch.int8))
    record("aten.mul.Tensor", torch.tensor([2**62 + 1]), torch.tensor([5]))
    record("aten.add.Tensor", rand(3), 2)
    record("aten.add.Tensor", ints(3), 2.5)
    record("aten.add.Tensor", rand(3), rand(3), alpha=3)
    record("aten.add.Tensor", ints(3), ints(3), alpha=-2)
    record("aten.sub.Tensor", rand(3), 0.1, alpha=0.3)
    record("aten.rsub.Scalar", rand(3), 0.1, 2)
    for name in "add sub mul div fmod remainder eq ne lt le gt ge floor_divide".split():
        record(f"aten.{name}.Scalar", edges(), 1.5)
        record(f"aten.{name}.Scalar", ints(6), 2)
        record(f"aten.{name}.Scalar", ints(6, dtype=torch.int32), -1.5)
    for mode in ("floor", "trunc", None):
        record("aten.div.Tensor_mode", edges(), edges().flip(0), rounding_mode=mode)
        record("aten.div.Tensor_mode", ints(8), torch.tensor([1, -1, 2, -2, 3, -3, 4, -4]), rounding_mode=mode)
        record("aten.div.Scalar_mode", rand(4), 0.3, rounding_mode=mode)
    for name in "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift".split():
        record(f"aten.{name}.Tensor", ints(5), ints(5, low=0))
        record(f"aten.{name}.Tensor", ints(5, dtype=torch.int8), ints(5, low=0, dtype=torch.int8))
    for name in "bitwise_and bitwise_or bitwise_xor".split():
        record(f"aten.{name}.Tensor", bools(5), bools(5))
        record(f"aten.{name}.Scalar", ints(5), 6)
    record("aten.pow.Tensor_Tensor", ints(5, low=-3, high=4), ints(5, low=0, high=6))
    for exponent in (2, 0.5, -1.5, 3, 0):
        record("aten.pow.Tensor_Scalar", edges(), exponent)
    record("aten.pow.Tensor_Scalar", ints(5), 3)
    record("aten.pow.Tensor_Scalar", ints(5, low=1), 0.5)
    record("aten.pow.Scalar", 2, edges())
    record("aten.pow.Scalar", 3, ints(4, low=0))
    for low, high in ((-1.0, 1.0), (None, 0.5), (0, None), (2.0, -2.0)):
        record("aten.clamp.default", edges(), low, high)
    record("aten.clamp.default", ints(6), -2, 2)
    record("aten.clamp.default", ints(6), -1.5, None)
    record("aten.clamp.Tensor", rand(2, 3), rand(3, low=-1, high=0), rand(2, 1, low=0, high=1))
    record("aten.clamp.Tensor", rand(2, 3), None, rand(3))
    record("aten.where.self", bools(2, 3), rand(3), rand(2, 1))
    record("aten.where.self", bools(3), ints(3), rand(3))
    record("aten.where.self", bools(3), ints(3), torch.tensor(2.5))
    record("aten.where.ScalarOther", bools(3), rand(3), 2)
    record("aten.where.ScalarSelf", bools(3), -math.inf, rand(3))
    record("aten.masked_fill.Scalar", rand(2, 3), bools(3), -math.inf)
    record("aten.masked_fill.Scalar", ints(2, 3), bools(2, 1), 7)
    record("aten.masked_fill.Tensor", rand(2, 3), bools(2, 3), torch.tensor(0.5))


def memory():
    values = torch.tensor([0.0, -0.0, 1.9, -1.9, 127.5, 200.0, 3.0e5, 0.1])
    for dtype in NAMES:
        record("aten._to_copy.default", values[:5], dtype=dtype)
        record("aten._to_copy.default", torch.tensor([0, 1, 2, 200, 300, -3]), dtype=dtype)
        record("aten._to_copy.default", bools(4), dtype=dtype)
    record("aten._to_copy.default", values, dtype=torch.float16)
    halves = torch.tensor([65504.0, 65519.0, 65520.0, 1e-7, 3e-8, 6.1e-5, math.nan])
    record("aten._to_copy.default", halves, dtype=torch.float16)
    ties = torch.tensor([1.00390625, 1.01171875, 3.4e38, math.inf, math.nan])
    record("aten._to_copy.default", ties, dtype=torch.bfloat16)
    record("aten._to_copy.default", rand(2, 3).t())
    record("aten.clone.default", rand(2, 3).t())
    record("aten.copy.default", ints(2, 3), rand(3))
    record("aten.type_as.default", rand(3), ints(1))


def views():
    x = rand(2, 3, 4)
    record("aten.view.default", x, [6, 4])
    record("aten.view.default", x, [2, -1])
    record("aten.view.default", x.transpose(0, 1), [3, 2, 2, 2])
    record("aten.view.default", rand(0, 3), [3, 0])
    record("aten.view.default", rand(), [1, 1])
    record("aten.view.default", rand(1), [])
    record("aten.view_copy.default", x, [24])
    record("aten.reshape.default", x.transpose(0, 2), [8, 3])
    record("aten.reshape.default", rand(1, 3).expand(2, 3), [6])
    record("aten._unsafe_view.default", x, [4, 6])
    record("aten.flatten.using_ints", x.transpose(0, 1), 1)
    record("aten.flatten.using_ints", rand(), 0, -1)
    for dim in (0, 1, -1):
        record("aten.unsqueeze.default", x.transpose(0, 1), dim)
    record("aten.unsqueeze.default", rand(), 0)
    record("aten.squeeze.default", rand(1, 3, 1))
    record("aten.squeeze.dim", rand(1, 3, 1), -1)
    record("aten.squeeze.dim", rand(1, 3, 1), 1)
    record("aten.squeeze.dims", rand(1, 3, 1), [0, 1, 2])
    record("aten.permute.default", x, [2, 0, -2])
    record("aten.permute_copy.default", x, [1, 0, 2])
    record("aten.transpose.int", x, 0, -1)
    record("aten.t.default", rand(2, 3))
    record("aten.t.default", rand(3))
    record("aten.expand.default", rand(3, 1), [2, -1, 4])
    record("aten.expand.default", rand(), [2, 0])
    for args in ((0,), (1, 1), (1, -2, 100), (2, 0, 4, 3), (1, 2, 1), (-1, 1, 3, 2)):
        record("aten.slice.Tensor", x, *args)
    record("aten.narrow.default", x, 1, 1, 2)
    record("aten.select.int", x, 1, -1)
    record("aten.select.int", x.t() if x.dim() == 2 else x.transpose(0, 2), 0, 3)
    record("aten.split_with_sizes.default", x, [1, 0, 3], 2)
    record("aten.split.Tensor", rand(7), 3)
    record("aten.chunk.default", rand(7, 2), 3)
    record("aten.unbind.int", x, 1)
    record("aten.as_strided.default", rand(10), [3, 2], [2, 3], 1)
    record("aten.unfold.default", rand(2, 9), 1, 3, 2)
    record("aten.diagonal.default", rand(3, 4), 1)
    record("aten.diagonal.default", rand(2, 3, 4), -1, 2, 0)
    record("aten.diagonal.default", rand(3, 4), 9)
    record("aten.alias.default", x.transpose(0, 1))


def combining():
    record("aten.cat.default", [rand(2, 3), rand(1, 3).expand(2, 3), rand(3, 1).t()[:, :3].expand(1, 3)], 0)
    record("aten.cat.default", [rand(2, 2), rand(0), rand(3, 2).t()], -1)
    record("aten.cat.default", [ints(2), rand(3)])
    record("aten.cat.default", [rand(0), rand(0)])
    record("aten.stack.default", [rand(2, 3), rand(3, 2).t()], 1)
    record("aten.stack.default", [rand(), rand()], -1)
    record("aten.constant_pad_nd.default", rand(2, 3), [1, 2, 0, 1], 1.5)
    record("aten.constant_pad_nd.default", rand(3, 4).t(), [-1, 1, 2, -2], -1.0)
    record("aten.constant_pad_nd.default", ints(2, 2), [1, 0])
    record("aten.constant_pad_nd.default", rand(2, 2), [-2, 1])
    for rank, sizes, pad in ((1, (2, 5), [2, 1]), (2, (1, 3, 4), [1, 2, 2, 0]), (3, (1, 2, 3, 3), [1, 0, 2, 2, 1, 1])):
        record(f"aten.reflection_pad{rank}d.default", rand(*sizes), pad)
        record(f"aten.replication_pad{rank}d.default", rand(*sizes), pad)
    record("aten.replication_pad2d.default", rand(1, 3, 4), [-1, 5, 0, -1])
    record("aten.repeat.default", rand(2, 3).t(), [2, 1, 2])
    record("aten.repeat.default", rand(2), [0, 3])
    record("aten.flip.default", rand(2, 3).t(), [0])
    record("aten.flip.default", rand(2, 3, 2), [-1, 0])
    record("aten.flip.default", rand(3), [])
    record("aten.roll.default", rand(3, 4), [1, -2], [0, 1])
    record("aten.roll.default", rand(2, 3), [4])
    record("aten.slice_scatter.default", rand(3, 5), rand(3, 2), 1, 1, 5, 2)
    record("aten.slice_scatter.default", rand(5, 3).t(), rand(3, 2), 1, -2)
    record("aten.select_scatter.default", rand(3, 4), rand(4), 0, -1)
    for diagonal in (-1, 0, 2, 9, -9):
        record("aten.tril.default", rand(3, 4), diagonal)
        record("aten.triu.default", rand(2, 3, 3), diagonal)


def creation():
    record("aten.full.default", [2, 3], 1.5)
    record("aten.full.default", [2], 7, dtype=torch.int32)
    record("aten.full.default", [], -math.inf, dtype=torch.float16)
    record("aten.full.default", [0], True)
    record("aten.full_like.default", ints(2, 2), 3)
    record("aten.full_like.default", rand(2, 2), 3, dtype=torch.bool)
    record("aten.new_full.default", rand(1), [2], 4)
    record("aten.zeros.default", [2, 2])
    record("aten.ones.default", [3], dtype=torch.int64)
    record("aten.zeros_like.default", ints(2))
    record("aten.ones_like.default", bools(2))
    record("aten.new_zeros.default", ints(1), [2])
    record("aten.new_ones.default", rand(1), [2], dtype=torch.int8)
    record("aten.scalar_tensor.default", 2.5)
    record("aten.scalar_tensor.default", 2, dtype=torch.int64)
    record("aten.fill.Scalar", rand(2), 5)
    for args in ((5,), (0,), (2.5,)):
        record("aten.arange.default", *args)
    record("aten.arange.start", 2, 7)
    record("aten.arange.start_step", 10, -3, -4)
    record("aten.arange.start_step", 0, 1, 0.1)
    record("aten.arange.start_step", 0, 6, 2, dtype=torch.float32)
    record("aten.arange.start_step", 1.5, 9, 2.5, dtype=torch.int64)
    record("aten.arange.start_step", 0, 1, 0.25, dtype=torch.float16)


def reductions():
    x = rand(2, 3, 4)
    for name in "sum.dim_IntList mean.dim amax.default amin.default".split():
        record(f"aten.{name}", x, [1])
        record(f"aten.{name}", x.transpose(0, 2), [0, -1], True)
        record(f"aten.{name}", edges(), [0])
        record(f"aten.{name}", rand(3, dtype=torch.bfloat16), [0])
        record(f"aten.{name}", rand(), [0])
    for name in "sum mean prod max min any".split():
        record(f"aten.{name}.default", x)
    for name in "sum prod max min any".split():
        record(f"aten.{name}.default", ints(4, dtype=torch.int32))
        record(f"aten.{name}.default", bools(4))
    record("aten.sum.default", rand(0))
    record("aten.mean.default", rand(0))
    record("aten.prod.default", rand(0))
    record("aten.sum.default", rand(300, dtype=torch.float16) * 100)
    record("aten.sum.dim_IntList", ints(2, 3), None, True)
    record("aten.sum.dim_IntList", x, [], dtype=torch.float64)
    record("aten.sum.dim_IntList", bools(2, 3), [1], dtype=torch.float32)
    record("aten.mean.dim", ints(2, 3), [1], dtype=torch.float32)
    record("aten.amax.default", ints(2, 3), [1])
    record("aten.amax.default", x)
    record("aten.prod.dim_int", x, 1)
    record("aten.prod.dim_int", ints(2, 3, dtype=torch.int8), -1, True)
    for name in "any all".split():
        record(f"aten.{name}.default", bools(3))
        record(f"aten.{name}.dim", bools(3, 4), 0)
        record(f"aten.{name}.dim", rand(3, 4).round(), 1, True)
        record(f"aten.{name}.dim", bools(0, 2), 0)
    record("aten.any.dims", bools(2, 2, 2), [0, 2])
    ties = torch.tensor([[1.0, 3.0, 3.0], [math.nan, 2.0, math.nan], [-math.inf, -1.0, -2.0]])
    for name in "max.dim min.dim".split():
        record(f"aten.{name}", ties, 1)
        record(f"aten.{name}", x, -2, True)
        record(f"aten.{name}", ints(3, 3), 0)
    for name in "argmax argmin".split():
        record(f"aten.{name}.default", ties, 1)
        record(f"aten.{name}.default", x)
        record(f"aten.{name}.default", x, 0, True)
        record(f"aten.{name}.default", ints(5))
    for name in "var std".split():
        record(f"aten.{name}.correction", x, [1])
        record(f"aten.{name}.correction", x, [0, 2], correction=0, keepdim=True)
        record(f"aten.{name}.correction", x)
        record(f"aten.{name}.correction", rand(1), correction=1)
    record("aten.var.dim", x, [2], False)
    record("aten.linalg_vector_norm.default", x, 2, [1], True)
    for order in (0, 1, 3.5, math.inf, -math.inf):
        record("aten.linalg_vector_norm.default", x, order, [2])

    for name in "_softmax _log_softmax".split():
        record(f"aten.{name}.default", x, 1, False)
        record(f"aten.{name}.default", x.transpose(1, 2), -1, False)
        record(f"aten.{name}.default", torch.tensor([[-math.inf, 1.0], [-math.inf, -math.inf], [1e4, -1e4]]), 1, False)
        record(f"aten.{name}.default", rand(), 0, False)
        record(f"aten.{name}.default", rand(2, 3, dtype=torch.float16), -1, False)
    record("aten.softmax.int", rand(2, 3, dtype=torch.float16), 0, torch.float32)
    record("aten.log_softmax.int", x, -1)
    record("aten.cumsum.default", x, 1)
    record("aten.cumsum.default", ints(3, 2, dtype=torch.int32), 0)
    record("aten.cumsum.default", bools(5), 0)
    record("aten.cumsum.default", rand(), 0)
    record("aten.cumsum.default", rand(3), 0, dtype=torch.float64)
    record("aten.sort.default", torch.tensor([3.0, math.nan, -1.0, 2.0]))
    record("aten.sort.default", rand(3, 4).t(), 0, True)
    record("aten.sort.default", torch.tensor([[3, 1, 2], [9, 7, 8]]), 1)
    record("aten.topk.default", torch.tensor([[1.0, 5.0, 3.0, 2.0], [7.0, 6.0, 8.0, 0.0]]), 2)
    record("aten.topk.default", torch.tensor([[1.0, 5.0], [3.0, 2.0], [4.0, 9.0]]), 2, 0, False)


def linear_algebra():
    for dtype in FLOATS:
        record("aten.mm.default", rand(2, 3, dtype=dtype), rand(4, 3, dtype=dtype).t())
    record("aten.mm.default", ints(2, 3), ints(3, 2))
    record("aten.mm.default", rand(2, 0), rand(0, 3))
    record("aten.mm.default", rand(3, 40), rand(40, 2))
    record("aten.bmm.default", rand(2, 2, 3), rand(2, 4, 3).transpose(1, 2))
    record("aten.addmm.default", rand(4), rand(2, 3), rand(3, 4))
    record("aten.addmm.default", rand(2, 1), rand(2, 3), rand(3, 4), beta=0.5, alpha=-2)
    record("aten.addmm.default", torch.full((2, 2), math.nan), rand(2, 3), rand(3, 2), beta=0)
    record("aten.baddbmm.default", rand(2, 1, 3), rand(2, 4, 2), rand(2, 2, 3), beta=2, alpha=0.5)
    record("aten.matmul.default", rand(3), rand(3))
    record("aten.matmul.default", rand(2, 3), rand(3))
    record("aten.matmul.default", rand(3), rand(2, 3, 2))
    record("aten.matmul.default", rand(2, 1, 2, 3), rand(3, 3, 2))
    record("aten.mv.default", rand(2, 3), rand(3))
    record("aten.dot.default", rand(3), rand(3))
    record("aten.linear.default", rand(2, 3, 4), rand(5, 4), rand(5))
    record("aten.linear.default", rand(4), rand(3, 4))
    record("aten.linear.default", rand(2, 4, dtype=torch.bfloat16), rand(3, 4, dtype=torch.bfloat16))


def spatial():
    def conv(x, w, b, stride, padding, dilation, transposed=False, output_padding=None, groups=1):
        output_padding = output_padding or [0] * len(stride)
        record("aten.convolution.default", x, w, b, stride, padding, dilation, transposed, output_padding, groups)

    conv(rand(2, 2, 7), rand(3, 2, 3), rand(3), [2], [1], [1])
    conv(rand(1, 2, 5, 6), rand(3, 2, 3, 2), None, [1, 2], [1, 0], [1, 2])
    conv(rand(1, 4, 4, 4), rand(4, 1, 3, 3), rand(4), [1, 1], [1, 1], [1, 1], groups=4)
    conv(rand(1, 4, 3, 3), rand(2, 2, 1, 1), rand(2), [1, 1], [0, 0], [1, 1], groups=2)
    conv(rand(1, 1, 3, 4, 3), rand(2, 1, 2, 2, 2), rand(2), [1, 2, 1], [0, 1, 1], [2, 1, 1])
    conv(rand(1, 2, 4, 4).transpose(2, 3), rand(2, 2, 2, 2), None, [1, 1], [0, 0], [1, 1])
    conv(rand(1, 2, 4, 4, dtype=torch.float16), rand(2, 2, 2, 2, dtype=torch.float16), None, [1, 1], [3, 0], [1, 1])
    conv(rand(1, 2, 3, 4), rand(2, 3, 3, 2), rand(3), [2, 2], [1, 0], [1, 2], True, [1, 0])
    conv(rand(1, 4, 5), rand(4, 1, 3), None, [3], [1], [1], True, [2], 2)

    for args in (([2, 2],), ([3, 2], [2, 1], [1, 1]), ([2, 2], [2, 2], [0, 0], [2, 1]), ([3], [2], [1], [1], True)):
        record("aten.max_pool2d_with_indices.default", rand(1, 2, 5, 6), *args)
    record("aten.max_pool2d_with_indices.default", torch.tensor([[[1.0, math.nan], [3.0, -math.inf]]]), [2, 2])
    record("aten.max_pool2d_with_indices.default", rand(2, 5, 5).transpose(1, 2), [5, 5], [1, 1], [2, 2])
    record("aten.max_pool3d_with_indices.default", rand(1, 1, 3, 4, 4), [2, 2, 2], [1, 2, 2])
    record("aten.max_pool1d.default", rand(1, 2, 7), [3], [2], [1])
    record("aten.max_pool2d.default", rand(1, 2, 4, 4), 2)
    for args in (
        ([2, 2],), ([3, 3], [2, 2], [1, 1]), ([3, 3], [2, 2], [1, 1], True), ([3, 3], [2, 2], [1, 1], True, False),
        ([3, 2], [2, 2], [1, 1], False, True, 5),
    ):  # fmt: skip
        record("aten.avg_pool2d.default", rand(1, 2, 6, 6), *args)
    record("aten.avg_pool1d.default", rand(2, 7), [3], [2], [1])
    record("aten.avg_pool3d.default", rand(1, 1, 3, 4, 4), [2, 2, 2])
    record("aten._adaptive_avg_pool2d.default", rand(1, 2, 5, 7), [3, 2])
    record("aten._adaptive_avg_pool2d.default", rand(2, 4, 4), [1, 6])
    record("aten._adaptive_avg_pool3d.default", rand(1, 2, 3, 4, 2), [2, 3, 1])
    record("aten.adaptive_avg_pool1d.default", rand(1, 2, 5), [2])

    for scale, size in (([2.0, 3.0], None), (None, [3, 7]), ([0.6, 1.3], None)):
        record("aten.upsample_nearest2d.vec", rand(1, 2, 4, 5), size, scale)
        record("aten.upsample_bilinear2d.vec", rand(1, 2, 4, 5), size, False, scale)
        record("aten.upsample_bilinear2d.vec", rand(1, 2, 4, 5), size, True, scale)
    record("aten.upsample_linear1d.vec", rand(1, 2, 5), [8], False, None)
    record("aten.pixel_shuffle.default", rand(1, 8, 2, 3), 2)
    record("aten.pixel_unshuffle.default", rand(2, 2, 4, 6), 2)


def norms():
    record("aten.native_layer_norm.default", rand(2, 3, 4), [4], rand(4), rand(4), 1e-5)
    record("aten.native_layer_norm.default", rand(2, 3, 4), [3, 4], None, None, 1e-3)
    record("aten.native_layer_norm.default", rand(3, 2, dtype=torch.bfloat16).t(), [3], None, None, 1e-5)
    record("aten.layer_norm.default", rand(2, 4), [4], rand(4))
    record("aten.native_group_norm.default", rand(2, 6, 2, 2), rand(6), rand(6), 2, 6, 4, 3, 1e-5)
    record("aten.native_group_norm.default", rand(1, 4, 3), None, None, 1, 4, 3, 2, 1e-5)
    record("aten.group_norm.default", rand(2, 4, 3), 2, rand(4), rand(4))
    args = (rand(2, 3, 2, 2), rand(3), rand(3), rand(3), rand(3, low=0.5))
    record("aten._native_batch_norm_legit_no_training.default", *args, 0.1, 1e-5)
    args = (rand(4, 3), None, None, rand(3), rand(3, low=0.5))
    record("aten._native_batch_norm_legit_no_training.default", *args, 0.1, 1e-3)
    record("aten._native_batch_norm_legit.no_stats", rand(3, 2, 2), rand(2), rand(2), True, 0.1, 1e-5)


def indexing():
    x = rand(3, 4, 2)
    record("aten.index.Tensor", x, [torch.tensor([2, -1, 0])])
    record("aten.index.Tensor", x, [None, torch.tensor([[1, 0], [3, -4]])])
    record("aten.index.Tensor", x, [torch.tensor([0, 2]), torch.tensor([[1], [3]])])
    record("aten.index.Tensor", x, [torch.tensor([0, 2]), None, torch.tensor([1, 0])])
    record("aten.index.Tensor", x.transpose(0, 1), [None, None, torch.tensor([1, 1, 0])])
    record("aten.index.Tensor", x, [torch.tensor(1)])
    record("aten.index.Tensor", x, [torch.zeros(0, dtype=torch.int64)])
    record("aten.index_put.default", rand(4, 3), [torch.tensor([1, 3])], rand(2, 3))
    record("aten.index_put.default", rand(4), [torch.tensor([1, 1, 3])], rand(3), True)
    record("aten.index_put.default", rand(2, 3, 4), [None, torch.tensor([0, -1])], rand(1, 2, 1))
    record("aten.index_put.default", rand(2, 3), [torch.tensor([[True, False, False], [False, True, True]])], rand(1))
    record("aten.index_put.default", rand(3, 4, 2), [torch.tensor([0, 2]), None, torch.tensor([1, 0])], rand(2, 4))
    record("aten.index_select.default", x.transpose(0, 2), 1, torch.tensor([3, 0, 0]))
    record("aten.index_select.default", ints(5), 0, torch.tensor([4, 1], dtype=torch.int32))
    record("aten.index_copy.default", rand(3, 4), 1, torch.tensor([2, 0]), rand(3, 2))
    record("aten.embedding.default", rand(5, 3), torch.tensor([[1, 4], [0, 1]]))
    record("aten.gather.default", x, 1, ints(3, 2, 2, low=0, high=4))
    record("aten.gather.default", rand(4, 3).t(), 0, ints(2, 4, low=0, high=3))
    record("aten.gather.default", rand(), 0, torch.tensor(0))
    record("aten.scatter.src", rand(3, 4), 1, torch.tensor([[0, 2], [3, 1]]), rand(3, 3))
    record("aten.scatter.value", rand(3, 4).t(), 0, torch.tensor([[0, 2, 1]]), 7)
    record("aten.scatter_add.default", rand(3, 4), 0, torch.tensor([[0, 2, 1, 0], [0, 0, 0, 0]]), rand(2, 4))
    for reduction in ("sum", "prod", "mean", "amax", "amin"):
        index = torch.tensor([0, 0, 2, 2, 2])
        for include_self in (True, False):
            args = (0, index, rand(5), reduction)
            record("aten.scatter_reduce.two", rand(4), *args, include_self=include_self)
        record("aten.scatter_reduce.two", ints(4), 0, index, ints(5), reduction)
    record("aten.nonzero.default", torch.tensor([[0.0, 1.0, 0.0], [2.0, 0.0, math.nan]]))
    record("aten.nonzero.default", torch.tensor(3))
    record("aten.masked_select.default", rand(3, 2).t(), torch.tensor([True, False, True]))
    record("aten.masked_scatter.default", rand(2, 3), torch.tensor([True, False, True]), rand(5))


def quantized():
    import torch.ao.quantization.fx._decomposed  # noqa: F401  (registers the ops)

    x = torch.tensor([0.0, 0.05, 0.15, 0.25, -0.35, 12.0, -30.0, 1e6])
    record("quantized_decomposed.quantize_per_tensor.default", x, 0.1, 3, -128, 127, torch.int8)
    record("quantized_decomposed.quantize_per_tensor.default", x, 0.07, 128, 0, 255, torch.uint8)
    scale, zero = torch.tensor(0.125, dtype=torch.float64), torch.tensor(-7)
    record("quantized_decomposed.quantize_per_tensor.tensor", x, scale, zero, -128, 127, torch.int8)
    q = torch.tensor([-128, -7, 0, 127], dtype=torch.int8)
    record("quantized_decomposed.dequantize_per_tensor.default", q, 0.1, 3, -128, 127, torch.int8)
    record("quantized_decomposed.dequantize_per_tensor.tensor", q, scale, zero, -128, 127, torch.int8)
    scales, zeros = torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0, 1, -2])
    record("quantized_decomposed.quantize_per_channel.default", rand(2, 3), scales, zeros, 1, -127, 127, torch.int8)
    q = ints(3, 2, low=-127, high=128, dtype=torch.int8)
    record("quantized_decomposed.dequantize_per_channel.default", q, scales, zeros, 0, -127, 127, torch.int8)
    record("quantized_decomposed.dequantize_per_channel.default", q, scales, None, 0, -127, 127, torch.int8)


FAMILIES = (
    pointwise, memory, views, combining, creation, reductions, linear_algebra, spatial, norms, indexing, quantized
)  # fmt: skip


def main():
    for family in FAMILIES:
        family()
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    OUT.write_text(f"[\n{lines}\n]\n")
    print(f"{len(cases)} cases, {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
