"""ExecuTorch's export recipes, lowered by Depute. One line of a script changes, the import:

    from executorch.export import ExportRecipe, export     ->     from depute.recipes import ExportRecipe, export

    session = export(model, [(x,)], ExportRecipe.get_recipe(XNNPackRecipeType.FP32))
    session.save_to_pte("model.pte")

The steps up to torch.export, quantization and training among them, stay ExecuTorch's and torch's. Those from the
exported program on are stages of Depute, registered by ExportSession.register_stage. Needs torch and executorch.
"""

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.recipes import XNNPackRecipeType
from executorch.export import (
    AOQuantizationConfig,
    BackendRecipeProvider,
    ExportRecipe,
    LoweringRecipe,
    QuantizationRecipe,
    RecipeType,
    StageType,
    recipe_registry,
)
from executorch.export import ExportSession as _ExportSession
from executorch.export import stages as _stages

from .compat import executorch as _compat
from .manager import to_edge, to_edge_transform_and_lower
from .partitioning import partitioner
from .report import get_delegation_info

__all__ = [
    "AOQuantizationConfig",
    "BackendRecipeProvider",
    "ExportRecipe",
    "ExportSession",
    "LoweringRecipe",
    "QuantizationRecipe",
    "RecipeType",
    "StageType",
    "XNNPackRecipeType",
    "export",
    "recipe_registry",
    "register_stages",
]


class ExportSession(_ExportSession):
    """ExecuTorch's session, whose stages from TO_EDGE on are Depute's. It takes the same arguments.

    lowering: arguments of depute.to_edge_transform_and_lower beside ExecuTorch's: {"jobs": 4, "cache": "made"}.
    """

    def __init__(self, *arguments, lowering=None, **others):
        super().__init__(*arguments, **others)
        register_stages(self, lowering)


def export(*arguments, lowering=None, **others):
    """Exports, lowers and returns the ExportSession. The arguments are those of executorch.export.export."""
    session = ExportSession(*arguments, lowering=lowering, **others)
    session.export()
    return session


def register_stages(session, lowering=None):
    """Replaces the lowering stages of a session of ExecuTorch, before it runs. `lowering`: as of ExportSession."""
    for stage in (_TransformAndLower(lowering), _ToEdge(), _Transform(), _ToBackend()):
        if session.get_registered_stage(stage.stage_type) is not None:
            session.register_stage(stage.stage_type, stage)


# --- stages: each gets an artifact with the data of the stage before it, and the recipe in its context


class _TransformAndLower(_stages.EdgeTransformAndLowerStage):
    def __init__(self, lowering=None):
        super().__init__()
        self._lowering = dict(lowering or {})

    def run(self, artifact):
        recipe = _lowering_recipe(artifact)
        edge = to_edge_transform_and_lower(
            artifact.data,
            transform_passes=_passes(recipe, artifact.data),
            partitioner=_partitioners(recipe.partitioners),
            compile_config=recipe.edge_compile_config,
            **_context(artifact),
            **self._lowering,
        )
        self._artifact = _with_delegation_info(artifact, edge)


class _ToEdge(_stages.ToEdgeStage):
    def run(self, artifact):
        config = _lowering_recipe(artifact).edge_compile_config
        self._artifact = artifact.copy_with_new_data(to_edge(artifact.data, compile_config=config, **_context(artifact)))


class _Transform(_stages.EdgeProgramManagerTransformStage):
    """Applies passes that recipes make of an EdgeProgramManager. They get ExecuTorch's, converted."""

    def run(self, artifact):
        recipe, edge = _lowering_recipe(artifact), artifact.data
        if recipe.edge_transform_passes:
            theirs = _compat.edge_program_manager(edge)
            edge = edge.transform(_passes(recipe, {name: theirs.exported_program(name) for name in edge.methods}))
        for make_passes in recipe.edge_manager_transform_passes or []:
            passes = make_passes(_compat.edge_program_manager(edge))
            if passes:
                edge = edge.transform(_pass(passes))
        self._artifact = artifact.copy_with_new_data(edge)


class _ToBackend(_stages.ToBackendStage):
    def run(self, artifact):
        partitioners, edge = _partitioners(_lowering_recipe(artifact).partitioners), artifact.data
        if partitioners:
            edge = edge.to_backend(partitioners)
        self._artifact = _with_delegation_info(artifact, edge)


def _lowering_recipe(artifact):
    return artifact.get_context("export_recipe").lowering_recipe or LoweringRecipe()


def _context(artifact):
    names = ("constant_methods", "generate_etrecord")
    return {name: artifact.get_context(name) for name in names}


def _with_delegation_info(artifact, edge):
    """Returns the artifact with the manager, and with the figures that print_delegation_info() reads."""
    made = artifact.copy_with_new_data(edge)
    by_method = {name: get_delegation_info(edge.exported_program(name)) for name in sorted(edge.methods)}
    made.add_context("delegation_info_by_method", by_method)
    made.add_context("delegation_info", by_method.get("forward", next(iter(by_method.values()), None)))
    return made


# --- passes and partitioners


def _passes(recipe, programs):
    """Returns the passes by method that the recipe's functions give for each exported program."""
    found = {name: [] for name in programs}
    for name, program in programs.items():
        for make_passes in recipe.edge_transform_passes or []:
            if not callable(make_passes):
                raise ValueError(f"edge_transform_passes: expected functions of a method's name and program, not {make_passes!r}")
            passes = make_passes(name, program)
            if passes:
                found[name].append(_pass(passes))
    return {name: passes for name, passes in found.items() if passes}


def _pass(passes):
    return _compat.transform(*passes) if isinstance(passes, (list, tuple)) else _compat.transform(passes)


def _partitioners(given):
    """Returns the recipe's partitioners, with Depute's own for each XnnpackPartitioner without options."""
    if isinstance(given, dict):
        return {method: _partitioners(each) for method, each in given.items()}
    return [partitioner("xnnpack") if _is_plain_xnnpack(each) else each for each in given or []]


def _is_plain_xnnpack(given):
    return type(given) is XnnpackPartitioner and _settings(given) == _settings(XnnpackPartitioner())


def _settings(given):
    """Returns what decides about an XnnpackPartitioner's choices: the class and settings of each rule."""
    return given.per_op_mode, {op: (type(each), vars(each)) for op, each in given.target_partitioner_configs.items()}
