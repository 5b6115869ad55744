// Tables of undelegated nodes by reason, most expensive first, and of delegates with the values at their borders.
let groupsOfReasons = null;

// Returns a group for each reason of each backend: its nodes, their cost, and its nodes by op.
function reasonGroups() {
  if (groupsOfReasons) return groupsOfReasons;
  const groups = new Map();
  for (let node = 0; node < nodeCount; ++node) {
    if (isDelegated(node)) continue;
    for (const reason of reasonsOf(node)) {
      const key = JSON.stringify([reason.backend, reason.rule, reason.seen, reason.allowed]);
      if (!groups.has(key)) groups.set(key, { reason, nodes: [], ops: new Map(), macs: 0, bytes: 0 });
      const group = groups.get(key);
      group.nodes.push(node);
      group.macs += macsOf(node);
      group.bytes += bytesMoved(node);
      if (!group.ops.has(opOf(node))) group.ops.set(opOf(node), []);
      group.ops.get(opOf(node)).push(node);
    }
  }
  groupsOfReasons = [...groups.values()].sort((a, b) => b.macs - a.macs || b.bytes - a.bytes || b.nodes.length - a.nodes.length);
  return groupsOfReasons;
}

function reasonRow(group) {
  const ops = [...group.ops].sort((a, b) => b[1].length - a[1].length);
  const first = sourceOf(group.nodes[0]);
  return make("tr", {},
    make("td", {}, make("b", {}, group.reason.rule), make("div", { class: "dim" }, [group.reason.seen, group.reason.allowed && "allowed: " + group.reason.allowed].filter(Boolean).join("; "))),
    make("td", {}, ...ops.slice(0, 4).map(([op, found]) => make("div", {}, link(op, () => select({ kind: "node", id: found[0] })), make("span", { class: "dim" }, " \u00d7 " + count(found.length)))),
      ops.length > 4 ? make("div", { class: "dim" }, "and " + plural(ops.length - 4, "other op")) : null),
    make("td", { class: "number" }, count(group.nodes.length)), make("td", { class: "number" }, macsText(group.macs)), make("td", { class: "number" }, bytesText(group.bytes)),
    make("td", {}, first.file ? make("code", {}, placeText(first)) : make("span", { class: "dim" }, "\u2013"), first.text ? make("code", { class: "line" }, first.text) : null));
}

function showReasons() {
  const groups = reasonGroups();
  const backends = [...new Set(groups.map((group) => group.reason.backend))];
  byId("reasons-lead").textContent = groups.length ? "Sorted by cost (multiplications, then bytes read and written) of the nodes that " + backends.join(" and ") + " rejected." :
    data.totals.non_delegated_nodes ? "The undelegated nodes have no reasons: no backend was used." : "All nodes are delegated.";
  byId("reason-table").hidden = !groups.length;
  fillTable(byId("reason-table"), [["Reason"], ["Ops"], ["Nodes", "number"], ["MACs", "number"], ["Bytes", "number"], ["First in the model"]], groups, 12, reasonRow);
}

function borderBytes(values) {
  return values.reduce((sum, value) => sum + value.bytes, 0);
}

function delegateRow([delegate, calls]) {
  const entry = data.delegates[delegate];
  const border = borderOf(delegate);
  const macs = nodesOfDelegate[delegate].reduce((sum, node) => sum + macsOf(node), 0);
  const crossing = (number, values) => make("td", { class: "number" }, count(number), make("div", { class: "dim" }, bytesText(borderBytes(values))));
  return make("tr", {},
    make("td", {}, link(entry.name, () => select({ kind: "delegate", id: delegate })), calls > 1 ? " \u00d7 " + count(calls) : "", make("div", { class: "dim" }, entry.backend_id + (data.graphs.length > 1 ? ", " + entry.method : ""))),
    make("td", { class: "number" }, count(entry.nodes)), make("td", { class: "number" }, macsText(macs)), crossing(entry.inputs, border.into), crossing(entry.outputs, border.out),
    make("td", { class: "number" }, bytesText(entry.blob_bytes)), make("td", { class: "number" }, bytesText(entry.data_bytes)));
}

function showDelegates() {
  // Repeated delegates share one row.
  const repeats = new Map();
  for (const each of data.delegates) if (each.repeats) repeats.set(each.repeats, (repeats.get(each.repeats) || 0) + 1);
  const all = data.delegates.map((each, i) => [i, 1 + (repeats.get(each.name) || 0)]).filter(([i]) => !data.delegates[i].repeats)
    .sort(([a], [b]) => data.delegates[b].nodes - data.delegates[a].nodes);
  byId("delegate-table").hidden = !all.length;
  fillTable(byId("delegate-table"), [["Delegate"], ["Nodes", "number"], ["MACs", "number"], ["In", "number"], ["Out", "number"], ["Payload", "number"], ["Shared data", "number"]], all, 12, delegateRow);
  if (!data.apart_runs.length) return;
  const list = make("ul", {}, ...data.apart_runs.slice(0, 6).map(([first, last, pairs, why]) => make("li", {}, make("b", {}, first + (pairs > 1 ? " to " : " and ") + last), (pairs > 1 ? ", each pair of neighbors: " : ": ") + why)));
  const rest = data.apart_runs.slice(6).reduce((sum, run) => sum + run[2], 0) + data.apart_not_told;
  byId("apart").replaceChildren(make("h3", {}, "Why there are several delegates"), list, rest > 0 ? make("p", { class: "dim" }, "and " + plural(rest, "more pair")) : "");
}
