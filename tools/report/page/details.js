// Details of the selection: a node with reasons, source line and values; a delegate with its border; a module.
let chosen = null;

function select(selection) {
  chosen = selection;
  byId("details").replaceChildren(link("\u00d7", closeDetails, { class: "link close", "aria-label": "Close the details", title: "Close" }), ...detailsOf(selection));
  byId("details").classList.add("full");
  markInTree(selection);
  showInGraph(selection);
  history.replaceState(null, "", "#" + selection.kind + "=" + encodeURIComponent(selection.kind === "node" ? nodes.name[selection.id] : selection.kind === "delegate" ? data.delegates[selection.id].name : selection.id));
  const inView = byId("picture").getBoundingClientRect();
  if (inView.bottom < 80 || inView.top > innerHeight - 80) byId("picture").scrollIntoView({ block: "start" });
}

// Clears the selection, and closes the sheet on phones.
function closeDetails() {
  chosen = null;
  byId("details").classList.remove("full");
  byId("details").replaceChildren(make("p", { class: "dim" }, "Select a node, a delegate or a module."));
  markInTree(null);
  drawGraph();
  history.replaceState(null, "", location.pathname + location.search);
}

function row(name, ...content) {
  return make("div", { class: "fact" }, make("dt", {}, name), make("dd", {}, ...content));
}

function ownerPill(node) {
  const owner = ownerOf(node);
  const label = { portable: "ExecuTorch's kernel", "no-kernel": "no kernel for its op", refused: "rejected by its kernel" }[owner] || owner;
  return make("span", { class: "pill" }, swatch(colorOf(node)), label);
}

const nodeLink = (node) => link("%" + nodes.name[node], () => select({ kind: "node", id: node }));
const delegateLink = (delegate) => link(data.delegates[delegate].name, () => select({ kind: "delegate", id: delegate }));

function sourceBlock(node) {
  const source = sourceOf(node);
  if (!source.file) return make("p", { class: "dim" }, "The program has no source line for it.");
  return make("figure", { class: "source" }, make("figcaption", { title: source.file }, placeText(source)), source.text ? make("pre", {}, make("code", {}, source.text)) : null);
}

// Lists a value as "%x f32[1, 8], 32 B", with a link to its producer.
function valueItem(value, graph, node) {
  const [type, bytes] = typeOf(value, graph);
  const crosses = value[0] >= 0 ? delegateOf(value[0]) !== delegateOf(node) : isDelegated(node);
  return make("li", {}, value[0] >= 0 ? nodeLink(value[0]) : make("code", {}, "%" + valueName(value, graph)), " ", make("code", {}, type), bytes ? make("span", { class: "dim" }, " " + bytesText(bytes)) : null,
    crosses ? make("span", { class: "tag" }, "crosses a border") : null);
}

function someItems(all, toItem) {
  const list = make("ul", { class: "values" }, ...all.slice(0, 12).map(toItem));
  if (all.length > 12) list.append(make("li", { class: "dim" }, "and " + count(all.length - 12) + " more"));
  return list;
}

function nodeDetails(node) {
  const source = sourceOf(node);
  const reasons = isDelegated(node) ? [] : reasonsOf(node);
  const facts = make("dl", {}, row("Owner", ownerPill(node), isDelegated(node) ? " in " : "", isDelegated(node) ? delegateLink(delegateOf(node)) : ""));
  if (reasons.length) facts.append(row("Why", make("ul", { class: "values" }, ...reasons.map((reason) => make("li", {}, make("b", {}, reason.backend), ": ", reasonText(reason))))));
  else if (!isDelegated(node)) facts.append(row("Why", "no backend was used"));
  facts.append(row("Line", sourceBlock(node)));
  if (source.module) facts.append(row("Module", link(source.module, () => select({ kind: "module", id: source.module }))));
  if (source.op) facts.append(row("Written as", make("code", {}, source.op)));
  if (hasGraph) {
    const graph = data.graphs[graphOfNode[node]];
    const results = asList(nodes.types[node]).map((_, result) => [node, result]);
    facts.append(row("Results", someItems(results, (value) => make("li", {}, make("code", {}, typeOf(value, graph)[0]), typeOf(value, graph)[1] ? make("span", { class: "dim" }, " " + bytesText(typeOf(value, graph)[1])) : null))));
    if (nodes.quantization[node]) facts.append(row("Quantization", make("code", {}, nodes.quantization[node])));
    if (inputsOf[node].length) facts.append(row("Operands", someItems(inputsOf[node], (value) => valueItem(value, graph, node))));
    const users = [...new Set(usersOf[node])];
    facts.append(row("Used by", users.length ? someItems(users, (user) => make("li", {}, nodeLink(user), " ", make("span", { class: "dim" }, opOf(user)), delegateOf(user) !== delegateOf(node) ? make("span", { class: "tag" }, "crosses a border") : null)) : "the caller"));
    facts.append(row("Cost", macsOf(node) ? macsText(macsOf(node)) + " MACs, " : "", bytesText(bytesMoved(node)) + " read and written", nodes.constant_bytes[node] ? ", " + bytesText(nodes.constant_bytes[node]) + " of them constants" : ""));
  }
  return [make("p", { class: "kicker" }, "Node"), make("h3", {}, "%" + nodes.name[node]), make("p", { class: "op" }, opOf(node)), facts];
}

function borderTable(title, values) {
  if (!values.length) return null;
  const table = make("table");
  fillTable(table, [["Value"], ["Type"], ["Bytes", "number"]], values, 12, (value) => make("tr", {},
    make("td", {}, value.value[0] >= 0 ? nodeLink(value.value[0]) : make("code", {}, "%" + value.name)),
    make("td", {}, make("code", {}, value.type), make("div", { class: "dim" }, [value.layout, value.quantization].filter(Boolean).join("; "))),
    make("td", { class: "number" }, value.bytes ? bytesText(value.bytes) : "\u2013")));
  return make("div", {}, make("h4", {}, title + ": " + plural(values.length, "value") + ", " + bytesText(borderBytes(values))), make("div", { class: "scroll" }, table));
}

function delegateDetails(delegate) {
  const entry = data.delegates[delegate];
  const border = borderOf(delegate);
  const members = nodesOfDelegate[delegate];
  const macs = members.reduce((sum, node) => sum + macsOf(node), 0);
  const apart = data.apart.filter((pair) => pair.delegates.includes(entry.name));
  const facts = make("dl", {}, row("Backend", make("span", { class: "pill" }, swatch(colorOfDelegate(delegate)), entry.backend_id)), row("Nodes", count(entry.nodes)),
    macs ? row("Cost", macsText(macs) + " MACs") : "", row("Payload", bytesText(entry.blob_bytes) + (entry.data_bytes ? ", and " + bytesText(entry.data_bytes) + " of shared data" : "")));
  if (entry.repeats) facts.append(row("Repeats", delegateLink(data.delegates.findIndex((each) => each.name === entry.repeats)), ", which the runtime loads once for all"));
  if (apart.length) facts.append(row("Split", someItems(apart, (pair) => make("li", {}, "from ", make("b", {}, pair.delegates.find((name) => name !== entry.name) || entry.name), ": " + pair.text))));
  return [make("p", { class: "kicker" }, "Delegate"), make("h3", {}, entry.name), hasGraph ? link(openDelegates.has(boxOf(delegate)) ? "Close in the graph" : "Open in the graph", () => { toggleDelegate(delegate); select({ kind: "delegate", id: delegate }); }, { class: "link" }) : "", facts,
    borderTable("Inputs", border.into) || "", borderTable("Outputs", border.out) || "", make("h4", {}, "Nodes"), someItems(members, (node) => make("li", {}, nodeLink(node), " ", make("span", { class: "dim" }, opOf(node))))];
}

function moduleDetails(path) {
  const module = moduleByPath.get(path);
  const left = [];
  const collect = (each) => {
    for (const node of each.nodes) if (!isDelegated(node)) left.push(node);
    for (const child of each.modules.values()) if (left.length < 1000) collect(child);
  };
  collect(module);
  const facts = make("dl", {}, row("Nodes", count(module.size)), ...owners.map((owner, i) => (module.counts[i] ? row(owner, count(module.counts[i])) : "")), module.macs ? row("Cost", macsText(module.macs) + " MACs") : "");
  return [make("p", { class: "kicker" }, "Module"), make("h3", {}, module.path || "program"), facts,
    ...(left.length ? [make("h4", {}, "Undelegated nodes"), someItems(left, (node) => make("li", {}, nodeLink(node), " ", make("span", { class: "dim" }, opOf(node))))] : [])];
}

function detailsOf({ kind, id }) {
  if (kind === "node") return nodeDetails(id);
  return kind === "delegate" ? delegateDetails(id) : moduleDetails(id);
}

// Returns the selection that the page's address names. Such addresses can be shared.
function selectionOfAddress() {
  const [kind, name] = location.hash.slice(1).split("=").map(decodeURIComponent);
  if (kind === "node") return nodes.name.includes(name) ? { kind, id: nodes.name.indexOf(name) } : null;
  if (kind === "delegate") { const id = data.delegates.findIndex((each) => each.name === name); return id < 0 ? null : { kind, id }; }
  return kind === "module" && moduleByPath.has(name) ? { kind, id: name } : null;
}
