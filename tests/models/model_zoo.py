"""The models of export_models.py: each function returns (module in eval mode, example input).

Vision models are the real architectures, built from transformers' default configurations: no download, no
torchvision. `calibrate` and `perturb_batch_norms` give random weights the traits of trained ones that matter
to a compiler: batch norms whose statistics differ from 0 and 1, so that folding them is seen in the output,
and activations of a natural size.
"""

import torch
from torch import nn

IMAGE = (1, 3, 224, 224)
CLASSES = 1000


class Logits(nn.Module):
    """A transformers classifier that returns the logits alone instead of a dictionary."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, pixel_values):
        return self.model(pixel_values=pixel_values).logits


class Mlp(nn.Module):
    """Linear and ReLU, `depth` times, all of one width: a deep chain without any structure to hold on to."""

    def __init__(self, depth: int, width: int):
        super().__init__()
        self.layers = nn.Sequential()
        for _ in range(depth):
            self.layers.append(nn.Linear(width, width))
            self.layers.append(nn.ReLU())

    def forward(self, x):
        return self.layers(x)


class Tagger(nn.Module):
    """Two LSTM layers over a sequence and a linear head on every step."""

    def __init__(self, inputs: int, hidden: int, classes: int):
        super().__init__()
        self.lstm = nn.LSTM(inputs, hidden, num_layers=2, batch_first=True)
        self.head = nn.Linear(hidden, classes)

    def forward(self, x):
        states, _ = self.lstm(x)
        return self.head(states)


def mlp10():
    return calibrated_mlp(depth=10, width=200)


def mlp100():
    return calibrated_mlp(depth=100, width=200)


def mlp1000():
    return calibrated_mlp(depth=1000, width=64)


def lstm():
    model = Tagger(inputs=64, hidden=128, classes=10).eval()
    for parameter in model.parameters():
        parameter.normal_(std=0.15)
    return model, torch.randn(1, 20, 64)


def mobilenet_v2():
    from transformers import MobileNetV2Config, MobileNetV2ForImageClassification

    return calibrated_classifier(MobileNetV2ForImageClassification(MobileNetV2Config(num_labels=CLASSES)))


def resnet50():
    from transformers import ResNetConfig, ResNetForImageClassification

    return calibrated_classifier(ResNetForImageClassification(ResNetConfig(num_labels=CLASSES)))


def regnet():
    from transformers import RegNetConfig, RegNetForImageClassification

    return calibrated_classifier(RegNetForImageClassification(RegNetConfig(num_labels=CLASSES)))


def convnext_tiny():
    from transformers import ConvNextConfig, ConvNextForImageClassification

    config = ConvNextConfig(depths=[3, 3, 9, 3], hidden_sizes=[96, 192, 384, 768], num_labels=CLASSES)
    model = ConvNextForImageClassification(config)
    for name, parameter in model.named_parameters():
        if name.endswith("layer_scale_parameter"):
            parameter.uniform_(0.1, 0.5)  # 1e-6 in a new model, which would hide the blocks
    return calibrated_classifier(model)


def calibrated_mlp(depth: int, width: int):
    model, example = Mlp(depth, width).eval(), torch.randn(1, width)
    calibrate(model, example)
    return model, example


def calibrated_classifier(model: nn.Module):
    model, example = Logits(model).eval(), torch.randn(IMAGE)
    perturb_batch_norms(model, torch.randn(2, *IMAGE[1:]))
    calibrate(model, example)
    return model, example


def perturb_batch_norms(model: nn.Module, batch: torch.Tensor) -> None:
    """Gives each batch norm the statistics of `batch`, then moves them and its scale and shift off neat values."""
    norms = [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = None  # the plain average: running statistics become those of the batches seen
        norm.reset_running_stats()
        norm.train()
        norm.weight.uniform_(0.5, 1.5)
        norm.bias.normal_(std=0.2)
    if norms:
        model(batch)
    for norm in norms:
        norm.running_mean.add_(norm.running_var.sqrt() * torch.randn_like(norm.running_mean) * 0.1)
        norm.running_var.mul_(torch.empty_like(norm.running_var).uniform_(0.7, 1.4))
        norm.eval()


def calibrate(model: nn.Module, example: torch.Tensor) -> None:
    """Rescales each linear layer, in the order of execution, to outputs of standard deviation 1 on `example`."""

    def rescale(layer: nn.Linear, inputs, outputs: torch.Tensor) -> torch.Tensor:
        nn.init.normal_(layer.bias, std=0.1)
        layer.weight.div_((outputs - layer.bias).std().clamp_min(1e-6))
        return nn.functional.linear(inputs[0], layer.weight, layer.bias)

    hooks = [layer.register_forward_hook(rescale) for layer in model.modules() if isinstance(layer, nn.Linear)]
    model(example)
    for hook in hooks:
        hook.remove()
