// The figures at the top, the suggestions, and the short lists at the end of the page.
function figure(label, value, detail, extra) {
  return make("div", { class: "figure" }, make("p", { class: "label" }, label), make("p", { class: "value" }, value),
    detail ? make("p", { class: "detail" }, detail) : null, extra || null);
}

// Returns a bar of adjacent parts: [share, color, label].
function stackedBar(parts, label) {
  const bar = make("div", { class: "bar", role: "img", "aria-label": label });
  for (const [share, color, title] of parts) if (share > 0) bar.append(make("span", { style: "flex-grow:" + share + ";background:var(" + color + ")", title }));
  return bar;
}

function nodesByOwner() {
  const counts = new Map(owners.map((owner) => [owner, 0]));
  for (let node = 0; node < nodeCount; ++node) counts.set(ownerOf(node), counts.get(ownerOf(node)) + 1);
  return counts;
}

function timeFigure() {
  const times = Object.entries(data.times_ms);
  const total = times.reduce((sum, [, time]) => sum + time, 0);
  const parts = times.map(([step, time], i) => [time, "--step-" + (i % 6), step + " " + millis(time)]);
  const keys = make("p", { class: "keys" }, ...times.map(([step, time], i) => make("span", {}, swatch("--step-" + (i % 6)), step + " " + millis(time))));
  return figure("Lowering time", millis(total), "", make("div", {}, stackedBar(parts, parts.map((part) => part[2]).join(", ")), keys));
}

function showFigures() {
  const { totals } = data;
  const byOwner = nodesByOwner();
  const parts = owners.map((owner) => [byOwner.get(owner), colorOfOwner(owner), owner + ": " + plural(byOwner.get(owner), "node")]);
  let macs = 0;
  let taken = 0;
  for (let node = 0; node < nodeCount; ++node) {
    macs += macsOf(node);
    if (isDelegated(node)) taken += macsOf(node);
  }
  const sizes = data.memory.map((method) => [method.method, method.sizes.reduce((sum, size) => sum + size, 0)]);
  const largest = sizes.reduce((best, each) => (each[1] > best[1] ? each : best), ["", 0]);
  const figures = [
    figure("Coverage", percent(totals.coverage_percent), count(totals.delegated_nodes) + " of " + plural(nodeCount, "node") + " delegated",
      stackedBar(parts, parts.map((part) => part[2]).join(", "))),
    figure("Delegates", count(totals.delegated_subgraphs), totals.non_delegated_nodes ? plural(totals.non_delegated_nodes, "node") + " on ExecuTorch's kernels" : "all nodes are delegated"),
  ];
  if (macs > 0) figures.push(figure("Multiplications", percent((100 * taken) / macs), macsText(taken) + " of " + macsText(macs) + " MACs delegated"));
  if (data.output) figures.push(figure("Bytes", bytesText(data.output_bytes + data.external_files.reduce((sum, file) => sum + file.bytes, 0)), data.external_files.length ? "with " + plural(data.external_files.length, "data file") : "in one file"));
  if (sizes.length) figures.push(figure("Peak memory", bytesText(largest[1]), sizes.length > 1 ? "planned for " + largest[0] : "planned for values"));
  figures.push(timeFigure());
  byId("figures").replaceChildren(...figures);
  const made = data.made;
  byId("made").hidden = !made.command;
  byId("made").append(make("code", {}, made.command), " \u2013 " + made.version + (made.date ? ", " + made.date : ""));
  byId("written").textContent = (data.input || "A program in memory") + (data.output ? " \u2192 " + data.output : ", explained; no program was written");
}

// Shows a change in one line: "24 -> 1 delegates".
function change(before, after, unit, betterIsLess) {
  const better = betterIsLess ? after < before : after > before;
  return make("span", { class: "change" + (before === after ? " same" : better ? " better" : " worse") },
    make("span", { class: "before" }, unit(before)), "\u2009\u2192\u2009", make("b", {}, unit(after)));
}

function adviceItem(advice) {
  const coverage = (delegated, all) => (all === 0 ? 100 : (100 * delegated) / all);
  const gains = make("p", { class: "gains" },
    change(data.totals.delegated_subgraphs, advice.delegates, count, true), " ", advice.delegates === 1 ? "delegate" : "delegates",
    make("span", { class: "gap" }),
    change(data.totals.coverage_percent, coverage(advice.delegated_nodes, advice.nodes), percent, false), " of nodes",
    advice.effect ? make("span", { class: "better effect" }, make("b", {}, advice.effect)) : null);
  const group = reasonGroups().find((each) => each.ops.has(advice.op));
  const about = advice.op && group ? link(plural(advice.concerned, "node"), () => select({ kind: "node", id: group.ops.get(advice.op)[0] })) : null;
  const where = make("p", { class: "where" }, about, about && advice.source ? ", first at " : "", advice.source ? make("code", {}, advice.source.split("/").slice(-2).join("/")) : "");
  const how = advice.flags ? make("p", { class: "flags" }, make("code", {}, advice.flags), copyButton(advice.flags)) : make("p", { class: "flags model" }, "No option does this: change the model at this line.");
  return make("li", { class: advice.flags ? "option" : "rewrite" }, make("h3", {}, advice.what), gains, how,
    advice.note ? make("p", { class: "note" }, noteOf(advice)) : null, where);
}

function noteOf({ flags, op, note }) {
  if (flags) return "Note: " + note + ".";
  return op ? "Rejected because of " + note + "." : note[0].toUpperCase() + note.slice(1) + "."; // several ops have several reasons
}

function copyButton(words) {
  const button = link("copy", () => {
    const done = () => { button.textContent = "copied"; setTimeout(() => { button.textContent = "copy"; }, 1500); };
    if (navigator.clipboard && isSecureContext) navigator.clipboard.writeText(words).then(done, () => {});
    else { getSelection().selectAllChildren(button.previousSibling); done(); }
  }, { class: "link copy" });
  return button;
}

function showAdvice() {
  byId("todo").hidden = !data.advice;
  if (!data.advice) return;
  byId("advice").replaceChildren(...data.advice.slice(0, 6).map(adviceItem));
  let lead = "Each suggestion was tried; the counts are its results.";
  if (data.advice_left_out) lead = "The program is too large to try changes; see the reasons below.";
  else if (!data.advice.length) lead = data.totals.non_delegated_nodes ? "No tried change improves the result." : "None: all nodes are delegated.";
  byId("todo-lead").textContent = lead;
}

function showLists() {
  if (data.refusals.length) {
    byId("refusals").hidden = false;
    byId("refusal-list").replaceChildren(make("ul", {}, ...data.refusals.slice(0, 100).map((refusal) =>
      make("li", {}, refusal.message, refusal.source ? make("code", {}, " " + refusal.source) : "", refusal.help ? make("p", { class: "note" }, refusal.help) : null))));
  }
  if (data.quantized.length) {
    byId("quantized").hidden = false;
    fillTable(byId("quantized-table"), [["Layer"], ["Module"], ["Scheme"], ["Before", "number"], ["After", "number"], ["Signal to noise, dB", "number"]],
      [...data.quantized].sort((a, b) => (a.sqnr_db ?? Infinity) - (b.sqnr_db ?? Infinity)), 20, (layer) => make("tr", {}, make("td", {}, make("code", {}, "%" + layer.node)), make("td", {}, layer.module), make("td", {}, layer.scheme),
        make("td", { class: "number" }, bytesText(layer.float_bytes)), make("td", { class: "number" }, bytesText(layer.integer_bytes)), make("td", { class: "number" }, layer.sqnr_db === null ? "exact" : layer.sqnr_db.toFixed(1))));
  }
  const notes = [...data.notes, ...data.not_quantized.map((left) => "not quantized: " + left)];
  byId("notes").hidden = notes.length === 0;
  byId("note-list").replaceChildren(...notes.map((note) => make("li", {}, note)));
}
