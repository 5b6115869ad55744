// The bytes of the file: kinds of entries are large boxes with entries in them; areas are proportional to bytes.
const kindsOfBytes = [
  ["weights", "--step-0", ["constant", "initial value", "named data", "payload constant"]],
  ["delegates", "--step-1", ["payload", "payload header", "payload tables"]],
  ["methods", "--step-2", ["method", "values", "instructions", "operators", "delegates", "stack traces", "strings"]],
  ["tables of the file", "--step-3", ["header", "program", "segment table", "constant table", "data table", "vtables"]],
  ["padding and unused", "--step-4", ["unused segment", "padding", "unclaimed"]],
];

// Fills [x, y, width, height] with nearly square boxes for sizes, which are sorted in descending order.
function squarify(sizes, [x, y, width, height]) {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const boxes = [];
  let scale = total ? (width * height) / total : 0;
  let start = 0;
  while (start < sizes.length) {
    const side = Math.min(width, height);
    let sum = 0;
    let end = start;
    let worst = Infinity;
    while (end < sizes.length) {
      const next = sum + sizes[end] * scale;
      const thickness = next / side;
      const ratio = Math.max(...[sizes[start], sizes[end]].map((size) => { const length = (size * scale) / thickness; return Math.max(length / thickness, thickness / length); }));
      if (ratio > worst) break;
      worst = ratio;
      sum = next;
      ++end;
    }
    const thickness = side ? sum / side : 0;
    let along = 0;
    for (let i = start; i < end; ++i) {
      const length = thickness ? (sizes[i] * scale) / thickness : 0;
      boxes.push(width >= height ? [x, y + along, thickness, length] : [x + along, y, length, thickness]);
      along += length;
    }
    if (width >= height) { x += thickness; width -= thickness; } else { y += thickness; height -= thickness; }
    start = end;
  }
  return boxes;
}

function bytesGroups() {
  return kindsOfBytes.map(([name, color, kinds]) => {
    const entries = data.ledger.entries.filter((entry) => kinds.includes(text(entry[1])));
    return { name, color, entries, bytes: entries.reduce((sum, entry) => sum + entry[0], 0) };
  }).filter((group) => group.bytes > 0).sort((a, b) => b.bytes - a.bytes);
}

const percentBox = (box, [width, height]) => "left:" + (100 * box[0]) / width + "%;top:" + (100 * box[1]) / height + "%;width:" + (100 * box[2]) / width + "%;height:" + (100 * box[3]) / height + "%";

// Returns a name, or its end (which differs from its neighbors) if the name is wider than `width` pixels.
const letterWidth = 7.6;
function endOf(name, width) {
  const letters = Math.max(4, Math.floor(width / letterWidth));
  return name.length <= letters ? name : "\u2026" + name.slice(1 - letters);
}

function entryBox(entry, box, size, color) {
  const [bytes, kind, owner, name] = entry;
  const label = name || text(kind);
  const lines = [label, text(kind) + (text(owner) ? ", " + text(owner) : ""), bytesText(bytes)];
  const element = make("div", { class: "entry", style: percentBox(box, size) + ";background:var(" + color + ")" });
  if (box[2] > 70 && box[3] > 18) element.append(make("span", {}, endOf(label, box[2] - 14)));
  if (box[2] > 70 && box[3] > 36) element.append(make("span", {}, bytesText(bytes)));
  tipOver(element, () => lines);
  return element;
}

function showTreemap() {
  const groups = bytesGroups();
  byId("bytes").hidden = !groups.length;
  if (!groups.length) return;
  const map = byId("treemap");
  const size = [Math.max(300, map.clientWidth), Math.max(300, map.clientHeight || 360)];
  const area = make("div", { class: "area", role: "img", "aria-label": groups.map((group) => group.name + " " + bytesText(group.bytes)).join(", ") });
  squarify(groups.map((group) => group.bytes), [0, 0, ...size]).forEach((box, i) => {
    const group = groups[i];
    const inner = squarify(group.entries.map((entry) => entry[0]), box);
    group.entries.forEach((entry, number) => { if (inner[number][2] * inner[number][3] > 0.5) area.append(entryBox(entry, inner[number], size, group.color)); });
  });
  const keys = make("ul", { class: "keys" }, ...groups.map((group) => make("li", {}, swatch(group.color), group.name + " ", make("b", {}, bytesText(group.bytes)), make("span", { class: "dim" }, " " + percent((100 * group.bytes) / data.output_bytes)))));
  map.replaceChildren(area);
  map.after(keys);
  byId("bytes-lead").textContent = data.output + " has " + bytesText(data.output_bytes) + "." + (data.ledger.rest ? " " + bytesText(data.ledger.rest) + " are in entries that are too small to draw." : "");
}
