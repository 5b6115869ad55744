"""Functions that the compiler calls. They run user code, check its results and return plain tuples to the bindings."""

from ._depute import NamedDataStore
from ._errors import Error, kind_of
from ._named_data import as_bytes
from .backend import BackendDetails, _Refused
from .graph import op_name
from .partitioning import CompileSpec, copied_constants, partitioner_name
from .program import Method, Program


def ops_to_not_decompose(partitioner, native):
    requested = getattr(partitioner, "ops_to_not_decompose", None)
    if requested is None:
        return ([], None)
    names, filters = [], []
    for method in Program(native).methods.values():
        answer = requested(method)
        if not isinstance(answer, (tuple, list)) or len(answer) != 2:
            raise TypeError(
                f"{partitioner_name(partitioner)}.ops_to_not_decompose returned {kind_of(answer)}; expected a list of "
                "ops, and a filter or None"
            )
        ops, keeps = answer
        names += [op_name(op) for op in ops]
        filters.append(keeps)
    names = list(dict.fromkeys(names))
    if all(keeps is None for keeps in filters):
        return (names, None)
    return (names, lambda node: any(keeps is None or keeps(node) for keeps in filters))


def partition(partitioner, native, method_name):
    method = Method(Program(native), method_name)
    who = f"{partitioner_name(partitioner)}.partition"
    result = partitioner.partition(method)
    if not hasattr(result, "partition_tags") or not hasattr(result, "tagged_exported_program"):
        raise TypeError(f"{who} returned {kind_of(result)}; expected a PartitionResult")
    if result.tagged_exported_program is not method:
        raise Error(
            "to_backend.partitioner-changed-program",
            f"method {method_name}",
            f"{who} returned another program than the one it was given",
            "tag the nodes of the program that partition() gets",
        )
    tags = _tag_rows(who, result.partition_tags)
    copied = copied_constants(method)
    nodes, inputs, no_copy = [], [], []
    for index, graph in enumerate(method._read()):
        for node in graph.nodes:
            _add_tags(who, node, index, nodes, inputs)
            if index == 0 and node.name in copied and not node.meta.get("no_copy"):
                _add_tags_of_users(node, inputs)
            if node.op == "placeholder" and node.meta.get("no_copy"):
                no_copy.append((index, node._place))
    return (tags, nodes, inputs, no_copy, _reason_rows(who, getattr(result, "reasons", None), method))


def _tag_rows(who, tags):
    if not hasattr(tags, "items"):
        raise TypeError(f"{who}: partition_tags is {kind_of(tags)}; expected a dict from tags to DelegationSpecs")
    rows = []
    for tag, spec in tags.items():
        if not isinstance(tag, str):
            raise TypeError(f"{who}: a tag must be a str, not {tag!r}")
        if not hasattr(spec, "backend_id") or not isinstance(spec.backend_id, str):
            raise TypeError(f"{who}: tag {tag!r} has {kind_of(spec)}; expected a DelegationSpec with the backend's id")
        rows.append((tag, spec.backend_id, compile_spec_rows(spec.compile_specs, f"{who}: tag {tag!r}")))
    return rows


def compile_spec_rows(specs, what):
    if specs is None or isinstance(specs, (str, bytes)) or not hasattr(specs, "__iter__"):
        raise TypeError(f"{what}: compile specs must be a list of CompileSpecs, not {kind_of(specs)}")
    rows = []
    for spec in specs:
        if not isinstance(getattr(spec, "key", None), str) or not hasattr(spec, "value"):
            raise TypeError(f"{what}: a compile spec must be a CompileSpec with a str as its key, not {kind_of(spec)}")
        value = spec.value.encode() if isinstance(spec.value, str) else as_bytes(spec.value, f"{what}: {spec.key}")
        rows.append((spec.key, value))
    return rows


def _add_tags(who, node, graph, nodes, inputs):
    tag = node.meta.get("delegation_tag")
    if tag is None:
        return
    many = isinstance(tag, (list, tuple)) and node.op == "placeholder"
    for each in tag if many else [tag]:
        if not isinstance(each, str):
            raise TypeError(f"{who}: node {node.name} has the tag {each!r}; a tag must be a str")
        if node.op == "placeholder":
            inputs.append((graph, node._place, each))
        elif node.op == "output":
            nodes.append((graph, -1, each))
        elif node._place is not None:
            nodes.append((graph, node._place, each))
        elif node.op == "call_function" and node.args[0].meta.get("delegation_tag") != each:
            # An extracted result must have the tag of its call.
            raise Error(
                "to_backend.tagged-twice",
                f"node {node.name}, tag {each}",
                f"it is a result of {node.args[0].name}, whose tag is {node.args[0].meta.get('delegation_tag')!r}",
                "give the call and its getitem nodes the same tag",
            )


def _add_tags_of_users(node, inputs):
    """A tagged constant also gets the tags of all tagged nodes that use it, since ExecuTorch copies it for each."""
    own = node.meta.get("delegation_tag")
    if own is None:
        return
    known = [own] if isinstance(own, str) else list(own)
    for tag in dict.fromkeys(user.meta.get("delegation_tag") for user in node.users if user.op != "output"):
        if isinstance(tag, str) and tag not in known:
            inputs.append((0, node._place, tag))


def _reason_rows(who, reasons, method):
    if not reasons:
        return []
    if not hasattr(reasons, "items"):
        raise TypeError(f"{who}: reasons is {kind_of(reasons)}; expected a dict from nodes to strs")
    graphs = method._read()
    rows = []
    for node, reason in reasons.items():
        if getattr(node, "_place", None) is None or getattr(node, "op", "") != "call_function":
            raise TypeError(f"{who}: reasons must be for call_function nodes, not {node!r}")
        if not any(node.graph is graph for graph in graphs):
            raise TypeError(f"{who}: reasons must be for nodes of this program; {node!r} is from another one")
        if "delegation_tag" not in node.meta:
            rows.append((node._graph_index, node._place, str(reason)))
    return rows


def preprocess(backend, native, specs):
    program = Program(native)._only()
    return _result_row(backend, backend.preprocess(program, [CompileSpec(*spec) for spec in specs]), "preprocess")


def has_own_multimethod(backend):
    if isinstance(backend, _Refused):
        return False
    own = getattr(backend, "preprocess_multimethod", None)
    return getattr(own, "__func__", own) is not BackendDetails.preprocess_multimethod.__func__


def preprocess_multimethod(backend, rows):
    programs = {method: [Program(native)._only() for native, _ in of_method] for method, of_method in rows}
    specs = {
        method: [[CompileSpec(*spec) for spec in given] for _, given in of_method] for method, of_method in rows
    }
    results = backend.preprocess_multimethod(programs, specs)
    if not hasattr(results, "items"):
        raise TypeError(
            f"{backend.__name__}.preprocess_multimethod returned {kind_of(results)}; expected a dict from methods to "
            "lists of PreprocessResults"
        )
    rows = []
    for method, of_method in results.items():
        if not isinstance(method, str) or not isinstance(of_method, (list, tuple)):
            raise TypeError(
                f"{backend.__name__}.preprocess_multimethod returned {method!r}: {kind_of(of_method)}; expected a dict "
                "from methods to lists of PreprocessResults"
            )
        rows.append((method, [_result_row(backend, result, "preprocess_multimethod") for result in of_method]))
    return rows


def _result_row(backend, result, function):
    who = f"{backend.__name__}.{function}"
    if isinstance(result, type) or not hasattr(result, "processed_bytes"):
        raise TypeError(f"{who} returned {kind_of(result)}; expected a PreprocessResult")
    content = as_bytes(result.processed_bytes, f"{who}: processed_bytes")
    handles = _handle_rows(who, getattr(result, "debug_handle_map", None))
    data = getattr(result, "data_store_output", None)
    if data is not None and not isinstance(data, NamedDataStore):
        raise TypeError(f"{who}: data_store_output is {kind_of(data)}; expected a NamedDataStore of depute")
    info = getattr(result, "delegate_info", "") or getattr(result, "_delegate_info_meta", None) or ""
    padding = getattr(result, "arena_padding", 0)
    if not isinstance(padding, int) or not 0 <= padding < 2**32:
        raise TypeError(f"{who}: arena_padding is {padding!r}; expected a number of bytes")
    return (content, handles, data, str(info), padding, bool(getattr(result, "inline_bytes", False)))


def _handle_rows(who, handles):
    if handles is None:
        return []
    if not hasattr(handles, "items"):
        raise TypeError(f"{who}: debug_handle_map is {kind_of(handles)}; expected a dict from identifiers to debug handles")
    rows = []
    for key, of_key in handles.items():
        is_key = isinstance(key, str) or (isinstance(key, int) and -(2**63) <= key < 2**63)
        handles = [of_key] if isinstance(of_key, int) else of_key
        is_list = isinstance(handles, (list, tuple, set, frozenset))
        if not is_key or not is_list or not all(isinstance(each, int) and 0 <= each < 2**32 for each in handles):
            raise TypeError(f"{who}: debug_handle_map has {key!r}: {of_key!r}; expected ints for an int or str")
        rows.append((key, list(handles)))
    return rows


def transform(function, native):
    before = Program(native)
    after = function(before)
    if after is None:
        return before._native
    if isinstance(after, Method):
        after = Program(after.program._native.only_method(after.name))
    if not isinstance(after, Program):
        name = getattr(function, "__name__", type(function).__name__)
        raise TypeError(f"the pass {name} returned {kind_of(after)}; expected a Program, or None for no change")
    return after._native


