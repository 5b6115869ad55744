"""Models quantized as people do it, by the names of schemes that benches and tests share.

    static, dynamic     PT2E with XNNPACKQuantizer: integers of 8 bits, one scale a channel of weights
    8da8w, 8da4w        torchao: linear layers, activations quantized when the model runs; 4 bits in groups of 32
    8w, 4w              torchao: the weights of linear layers alone

fp32 is the model as it is.
"""

import copy

import torch
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from torchao.quantization import Int8DynamicActivationIntxWeightConfig, IntxWeightOnlyConfig, quantize_
from torchao.quantization.granularity import PerAxis, PerGroup
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

GROUP = 32
OF_PT2E = ("static", "dynamic")
OF_TORCHAO = {
    "8da8w": Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int8, weight_granularity=PerAxis(0)),
    "8da4w": Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(GROUP)),
    "8w": IntxWeightOnlyConfig(weight_dtype=torch.int8, granularity=PerAxis(0)),
    "4w": IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(GROUP)),
}
SCHEMES = (*OF_PT2E, *OF_TORCHAO)


def integers_kept(module):
    """XNNPACKQuantizer (executorch 1.4.1) makes f32 tensors of the numbers of add.Tensor and mul.Tensor, so that positions, integers,
    would be f32 and no index any more. It leaves add.Scalar and mul.Scalar alone."""
    aten = torch.ops.aten
    scalar_forms = {aten.add.Tensor: aten.add.Scalar, aten.mul.Tensor: aten.mul.Scalar}
    for node in module.graph.nodes:
        if node.target in scalar_forms and isinstance(node.args[1], int) and not node.meta["val"].is_floating_point():
            node.target = scalar_forms[node.target]
    module.recompile()
    return module


def quantized(model, calls, scheme, dynamic_shapes=None):
    """A model that is quantized; what PT2E quantizes before the model runs is calibrated by the calls, tuples of inputs."""
    if scheme == "fp32":
        return model
    if scheme in OF_PT2E:
        config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=scheme == "dynamic")
        program = torch.export.export(model, calls[0], dynamic_shapes=dynamic_shapes, strict=False)
        prepared = prepare_pt2e(integers_kept(program.module()), XNNPACKQuantizer().set_global(config))
        for call in calls:
            prepared(*call)
        return convert_pt2e(prepared)
    model = copy.deepcopy(model)
    has_groups = scheme.endswith("4w")

    def takes(module, _):
        return isinstance(module, torch.nn.Linear) and (not has_groups or module.in_features % GROUP == 0)

    quantize_(model, OF_TORCHAO[scheme], takes)
    return model
