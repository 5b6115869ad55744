// The report's data, and facts derived from it: users of values, owners of nodes, values that cross delegate borders.
// Nodes and delegates are numbers; a value is [node, result], an input of graph g is [-1 - input, 0].
const data = JSON.parse(document.getElementById("data").textContent);
const nodes = data.nodes;
const nodeCount = nodes.name.length;
const text = (number) => data.strings[number];
const hasGraph = nodes.inputs !== undefined;

const opOf = (node) => text(nodes.op[node]);
const ownerOf = (node) => text(nodes.owner[node]);
const delegateOf = (node) => nodes.delegate[node];
const isDelegated = (node) => nodes.delegate[node] >= 0;
const macsOf = (node) => (hasGraph ? nodes.macs[node] : 0);
const reasonsOf = (node) => data.reasons[nodes.reasons[node]].map(
  ([backend, rule, seen, allowed]) => ({ backend: text(backend), rule: text(rule), seen: text(seen), allowed: text(allowed) }));

function sourceOf(node) {
  const [file, line, module, op, source] = data.sources[nodes.source[node]];
  return { file: text(file), line, module: text(module), op: text(op), text: text(source) };
}

const asList = (value) => (Array.isArray(value) ? value : [value]);

// Decodes a value of the page's data to [node, result]. Positive numbers are distances before `base`, negative ones inputs.
function decodeValue(entry, base) {
  if (typeof entry === "string") {
    const [back, result] = entry.split(".").map(Number);
    return [back < 0 ? back : base - back, result];
  }
  return [entry < 0 ? entry : base - entry, 0];
}

const inputsOf = new Array(nodeCount);
const usersOf = new Array(nodeCount);
const graphOfNode = new Int32Array(nodeCount);
for (let node = 0; node < nodeCount; ++node) usersOf[node] = [];
for (let node = 0; hasGraph && node < nodeCount; ++node) {
  inputsOf[node] = asList(nodes.inputs[node]).map((entry) => decodeValue(entry, node));
  for (const [from] of inputsOf[node]) if (from >= 0) usersOf[from].push(node);
}
data.graphs.forEach((graph, number) => {
  graph.results = asList(graph.outputs).map((entry) => decodeValue(entry, graph.first + graph.count));
  for (let node = graph.first; node < graph.first + graph.count; ++node) graphOfNode[node] = number;
});

function typeOf([node, result], graph) {
  const number = node < 0 ? graph.inputs[-1 - node][1] : asList(nodes.types[node])[result];
  return number === undefined ? ["none", 0] : data.types[number];
}

function valueName([node, result], graph) {
  if (node < 0) return graph.inputs[-1 - node][0];
  return nodes.name[node] + (result ? " result " + result : "");
}

// Returns the bytes that a node reads and writes, its cost if it has no multiplications.
function bytesMoved(node) {
  if (!hasGraph) return 0;
  const graph = data.graphs[graphOfNode[node]];
  let bytes = nodes.constant_bytes[node];
  for (const value of inputsOf[node]) bytes += typeOf(value, graph)[1];
  for (const type of asList(nodes.types[node])) bytes += data.types[type] ? data.types[type][1] : 0;
  return bytes;
}

// Returns the quantization of a value, as stated by its producer or one of its users.
function quantizationOf([node], users) {
  for (const each of [node, ...users]) if (each >= 0 && nodes.quantization[each]) return nodes.quantization[each];
  return "";
}

// Splits "f32[8, 4]{strides=[1, 8]}" into type and layout.
function layoutOf(type) {
  const brace = type.indexOf("{");
  if (brace < 0) return [type, type.includes("[") ? "row-major" : ""];
  return [type.slice(0, brace), type.slice(brace + 1, -1)];
}

const nodesOfDelegate = data.delegates.map(() => []);
for (let node = 0; node < nodeCount; ++node) if (isDelegated(node)) nodesOfDelegate[delegateOf(node)].push(node);

// Repeated delegates share one box, which has the number of the first of them.
const boxOf = (delegate) => (data.boxes ? data.boxes[delegate] : delegate);
const callsOfBox = data.delegates.map(() => 0);
for (let delegate = 0; delegate < data.delegates.length; ++delegate) ++callsOfBox[boxOf(delegate)];

// Returns the inputs and outputs of a delegate without duplicates: {value, type, bytes, layout, quantization, others}.
function borderOf(delegate) {
  // Bodies of a delegated control-flow node have no border of their own.
  const members = nodesOfDelegate[delegate].filter((node, _, all) => graphOfNode[node] === graphOfNode[all[0]]);
  const inside = new Set(members);
  const into = new Map();
  const out = new Map();
  if (!hasGraph) return { into: [], out: [] };
  const add = (map, value, other, graph) => {
    const key = value[0] + "." + value[1];
    if (!map.has(key)) map.set(key, { value, graph, others: [] });
    if (other !== null) map.get(key).others.push(other);
  };
  for (const node of inside) {
    const graph = data.graphs[graphOfNode[node]];
    for (const value of inputsOf[node]) if (!inside.has(value[0])) add(into, value, value[0] >= 0 ? value[0] : null, graph);
    for (const user of usersOf[node]) {
      if (inside.has(user)) continue;
      for (const value of inputsOf[user]) if (value[0] === node) add(out, value, user, graph);
    }
    for (const value of resultsFrom(graph).get(node) || []) add(out, value, null, graph);
  }
  const describe = ({ value, graph, others }) => {
    const [type, bytes] = typeOf(value, graph);
    const [shape, layout] = layoutOf(type);
    return { name: valueName(value, graph), value, type: shape, layout, bytes, others,
      quantization: quantizationOf(value, value[0] >= 0 ? usersOf[value[0]] : others) };
  };
  return { into: [...into.values()].map(describe), out: [...out.values()].map(describe) };
}

// Returns the outputs of a graph by the nodes that compute them.
function resultsFrom(graph) {
  if (graph.resultsByNode) return graph.resultsByNode;
  graph.resultsByNode = new Map();
  for (const value of graph.results) {
    if (!graph.resultsByNode.has(value[0])) graph.resultsByNode.set(value[0], []);
    graph.resultsByNode.get(value[0]).push(value);
  }
  return graph.resultsByNode;
}

// Owners in the order of the legend: backends by first appearance, then owners of undelegated nodes.
const owners = [];
for (let node = 0; node < nodeCount; ++node) if (isDelegated(node) && !owners.includes(ownerOf(node))) owners.push(ownerOf(node));
const backendCount = owners.length;
for (const owner of ["portable", "no-kernel", "refused"]) if (nodes.owner.some((number) => text(number) === owner)) owners.push(owner);
const colorOfOwner = (owner) => (owners.indexOf(owner) < backendCount ? "--backend-" + (owners.indexOf(owner) % 4) : "--" + owner);
const colorOf = (node) => colorOfOwner(ownerOf(node));
const colorOfDelegate = (delegate) => (nodesOfDelegate[delegate].length ? colorOf(nodesOfDelegate[delegate][0]) : "--backend-0");
