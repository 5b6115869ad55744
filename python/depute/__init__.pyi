# For type checkers and editors: what __init__.py imports when it is asked for.
from ._errors import Error as Error
from ._named_data import NamedDataStore as NamedDataStore
from ._serve import serve_backend as serve_backend
from ._verify import Verification as Verification, verify as verify
from .backend import BackendDetails as BackendDetails, DelegateMappingBuilder as DelegateMappingBuilder, PreprocessResult as PreprocessResult
from .bundle import BundledProgram as BundledProgram, MethodTestCase as MethodTestCase, MethodTestSuite as MethodTestSuite, deserialize_from_flatbuffer_to_bundled_program as deserialize_from_flatbuffer_to_bundled_program, serialize_from_bundled_program_to_flatbuffer as serialize_from_bundled_program_to_flatbuffer
from .etrecord import ETRecord as ETRecord, generate_etrecord as generate_etrecord
from .graph import Graph as Graph, GraphModule as GraphModule, Node as Node, Op as Op, Source as Source, exir_ops as exir_ops
from .integer_io import QuantizeInputs as QuantizeInputs, QuantizeOutputs as QuantizeOutputs, extract_io_quant_params as extract_io_quant_params
from .ledger import ByteLedger as ByteLedger, size as size
from .manager import EdgeProgramManager as EdgeProgramManager, ExecutorchProgramManager as ExecutorchProgramManager, MethodProgramsPartitionerSpec as MethodProgramsPartitionerSpec, disable_validation as disable_validation, to_backend as to_backend, to_edge as to_edge, to_edge_transform_and_lower as to_edge_transform_and_lower, validation_disabled as validation_disabled
from .partitioning import CompileSpec as CompileSpec, DelegationSpec as DelegationSpec, PartitionResult as PartitionResult, Partitioner as Partitioner, backends as backends, partitioner as partitioner, tag_constant_data as tag_constant_data, worker_backend as worker_backend
from .program import Constant as Constant, LoweredBackendModule as LoweredBackendModule, Method as Method, Program as Program, from_torch as from_torch, load as load, parse as parse, save as save
from .report import DelegationInfo as DelegationInfo, Report as Report, get_delegation_info as get_delegation_info, print_delegation_info as print_delegation_info
from .runtime import RuntimeBackend as RuntimeBackend, RuntimeFailure as RuntimeFailure, load_runtime_plugin as load_runtime_plugin, register_runtime_backend as register_runtime_backend, register_stand_ins as register_stand_ins
from .settings import Bank as Bank, EdgeCompileConfig as EdgeCompileConfig, ExecutorchBackendConfig as ExecutorchBackendConfig, MemoryPlanningPass as MemoryPlanningPass
from .values import DType as DType, SymInt as SymInt, Value as Value

__version__: str

def dtype(name: str) -> DType: ...
