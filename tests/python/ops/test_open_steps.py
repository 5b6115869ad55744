"""Recurrent layers over a number of steps that only the run tells: loops in the stock runtime, equal to eager."""

import contextlib

import pytest
import torch
from harness import assert_matches_eager, lower
from io_cases import Case
from torch.export._patches import register_gru_while_loop_decomposition, register_lstm_while_loop_decomposition


class Recurrent(torch.nn.Module):
    """A recurrent layer, whatever the order of its dimensions; `has_state` gives it a state that is not 0."""

    def __init__(self, kind, has_state=False, **options):
        super().__init__()
        self.layer = getattr(torch.nn, kind)(4, 5, **options)
        self.has_state = has_state

    def forward(self, x, hidden):
        state = None
        if self.has_state:
            is_lstm = isinstance(self.layer, torch.nn.LSTM)
            state = (hidden[..., : self.layer.proj_size or 5].contiguous(), hidden * 2) if is_lstm else hidden
        sequence, last = self.layer(x, state)
        return (sequence, *(last if isinstance(last, tuple) else (last,)))


NETWORKS = {
    "gru": ("GRU", {}),
    "gru_of_two_directions": ("GRU", {"bidirectional": True, "batch_first": True, "has_state": True}),
    "gru_without_biases": ("GRU", {"bias": False, "batch_first": True}),
    "lstm": ("LSTM", {"batch_first": True}),
    "lstm_of_two_layers_and_directions": ("LSTM", {"num_layers": 2, "bidirectional": True, "has_state": True}),
    "lstm_with_a_projection": ("LSTM", {"proj_size": 3, "batch_first": True, "has_state": True}),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_open_steps_of_recurrent_layers(tmp_path, name):
    torch.manual_seed(0)
    kind, options = NETWORKS[name]
    model = Recurrent(kind, **options).eval()
    is_batch_first = options.get("batch_first", False)
    cells = options.get("num_layers", 1) * (1 + options.get("bidirectional", False))

    def inputs(batch, steps):
        x = torch.randn(batch, steps, 4) if is_batch_first else torch.randn(steps, batch, 4)
        return x, torch.randn(cells, batch, 5)

    batch, steps = torch.export.Dim("batch", min=1, max=8), torch.export.Dim("steps", min=1, max=30)
    sizes = {0: batch, 1: steps} if is_batch_first else {0: steps, 1: batch}
    unread = torch.export.Dim("unread", min=1, max=8)  # the second input, by a layer without a state of its own
    shapes = (sizes, {1: batch if options.get("has_state") else unread})
    with contextlib.ExitStack() as loops:  # without them torch.export takes the number of steps as it is
        loops.enter_context(register_gru_while_loop_decomposition())
        loops.enter_context(register_lstm_while_loop_decomposition())
        for op in (torch.ops.aten.gru.input, torch.ops.aten.lstm.input):
            op._dispatch_cache.clear()  # an export before may have filled it
            loops.callback(op._dispatch_cache.clear)
        program = torch.export.export(model, inputs(2, 7), dynamic_shapes=shapes)
    layers = [node for node in program.graph.nodes if str(node.target) in ("aten.gru.input", "aten.lstm.input")]
    assert len(layers) == 1
    torch.export.save(program, tmp_path / "model.pt2")
    cases = []
    for given in (inputs(2, 7), inputs(3, 1), inputs(1, 30), inputs(2, 2)):
        cases.append(Case("forward", list(given), list(model(*given))))
    for backend in ((), ("--backend", "xnnpack")):
        lower(tmp_path / "model.pt2", tmp_path / "model.pte", *backend)
        assert_matches_eager(tmp_path / "model.pte", cases, 1e-4)
