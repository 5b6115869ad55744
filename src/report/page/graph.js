// The graph in layers, drawn on a canvas: values flow from top to bottom, a delegate is a box that opens. Items are
// laid out once per graph and opening; only those in sight are drawn, so that 20,000 nodes move smoothly.
const graphCanvas = byId("graph");
const item = { width: 128, height: 26, gapX: 14, gapY: 26, boxHeight: 44, pad: 16, head: 22 };
const view = { x: 0, y: 0, scale: 1 };
let shownGraph = 0;
let layout = null;
const openDelegates = new Set();

// Layers of items by longest path; `from` lists what each item needs. Items come in an order in which they can run.
function layersOf(items, from) {
  const layer = new Map();
  const layers = [];
  for (const each of items) {
    let depth = 0;
    for (const before of from.get(each)) if (layer.has(before)) depth = Math.max(depth, layer.get(before) + 1);
    layer.set(each, depth);
    (layers[depth] = layers[depth] || []).push(each);
  }
  return layers;
}

// Places items: each layer in the order of the middle of what it needs, centred. Wide layers go on in further rows.
function place(layers, from, sizeOf) {
  const places = new Map();
  const maxInRow = 48;
  let y = 0;
  let width = 0;
  const rows = [];
  for (const layer of layers) {
    const middle = (each) => {
      const known = from.get(each).filter((before) => places.has(before)).map((before) => places.get(before).order);
      return known.length ? known.reduce((sum, order) => sum + order, 0) / known.length : 0.5;
    };
    const sorted = layer.map((each, i) => [middle(each), i, each]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    for (let start = 0; start < sorted.length; start += maxInRow) {
      const row = sorted.slice(start, start + maxInRow);
      let x = 0;
      let height = 0;
      for (const [, , each] of row) {
        const [itemWidth, itemHeight] = sizeOf(each);
        places.set(each, { x, y, width: itemWidth, height: itemHeight, order: 0 });
        x += itemWidth + item.gapX;
        height = Math.max(height, itemHeight);
      }
      x -= item.gapX;
      row.forEach(([, , each], i) => { places.get(each).order = (i + 0.5) / row.length; });
      rows.push([row, x]);
      width = Math.max(width, x);
      y += height + item.gapY;
    }
  }
  for (const [row, rowWidth] of rows) for (const [, , each] of row) places.get(each).x += (width - rowWidth) / 2;
  return { places, width, height: Math.max(0, y - item.gapY) };
}

// Items of a graph: nodes, and delegates as -1 - delegate where they are.
const itemOf = (node) => (isDelegated(node) ? -1 - delegateOf(node) : node);

function innerLayout(members) {
  const inside = new Set(members);
  const from = new Map(members.map((node) => [node, inputsOf[node].map(([before]) => before).filter((before) => inside.has(before))]));
  return place(layersOf(members, from), from, () => [item.width, item.height]);
}

// Delegates stand behind all that they need: an order in which the items can run.
function sortedItems(items, from) {
  const state = new Map();
  const sorted = [];
  for (const start of items) {
    const pending = [[start, 0]];
    while (pending.length) {
      const top = pending[pending.length - 1];
      const [each, next] = top;
      if (next === 0) {
        if (state.has(each)) { pending.pop(); continue; }
        state.set(each, 1);
      }
      const before = from.get(each);
      if (next < before.length) {
        ++top[1];
        if (!state.has(before[next])) pending.push([before[next], 0]);
        else continue;
      } else {
        sorted.push(each);
        pending.pop();
      }
    }
  }
  return sorted;
}

function layOut() {
  const graph = data.graphs[shownGraph];
  const needs = new Map();
  for (let node = graph.first; node < graph.first + graph.count; ++node) {
    const each = itemOf(node);
    if (!needs.has(each)) needs.set(each, new Set());
    for (const [before] of inputsOf[node]) if (before >= 0 && itemOf(before) !== each) needs.get(each).add(itemOf(before));
  }
  const from = new Map([...needs].map(([each, before]) => [each, [...before]]));
  const inner = new Map();
  const sizeOf = (each) => {
    if (each >= 0) return [item.width, item.height];
    if (!openDelegates.has(-1 - each)) return [item.width + 40, item.boxHeight];
    inner.set(each, innerLayout(nodesOfDelegate[-1 - each].filter((node) => graphOfNode[node] === shownGraph)));
    return [inner.get(each).width + 2 * item.pad, inner.get(each).height + 2 * item.pad + item.head];
  };
  layout = place(layersOf(sortedItems([...needs.keys()], from), from), from, sizeOf);
  layout.from = from;
  layout.boxes = [];
  layout.leaves = [];
  for (const [each, at] of layout.places) {
    if (each >= 0) layout.leaves.push([each, at]);
    else layout.boxes.push([-1 - each, at, inner.has(each)]);
    if (!inner.has(each)) continue;
    for (const [node, within] of inner.get(each).places)
      layout.leaves.push([node, { x: at.x + item.pad + within.x, y: at.y + item.head + item.pad + within.y, width: within.width, height: within.height }]);
  }
  layout.at = new Map(layout.leaves);
  layout.boxAt = new Map(layout.boxes.map(([delegate, at, isOpen]) => [delegate, { at, isOpen }]));
  layout.edges = edgesOf(graph);
  layout.labels = labelsOf(graph);
}

// Types of the values that leave each place: below it stands the first, and how many others there are.
function labelsOf(graph) {
  const labels = new Map();
  for (let node = graph.first; node < graph.first + graph.count; ++node) {
    for (const value of inputsOf[node]) {
      const start = value[0] >= 0 ? placeOf(value[0]) : null;
      if (!start || start === placeOf(node)) continue;
      if (!labels.has(start)) labels.set(start, new Map());
      labels.get(start).set(value[0] + "." + value[1], layoutOf(typeOf(value, graph)[0])[0]);
    }
  }
  return [...labels].map(([start, types]) => [start, [...types.values()][0] + (types.size > 1 ? " +" + (types.size - 1) : "")]);
}

// Where a node is seen: itself, or the closed box it is in.
function placeOf(node) {
  return layout.at.get(node) || (isDelegated(node) && layout.boxAt.has(delegateOf(node)) ? layout.boxAt.get(delegateOf(node)).at : null);
}

// Lines between places, each once: [from, to, whether a delegate's border is crossed].
function edgesOf(graph) {
  const edges = [];
  const seen = new Map();
  for (let node = graph.first; node < graph.first + graph.count; ++node) {
    const to = placeOf(node);
    for (const [before] of inputsOf[node]) {
      const start = before >= 0 ? placeOf(before) : null;
      if (!start || !to || start === to) continue;
      if (!seen.has(start)) seen.set(start, new Set());
      if (seen.get(start).has(to)) continue;
      seen.get(start).add(to);
      edges.push([start, to, delegateOf(before) !== delegateOf(node)]);
    }
  }
  return edges;
}

function fitGraph() {
  const scale = Math.min(graphCanvas.clientWidth / (layout.width + 40), graphCanvas.clientHeight / (layout.height + 40), 1.25);
  view.scale = Math.max(scale, 0.002);
  view.x = (graphCanvas.clientWidth - layout.width * view.scale) / 2;
  view.y = Math.max(20 * view.scale, (graphCanvas.clientHeight - layout.height * view.scale) / 2);
  drawGraph();
}

// As fitGraph(), but never so small that nothing can be read: then the start is shown.
function startView() {
  fitGraph();
  if (view.scale >= 0.45) return;
  view.scale = 0.75;
  const first = layout.leaves[0] || layout.boxes[0];
  const top = first ? first[1] : { x: 0, width: 0 };
  view.x = layout.width * view.scale < graphCanvas.clientWidth ? (graphCanvas.clientWidth - layout.width * view.scale) / 2 : graphCanvas.clientWidth / 2 - (top.x + top.width / 2) * view.scale;
  view.y = 16;
  drawGraph();
}

function inSight(at) {
  const x = at.x * view.scale + view.x;
  const y = at.y * view.scale + view.y;
  return x < graphCanvas.clientWidth && y < graphCanvas.clientHeight && x + at.width * view.scale > 0 && y + at.height * view.scale > 0;
}

let drawPending = false;
function drawGraph() {
  if (drawPending || !layout) return;
  drawPending = true;
  requestAnimationFrame(() => { drawPending = false; paintGraph(); });
}

function paintGraph() {
  const context = sizedContext(graphCanvas);
  const colours = { ink: cssColour("--ink"), dim: cssColour("--line-strong"), surface: cssColour("--surface"), accent: cssColour("--accent") };
  context.translate(view.x, view.y);
  context.scale(view.scale, view.scale);
  for (const [delegate, at, isOpen] of layout.boxes) if (isOpen && inSight(at)) paintBox(context, delegate, at, isOpen, colours);
  paintEdges(context, colours);
  for (const [delegate, at, isOpen] of layout.boxes) if (!isOpen && inSight(at)) paintBox(context, delegate, at, isOpen, colours);
  for (const [node, at] of layout.leaves) if (inSight(at)) paintNode(context, node, at, colours);
  paintLabels(context);
}

// What flows along the lines, where it can be read.
function paintLabels(context) {
  if (view.scale < 0.6) return;
  context.font = "10px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.lineWidth = 3;
  context.strokeStyle = cssColour("--surface");
  context.fillStyle = cssColour("--dim");
  for (const [start, label] of layout.labels) {
    if (!inSight({ ...start, height: start.height + item.gapY })) continue;
    const [x, y] = [start.x + start.width / 2 + 5, start.y + start.height + 8];
    const shown = shortened(context, label, start.width + item.gapX - 8);
    context.strokeText(shown, x, y);
    context.fillText(shown, x, y);
  }
}

function paintEdges(context, colours) {
  const top = -view.y / view.scale;
  const bottom = top + graphCanvas.clientHeight / view.scale;
  for (const crossing of [false, true]) {
    context.beginPath();
    for (const [start, end, isCrossing] of layout.edges) {
      if (isCrossing !== crossing || end.y < top || start.y + start.height > bottom) continue;
      const x0 = start.x + start.width / 2;
      const y0 = start.y + start.height;
      const x1 = end.x + end.width / 2;
      const span = end.y - y0;
      context.moveTo(x0, y0);
      if (span > 4 * item.gapY && Math.abs(x1 - x0) < item.width / 2) {
        // Around what lies between the two.
        const side = x0 + item.width * 1.1 + Math.min(60, span / 8);
        context.bezierCurveTo(side, y0 + item.gapY, side, end.y - item.gapY, x1, end.y);
      } else {
        const bend = Math.min(40, Math.abs(span) / 2);
        context.bezierCurveTo(x0, y0 + bend, x1, end.y - bend, x1, end.y);
      }
    }
    context.lineWidth = Math.max(crossing ? 1.8 : 1, (crossing ? 1 : 0.6) / view.scale);
    context.strokeStyle = crossing ? colours.ink : colours.dim;
    context.globalAlpha = crossing ? 0.55 : 0.9;
    context.stroke();
  }
  context.globalAlpha = 1;
}

const isChosen = (kind, id) => chosen && chosen.kind === kind && chosen.id === id;

// The start of a text that is too wide, with dots behind it.
function shortened(context, label, width) {
  if (context.measureText(label).width <= width) return label;
  while (label && context.measureText(label + "\u2026").width > width) label = label.slice(0, -1);
  return label + "\u2026";
}

const fillShort = (context, label, x, y, width) => context.fillText(shortened(context, label, width), x, y);

function paintBox(context, delegate, at, isOpen, colours) {
  const entry = data.delegates[delegate];
  const colour = cssColour(colourOfDelegate(delegate));
  context.beginPath();
  context.roundRect(at.x, at.y, at.width, at.height, 7);
  context.globalAlpha = isOpen ? 0.1 : 1;
  context.fillStyle = colour;
  context.fill();
  context.globalAlpha = 1;
  context.lineWidth = isChosen("delegate", delegate) ? 4 : 1.5;
  context.strokeStyle = isChosen("delegate", delegate) ? colours.accent : colour;
  context.stroke();
  if (view.scale < 0.3) return;
  context.textBaseline = "middle";
  context.font = "600 13px system-ui, sans-serif";
  context.fillStyle = isOpen ? colours.ink : cssColour("--on-colour");
  const label = isOpen ? entry.name + ", " + plural(entry.nodes, "node") : entry.name;
  fillShort(context, label, at.x + 12, at.y + (isOpen ? 15 : 16), at.width - 20);
  if (isOpen) return;
  context.font = "12px system-ui, sans-serif";
  fillShort(context, plural(entry.nodes, "node"), at.x + 12, at.y + 32, at.width - 20);
}

function paintNode(context, node, at, colours) {
  const colour = cssColour(colourOf(node));
  context.fillStyle = colours.surface;
  context.fillRect(at.x, at.y, at.width, at.height);
  context.fillStyle = colour;
  if (view.scale < 0.3) { context.fillRect(at.x, at.y, at.width, at.height); return; }
  context.fillRect(at.x, at.y, 5, at.height);
  context.lineWidth = isChosen("node", node) ? 3 : 1;
  context.strokeStyle = isChosen("node", node) ? colours.accent : colour;
  context.strokeRect(at.x + 0.5, at.y + 0.5, at.width - 1, at.height - 1);
  context.fillStyle = colours.ink;
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  fillShort(context, nodes.name[node], at.x + 12, at.y + at.height / 2 + 1, at.width - 16);
}

// What lies under a place of the canvas: a node before the box around it.
function itemAt(x, y) {
  const inX = (x - view.x) / view.scale;
  const inY = (y - view.y) / view.scale;
  const hit = ([, at]) => inX >= at.x && inX <= at.x + at.width && inY >= at.y && inY <= at.y + at.height;
  const leaf = layout.leaves.find(hit);
  if (leaf) return { kind: "node", id: leaf[0] };
  const box = layout.boxes.find(hit);
  return box ? { kind: "delegate", id: box[0] } : null;
}

function zoomAt(x, y, factor) {
  const scale = Math.min(3, Math.max(0.002, view.scale * factor));
  view.x = x - ((x - view.x) * scale) / view.scale;
  view.y = y - ((y - view.y) * scale) / view.scale;
  view.scale = scale;
  drawGraph();
}

const zoomMiddle = (factor) => zoomAt(graphCanvas.clientWidth / 2, graphCanvas.clientHeight / 2, factor);

// Moves the picture where the chosen thing cannot be seen.
function showInGraph(selection) {
  if (!layout) return;
  const first = selection.kind === "node" ? selection.id : selection.kind === "delegate" ? nodesOfDelegate[selection.id][0] : undefined;
  if (first === undefined) { drawGraph(); return; }
  if (graphOfNode[first] !== shownGraph) chooseGraph(graphOfNode[first]);
  const at = selection.kind === "delegate" ? layout.boxAt.get(selection.id).at : placeOf(first);
  if (at && (!inSight(at) || view.scale < 0.3)) {
    view.scale = Math.max(view.scale, 0.75);
    view.x = graphCanvas.clientWidth / 2 - (at.x + at.width / 2) * view.scale;
    view.y = graphCanvas.clientHeight / 2 - (at.y + Math.min(at.height, 200) / 2) * view.scale;
  }
  drawGraph();
}

function toggleDelegate(delegate) {
  if (!openDelegates.delete(delegate)) openDelegates.add(delegate);
  layOut();
  showInGraph({ kind: "delegate", id: delegate });
}

function chooseGraph(number) {
  shownGraph = number;
  byId("graph-choice").value = String(number);
  layOut();
  startView();
}

// To what a node needs, what needs it, or its neighbour in the layer.
function graphKey(event) {
  const zoom = { "+": 1.25, "=": 1.25, "-": 0.8 }[event.key];
  if (zoom) zoomMiddle(zoom);
  else if (event.key === "0") fitGraph();
  else if (event.key === "Enter" && chosen && chosen.kind === "delegate") toggleDelegate(chosen.id);
  else if (event.key.startsWith("Arrow")) select(neighbour(event.key));
  else return;
  event.preventDefault();
}

function neighbour(key) {
  const asSelection = (each) => (each >= 0 ? { kind: "node", id: each } : { kind: "delegate", id: -1 - each });
  const all = [...layout.places.keys()];
  if (!chosen || chosen.kind === "module") return asSelection(all[0]);
  const current = chosen.kind === "delegate" ? -1 - chosen.id : layout.places.has(chosen.id) ? chosen.id : itemOf(chosen.id);
  let next;
  if (key === "ArrowUp") next = (layout.from.get(current) || [])[0];
  else if (key === "ArrowDown") next = all.find((each) => layout.from.get(each).includes(current));
  else next = all[all.indexOf(current) + (key === "ArrowRight" ? 1 : -1)];
  return next === undefined ? chosen : asSelection(next);
}

function startGraph() {
  const choice = byId("graph-choice");
  if (!hasGraph || !nodeCount) { byId("graph-pane").hidden = true; return; }
  data.graphs.forEach((graph, i) => choice.append(make("option", { value: i }, graph.method + (graph.graph ? " @" + graph.graph : "") + " (" + plural(graph.count, "node") + ")")));
  choice.hidden = data.graphs.length < 2;
  choice.addEventListener("change", () => chooseGraph(Number(choice.value)));
  if (nodeCount <= 300) data.delegates.forEach((_, i) => openDelegates.add(i));
  layOut();
  startView();
  byId("zoom-in").addEventListener("click", () => zoomMiddle(1.25));
  byId("zoom-out").addEventListener("click", () => zoomMiddle(0.8));
  byId("zoom-fit").addEventListener("click", fitGraph);
  byId("open-all").addEventListener("click", () => {
    const isAny = openDelegates.size > 0;
    openDelegates.clear();
    if (!isAny) data.delegates.forEach((_, i) => openDelegates.add(i));
    layOut();
    startView();
    nameOpenAll();
  });
  nameOpenAll();
  graphCanvas.addEventListener("keydown", graphKey);
  listenToPointer();
}

const nameOpenAll = () => { byId("open-all").textContent = openDelegates.size ? "Close delegates" : "Open delegates"; byId("open-all").hidden = !data.delegates.length; };

// Drag moves, the wheel zooms with Ctrl or when the canvas has the focus, two fingers zoom, a tap chooses.
function listenToPointer() {
  const pointers = new Map();
  let moved = 0;
  let span = 0;
  graphCanvas.addEventListener("pointerdown", (event) => {
    graphCanvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    moved = 0;
    span = 0;
  });
  graphCanvas.addEventListener("pointermove", (event) => {
    if (!pointers.has(event.pointerId)) { tipAt(event); return; }
    const [x, y] = pointers.get(event.pointerId);
    pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    if (pointers.size === 2) {
      const [a, b] = [...pointers.values()];
      const now = Math.hypot(a[0] - b[0], a[1] - b[1]);
      if (span) zoomAt((a[0] + b[0]) / 2, (a[1] + b[1]) / 2, now / span);
      span = now;
      moved = 10;
      return;
    }
    moved += Math.abs(event.offsetX - x) + Math.abs(event.offsetY - y);
    view.x += event.offsetX - x;
    view.y += event.offsetY - y;
    drawGraph();
  });
  const end = (event) => {
    const wasDown = pointers.delete(event.pointerId);
    if (!wasDown || moved > 5 || event.type === "pointercancel") return;
    const hit = itemAt(event.offsetX, event.offsetY);
    if (hit) select(hit);
  };
  graphCanvas.addEventListener("pointerup", end);
  graphCanvas.addEventListener("pointercancel", end);
  graphCanvas.addEventListener("pointerleave", hideTip);
  graphCanvas.addEventListener("dblclick", (event) => {
    const hit = itemAt(event.offsetX, event.offsetY);
    if (hit && hit.kind === "delegate") toggleDelegate(hit.id);
  });
  graphCanvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && document.activeElement !== graphCanvas) return;
    event.preventDefault();
    zoomAt(event.offsetX, event.offsetY, Math.exp(-event.deltaY / 400));
  }, { passive: false });
}

function tipAt(event) {
  const hit = layout && itemAt(event.offsetX, event.offsetY);
  if (!hit) { hideTip(); return; }
  if (hit.kind === "delegate") showTip(event.clientX, event.clientY, [data.delegates[hit.id].name, plural(data.delegates[hit.id].nodes, "node")]);
  else showTip(event.clientX, event.clientY, [nodes.name[hit.id], opOf(hit.id), placeText(sourceOf(hit.id))]);
}
