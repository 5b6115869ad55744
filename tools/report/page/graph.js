// The graph, drawn in layers on a canvas: values flow from top to bottom, delegates are boxes that open. Items are
// laid out once per graph and set of open boxes; only visible ones are drawn, so that 20,000 nodes scroll smoothly.
const graphCanvas = byId("graph");
const item = { width: 128, height: 26, gapX: 14, gapY: 26, boxHeight: 44, pad: 16, head: 22 };
const view = { x: 0, y: 0, scale: 1 };
let shownGraph = 0;
let layout = null;
const openDelegates = new Set();

// Returns layers of items by longest path; `from` lists the operands of each item. Items must be in topological order.
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

// Places items: each layer is sorted by the mean position of operands and centered. Wide layers are split into rows.
function place(layers, from, sizeOf) {
  const places = new Map();
  const maxInRow = 48;
  let y = 0;
  let width = 0;
  const rows = [];
  const bands = [];
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
        places.set(each, { x, y, width: itemWidth, height: itemHeight, order: 0, row: rows.length });
        x += itemWidth + item.gapX;
        height = Math.max(height, itemHeight);
      }
      x -= item.gapX;
      row.forEach(([, , each], i) => { places.get(each).order = (i + 0.5) / row.length; });
      rows.push([row, x]);
      bands.push({ top: y, bottom: y + height });
      width = Math.max(width, x);
      y += height + item.gapY;
    }
  }
  rows.forEach(([row, rowWidth], i) => {
    for (const [, , each] of row) places.get(each).x += (width - rowWidth) / 2;
    bands[i].taken = row.map(([, , each]) => [places.get(each).x, places.get(each).x + places.get(each).width]);
  });
  return { places, rows: bands, width, height: Math.max(0, y - item.gapY) };
}

// Item of a node: the node itself, or -1 - box of its delegate.
const itemOf = (node) => (isDelegated(node) ? -1 - boxOf(delegateOf(node)) : node);

function innerLayout(members) {
  const inside = new Set(members);
  const from = new Map(members.map((node) => [node, inputsOf[node].map(([before]) => before).filter((before) => inside.has(before))]));
  return place(layersOf(members, from), from, () => [item.width, item.height]);
}

// Returns the items in topological order, with delegates after all of their operands.
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
    const [dx, dy] = [at.x + item.pad, at.y + item.head + item.pad];
    const rows = inner.get(each).rows.map(({ top, bottom, taken }) => ({ top: top + dy, bottom: bottom + dy, taken: taken.map(([left, right]) => [left + dx, right + dx]) }));
    for (const [node, within] of inner.get(each).places)
      layout.leaves.push([node, { ...within, x: within.x + dx, y: within.y + dy, box: at, rows }]);
  }
  layout.at = new Map(layout.leaves);
  layout.boxAt = new Map(layout.boxes.map(([delegate, at, isOpen]) => [delegate, { at, isOpen }]));
  layout.lanes = new Map();
  layout.left = 0;
  layout.right = layout.width;
  layout.edges = edgesOf(graph);
  layout.labels = labelsOf(graph);
}

// Labels below places: the type of the first value that leaves it, and the number of other values.
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

// Returns the place of a node, or of the closed box that contains it.
function placeOf(node) {
  const box = isDelegated(node) ? layout.boxAt.get(boxOf(delegateOf(node))) : null;
  return layout.at.get(node) || (box ? box.at : null);
}

// Returns lines between places without duplicates: {start, end, isCrossing (a delegate's border), route}.
function edgesOf(graph) {
  const edges = [];
  const seen = new Map();
  for (let node = graph.first; node < graph.first + graph.count; ++node) {
    const to = placeOf(node);
    for (const [before] of inputsOf[node]) {
      const start = before >= 0 ? placeOf(before) : null;
      const isWithinBox = before >= 0 && itemOf(before) === itemOf(node) && delegateOf(before) !== delegateOf(node);
      if (!start || !to || start === to || isWithinBox) continue;
      if (!seen.has(start)) seen.set(start, new Set());
      if (seen.get(start).has(to)) continue;
      seen.get(start).add(to);
      edges.push({ start, end: to, isCrossing: delegateOf(before) !== delegateOf(node), route: routeOf(start, to) });
    }
  }
  return edges;
}

// Returns a line as vertical parts [x, from, to] from top to bottom that pass between boxes; curves between the rows
// join them. Lines from one open box to another leave the first, go down, and enter the second.
function routeOf(start, end) {
  const portOf = (place, y) => ({ x: place.x + place.width / 2, y, row: place.row, reach: place.width / 2 - 12 });
  const out = portOf(start, start.y + start.height);
  const into = portOf(end, end.y);
  if (start.box === end.box) return uprights(start.rows || layout.rows, out, into, start);
  const parts = [];
  let from = out;
  if (start.box) {
    const bottom = start.box.y + start.box.height;
    parts.push(...uprights(start.rows, out, { x: null, y: bottom, row: start.rows.length }, start));
    from = { x: parts[parts.length - 1][0], y: bottom, row: start.box.row };
  }
  if (!end.box) return parts.concat(uprights(layout.rows, from, into, start));
  const inner = uprights(end.rows, { x: null, y: end.box.y + item.head, row: -1 }, into, start);
  return parts.concat(uprights(layout.rows, from, { x: inner[0][0], y: end.box.y, row: end.box.row }, start), inner);
}

function uprights(rows, from, to, source) {
  const lanes = lanesOf(rows, from, to, source);
  // A line leaves and enters a box on the side of its lane.
  const towards = (port, x) => (port.reach === undefined ? port.x ?? x : Math.max(port.x - port.reach, Math.min(port.x + port.reach, x)));
  const startX = lanes.length ? towards(from, lanes[0][0]) : from.x ?? to.x;
  const endX = lanes.length ? towards(to, lanes[lanes.length - 1][0]) : to.x ?? from.x;
  return [[startX, from.y, from.row < 0 ? from.y : rows[from.row].bottom], ...lanes, [endX, to.y, to.y]];
}

const clearance = 6;
const isFree = (row, x) => row.taken.every(([left, right]) => x < left - clearance || x > right + clearance);

// Returns the free position nearest to x in the gaps of a row or beside it.
function gapNear(row, x) {
  if (isFree(row, x)) return x;
  const edges = row.taken.flatMap(([left, right], i) => [i ? left - item.gapX / 2 : left - 10, i + 1 < row.taken.length ? right + item.gapX / 2 : right + 10]);
  return edges.reduce((best, each) => (Math.abs(each - x) < Math.abs(best - x) ? each : best));
}

// Returns the lanes of a line through the rows between its ends: straight if free, otherwise beside all rows, or from
// gap to gap if the side is far away and there are few rows.
function lanesOf(rows, from, to, source) {
  const crossed = rows.slice(from.row + 1, to.row);
  if (!crossed.length) return [];
  const [top, bottom] = [crossed[0].top, crossed[crossed.length - 1].bottom];
  const wanted = [from.x, to.x].filter((x) => x !== null);
  for (const x of wanted) if (crossed.every((row) => isFree(row, x)) && takeLane(x, top, bottom, source)) return [[x, top, bottom]];
  const left = crossed.reduce((least, row) => Math.min(least, row.taken[0][0]), Infinity) - 12;
  const right = crossed.reduce((most, row) => Math.max(most, row.taken[row.taken.length - 1][1]), 0) + 12;
  const middle = wanted.reduce((sum, x) => sum + x, 0) / wanted.length;
  const isRight = right - middle <= middle - left;
  if (Math.abs((isRight ? right : left) - middle) > 3 * item.width && crossed.length <= 24) {
    let x = wanted[0];
    return crossed.map((row, i) => [x = gapNear(row, x + ((to.x ?? x) - x) / (crossed.length - i)), row.top, row.bottom]);
  }
  for (let lane = 0; lane < 40; ++lane) {
    const x = isRight ? right + 5 * lane : left - 5 * lane;
    if (takeLane(x, top, bottom, source)) return [[x, top, bottom]];
  }
  return [[isRight ? right : left, top, bottom]];
}

// Reserves a lane. Only lines of the same source may share one.
function takeLane(x, top, bottom, source) {
  const key = Math.round(x / 4);
  if (!layout.lanes.has(key)) layout.lanes.set(key, []);
  const lanes = layout.lanes.get(key);
  if (lanes.some(([from, to, other]) => other !== source && from <= bottom && top <= to)) return false;
  lanes.push([top, bottom, source]);
  layout.left = Math.min(layout.left, x - 12);
  layout.right = Math.max(layout.right, x + 12);
  return true;
}

function fitGraph() {
  const scale = Math.min(graphCanvas.clientWidth / (layout.right - layout.left + 40), graphCanvas.clientHeight / (layout.height + 40), 1.25);
  view.scale = Math.max(scale, 0.002);
  view.x = (graphCanvas.clientWidth - (layout.left + layout.right) * view.scale) / 2;
  view.y = Math.max(20 * view.scale, (graphCanvas.clientHeight - layout.height * view.scale) / 2);
  drawGraph();
}

// Like fitGraph(), but shows the start of the graph in a readable size if the whole graph would be too small.
function startView() {
  fitGraph();
  if (view.scale >= 0.45) return;
  view.scale = 0.75;
  const first = layout.leaves[0] || layout.boxes[0];
  const top = first ? first[1] : { x: 0, width: 0 };
  view.x = (layout.right - layout.left) * view.scale < graphCanvas.clientWidth ? (graphCanvas.clientWidth - (layout.left + layout.right) * view.scale) / 2 : graphCanvas.clientWidth / 2 - (top.x + top.width / 2) * view.scale;
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
  const colors = { ink: cssColor("--ink"), dim: cssColor("--line-strong"), surface: cssColor("--surface"), accent: cssColor("--accent") };
  context.translate(view.x, view.y);
  context.scale(view.scale, view.scale);
  for (const [delegate, at, isOpen] of layout.boxes) if (isOpen && inSight(at)) paintBox(context, delegate, at, isOpen, colors);
  paintEdges(context, colors);
  for (const [delegate, at, isOpen] of layout.boxes) {
    if (!isOpen && inSight(at)) paintBox(context, delegate, at, isOpen, colors);
    if (inSight(at)) paintTitle(context, delegate, at, isOpen, colors);
  }
  for (const [node, at] of layout.leaves) if (inSight(at)) paintNode(context, node, at, colors);
  paintLabels(context);
}

// Paints the types of values, if the scale is readable.
function paintLabels(context) {
  if (view.scale < 0.6) return;
  context.font = "10px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.lineWidth = 3;
  context.strokeStyle = cssColor("--surface");
  context.fillStyle = cssColor("--dim");
  for (const [start, label] of layout.labels) {
    if (!inSight({ ...start, height: start.height + item.gapY })) continue;
    const [x, y] = [start.x + start.width / 2 + 5, start.y + start.height + 8];
    const shown = shortened(context, label, start.width + item.gapX - 8);
    context.strokeText(shown, x, y);
    context.fillText(shown, x, y);
  }
}

// Paints lines of the selection on top, below them lines that cross a border, then all others.
function paintEdges(context, colors) {
  const top = -view.y / view.scale;
  const bottom = top + graphCanvas.clientHeight / view.scale;
  const kinds = [[colors.dim, 1, 0.9], [colors.ink, 1.8, 0.55], [colors.accent, 2.2, 1]];
  const chosenPlace = chosen && chosen.kind === "node" ? placeOf(chosen.id) : chosen && chosen.kind === "delegate" && nodesOfDelegate[chosen.id].length ? (layout.boxAt.get(boxOf(chosen.id)) || {}).at : null;
  kinds.forEach(([color, width, alpha], kind) => {
    context.beginPath();
    for (const { start, end, isCrossing, route } of layout.edges) {
      const isOfChosen = chosenPlace && (start === chosenPlace || end === chosenPlace);
      if ((isOfChosen ? 2 : Number(isCrossing)) !== kind || end.y < top || start.y + start.height > bottom) continue;
      traceRoute(context, route);
    }
    context.lineWidth = Math.max(width, (width * 0.6) / view.scale);
    context.strokeStyle = color;
    context.globalAlpha = alpha;
    context.stroke();
  });
  context.globalAlpha = 1;
}

function traceRoute(context, route) {
  route.forEach(([x, from, to], i) => {
    if (i === 0) context.moveTo(x, from);
    else {
      const [beforeX, , above] = route[i - 1];
      const middle = (above + from) / 2;
      context.bezierCurveTo(beforeX, middle, x, middle, x, from);
    }
    if (to !== from) context.lineTo(x, to);
  });
}

const isChosen = (kind, id) => chosen && chosen.kind === kind && (kind === "delegate" ? boxOf(chosen.id) : chosen.id) === id;

// Returns the text, cut to the width with an ellipsis if it is too wide.
function shortened(context, label, width) {
  if (context.measureText(label).width <= width) return label;
  while (label && context.measureText(label + "\u2026").width > width) label = label.slice(0, -1);
  return label + "\u2026";
}

const fillShort = (context, label, x, y, width) => context.fillText(shortened(context, label, width), x, y);

// "xnnpack1 x 31": a delegate and the number of its repetitions.
const nameOfBox = (delegate) => data.delegates[delegate].name + (callsOfBox[delegate] > 1 ? " \u00d7 " + count(callsOfBox[delegate]) : "");

function paintBox(context, delegate, at, isOpen, colors) {
  const color = cssColor(colorOfDelegate(delegate));
  context.beginPath();
  context.roundRect(at.x, at.y, at.width, at.height, 7);
  context.globalAlpha = isOpen ? 0.1 : 1;
  context.fillStyle = color;
  context.fill();
  context.globalAlpha = 1;
  context.lineWidth = isChosen("delegate", delegate) ? 4 : 1.5;
  context.strokeStyle = isChosen("delegate", delegate) ? colors.accent : color;
  context.stroke();
}

function paintTitle(context, delegate, at, isOpen, colors) {
  if (view.scale < 0.3) return;
  const number = plural(data.delegates[delegate].nodes, "node");
  context.textBaseline = "middle";
  context.font = "600 13px system-ui, sans-serif";
  if (isOpen) { // lines into the box are behind the title
    const label = shortened(context, nameOfBox(delegate) + ", " + number, at.width - 20);
    context.lineWidth = 4;
    context.strokeStyle = colors.surface;
    context.strokeText(label, at.x + 12, at.y + 15);
    context.fillStyle = colors.ink;
    context.fillText(label, at.x + 12, at.y + 15);
    return;
  }
  context.fillStyle = cssColor("--on-color");
  fillShort(context, nameOfBox(delegate), at.x + 12, at.y + 16, at.width - 20);
  context.font = "12px system-ui, sans-serif";
  fillShort(context, number, at.x + 12, at.y + 32, at.width - 20);
}

function paintNode(context, node, at, colors) {
  const color = cssColor(colorOf(node));
  context.fillStyle = colors.surface;
  context.fillRect(at.x, at.y, at.width, at.height);
  context.fillStyle = color;
  if (view.scale < 0.3) { context.fillRect(at.x, at.y, at.width, at.height); return; }
  context.fillRect(at.x, at.y, 5, at.height);
  context.lineWidth = isChosen("node", node) ? 3 : 1;
  context.strokeStyle = isChosen("node", node) ? colors.accent : color;
  context.strokeRect(at.x + 0.5, at.y + 0.5, at.width - 1, at.height - 1);
  context.fillStyle = colors.ink;
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  fillShort(context, nodes.name[node], at.x + 12, at.y + at.height / 2 + 1, at.width - 16);
}

// Returns the item at a position of the canvas; a node has precedence over the box around it.
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

// Scrolls to the selection if it is not visible.
function showInGraph(selection) {
  if (!layout) return;
  const first = selection.kind === "node" ? selection.id : selection.kind === "delegate" ? nodesOfDelegate[selection.id][0] : undefined;
  if (first === undefined) { drawGraph(); return; }
  if (graphOfNode[first] !== shownGraph) chooseGraph(graphOfNode[first]);
  const at = placeOf(first);
  if (at && (!inSight(at) || view.scale < 0.3)) {
    view.scale = Math.max(view.scale, 0.75);
    view.x = graphCanvas.clientWidth / 2 - (at.x + at.width / 2) * view.scale;
    view.y = graphCanvas.clientHeight / 2 - (at.y + Math.min(at.height, 200) / 2) * view.scale;
  }
  drawGraph();
}

function toggleDelegate(delegate) {
  const box = boxOf(delegate);
  if (!openDelegates.delete(box)) openDelegates.add(box);
  layOut();
  showInGraph({ kind: "delegate", id: delegate });
}

function chooseGraph(number) {
  shownGraph = number;
  byId("graph-choice").value = String(number);
  layOut();
  startView();
}

// Arrow keys select an operand (up), a user (down) or the neighbor in the layer.
function graphKey(event) {
  const zoom = { "+": 1.25, "=": 1.25, "-": 0.8 }[event.key];
  if (zoom) zoomMiddle(zoom);
  else if (event.key === "0") fitGraph();
  else if (event.key === "Enter" && chosen && chosen.kind === "delegate") toggleDelegate(chosen.id);
  else if (event.key.startsWith("Arrow")) select(neighbor(event.key));
  else return;
  event.preventDefault();
}

function neighbor(key) {
  const asSelection = (each) => (each >= 0 ? { kind: "node", id: each } : { kind: "delegate", id: -1 - each });
  const all = [...layout.places.keys()];
  if (!chosen || chosen.kind === "module") return asSelection(all[0]);
  const current = chosen.kind === "delegate" ? -1 - boxOf(chosen.id) : layout.places.has(chosen.id) ? chosen.id : itemOf(chosen.id);
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

// Dragging moves, the wheel zooms with Ctrl or if the canvas has the focus, two fingers zoom, a tap selects.
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
  if (hit.kind === "delegate") showTip(event.clientX, event.clientY, [nameOfBox(hit.id), plural(data.delegates[hit.id].nodes, "node")]);
  else showTip(event.clientX, event.clientY, [nodes.name[hit.id], opOf(hit.id), placeText(sourceOf(hit.id))]);
}
