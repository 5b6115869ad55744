// Planned memory: a tensor is a box from its first to its last instruction, at its offset in the arena.
const plotMargin = { left: 64, right: 8, top: 8, bottom: 22 };

function executed(method, instruction) {
  const what = method.instructions[instruction];
  if (what === null || what === undefined) return null;
  return what < 0 ? { kind: "delegate", id: -1 - what } : { kind: "node", id: what };
}

function arenaStarts(method) {
  let start = 0;
  return method.sizes.map((size) => { const at = start; start += size; return at; });
}

// Returns [x, y, width, height] of a block: instructions to the right, offsets upwards.
function blockBox(method, block, starts, width, height) {
  const [first, last, memory, offset, bytes] = block;
  const total = Math.max(1, method.sizes.reduce((sum, size) => sum + size, 0));
  const steps = Math.max(1, method.instructions.length);
  const place = starts[memory - 1] + offset;
  const x = plotMargin.left + (first / steps) * width;
  const bottom = plotMargin.top + height * (1 - place / total);
  return [x, bottom - (bytes / total) * height, Math.max(1, ((last + 1 - first) / steps) * width), Math.max(0.5, (bytes / total) * height)];
}

function paintMemory(canvas, method) {
  const context = sizedContext(canvas);
  const width = canvas.clientWidth - plotMargin.left - plotMargin.right;
  const height = canvas.clientHeight - plotMargin.top - plotMargin.bottom;
  const total = method.sizes.reduce((sum, size) => sum + size, 0);
  const starts = arenaStarts(method);
  const ink = cssColor("--dim");
  context.font = "12px system-ui, sans-serif";
  context.strokeStyle = cssColor("--line");
  context.fillStyle = ink;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    const y = Math.round(plotMargin.top + height * (1 - share)) + 0.5;
    context.beginPath();
    context.moveTo(plotMargin.left, y);
    context.lineTo(plotMargin.left + width, y);
    context.stroke();
    context.fillText(bytesText(total * share), plotMargin.left - 8, y);
  }
  for (const block of method.blocks) {
    const [x, y, w, h] = blockBox(method, block, starts, width, height);
    const what = executed(method, block[0]);
    context.fillStyle = cssColor(what === null ? "--portable" : what.kind === "delegate" ? colorOfDelegate(what.id) : colorOf(what.id));
    context.globalAlpha = 0.55;
    context.fillRect(x, y, w, h);
    context.globalAlpha = 1;
    if (w > 3 && h > 3) { context.strokeStyle = cssColor("--surface"); context.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1); }
  }
  context.fillStyle = ink;
  context.textBaseline = "alphabetic";
  context.textAlign = "left";
  context.fillText("first instruction", plotMargin.left, canvas.clientHeight - 6);
  context.textAlign = "right";
  context.fillText("last of " + count(method.instructions.length), plotMargin.left + width, canvas.clientHeight - 6);
}

function blockAt(canvas, method, x, y) {
  const width = canvas.clientWidth - plotMargin.left - plotMargin.right;
  const height = canvas.clientHeight - plotMargin.top - plotMargin.bottom;
  const starts = arenaStarts(method);
  return method.blocks.findLast((block) => {
    const [left, top, w, h] = blockBox(method, block, starts, width, height);
    return x >= left && x <= left + w && y >= top - 1 && y <= top + h + 1;
  });
}

function blockLines(method, block) {
  const what = executed(method, block[0]);
  const name = what === null ? "" : what.kind === "delegate" ? data.delegates[what.id].name : "%" + nodes.name[what.id];
  return [text(block[5]), bytesText(block[4]) + " at " + bytesText(block[3]), "instructions " + count(block[0]) + " to " + count(block[1]), name && "first in " + name];
}

function memoryPlot(method) {
  const total = method.sizes.reduce((sum, size) => sum + size, 0);
  const canvas = make("canvas", { role: "img", "aria-label": method.method + ": " + bytesText(total) + " for " + plural(method.blocks.length, "tensor") + " over " + plural(method.instructions.length, "instruction") });
  tipOver(canvas, (event) => {
    const block = blockAt(canvas, method, event.offsetX, event.offsetY);
    return block && blockLines(method, block);
  });
  canvas.addEventListener("click", (event) => {
    const block = blockAt(canvas, method, event.offsetX, event.offsetY);
    const what = block && executed(method, block[0]);
    if (what) select(what);
  });
  whenSeen(canvas, () => paintMemory(canvas, method));
  const sizes = method.limit ? bytesText(total) + " of " + bytesText(method.limit) + ", at most " + bytesText(method.peak) + " at one time" : method.sizes.map((size, i) => (method.sizes.length > 1 ? "memory " + (i + 1) + ": " : "") + bytesText(size)).join(", ");
  return make("figure", { class: "plot" }, make("figcaption", {}, make("b", {}, method.method), " " + sizes), canvas);
}

// A method with memory banks has a picture for each bank.
function bankPictures(method) {
  if (!method.banks.length) return [method];
  return method.banks.map(([name, id, size, used, peak]) => ({
    ...method,
    method: method.method + ", " + name,
    limit: size,
    peak,
    sizes: [used],
    blocks: method.blocks.filter((block) => block[2] === id).map(([first, last, , offset, bytes, type]) => [first, last, 1, offset, bytes, type]),
  }));
}

function showMemory() {
  const methods = data.memory.flatMap(bankPictures).filter((method) => method.blocks.length);
  byId("memory").hidden = !methods.length;
  byId("memory-lead").textContent = "Each box is a tensor: its lifetime in instructions from left to right, its offset in memory upwards. The color is the owner of the first node that uses it. Memory inside of delegates is not included.";
  byId("memory-plots").replaceChildren(...methods.slice(0, 12).map(memoryPlot));
}
