// What was measured to decide: the plans of `depute tune`, the fastest first, and the curve of bytes against noise of --quantize auto.
const planText = (trial) => (trial.backends.length ? trial.backends.join(" + ") + (trial.together ? ", together" : "") : "without delegates");
const fastestOf = (trial) => (trial.ns && trial.ns.length ? Math.min(...trial.ns) : Infinity);

function planRow(trial, best) {
  const ns = fastestOf(trial);
  const isMeasured = ns < Infinity && !trial.left_out;
  return make("tr", {}, make("td", {}, make("code", {}, planText(trial)), trial.left_out ? make("p", { class: "note" }, trial.left_out) : null),
    make("td", { class: "number" }, isMeasured ? (ns / 1e6).toPrecision(3) : "\u2013"),
    make("td", { class: "number" }, isMeasured ? (ns / best).toFixed(2) : "\u2013"));
}

function showPlans() {
  const plan = data.plan;
  byId("plans").hidden = !plan || !plan.tried || !plan.tried.length;
  if (byId("plans").hidden) return;
  const trials = [...plan.tried].sort((a, b) => Boolean(a.left_out) - Boolean(b.left_out) || fastestOf(a) - fastestOf(b));
  byId("plans-lead").textContent = "Measured by " + (plan.runner || "depute run") + ". This program takes " + (plan.ns / 1e6).toPrecision(3) + " ms for all calls; the fastest plan that needs no measurement takes "
    + (plan.static_ns / 1e6).toPrecision(3) + " ms. Plans without a time were left out.";
  fillTable(byId("plan-table"), [["Plan"], ["ms", "number"], ["of this one", "number"]], trials, 12, (trial) => planRow(trial, plan.ns));
  if (plan.regions && plan.regions.length) showRegions(plan.regions);
}

// A row for what a backend took together, with the time of each backend and of kernels; the fastest in bold.
function showRegions(regions) {
  const who = [...new Set(regions.flatMap((region) => Object.keys(region.ns)))];
  fillTable(byId("region-table"), [["Nodes that a backend took together"], ...who.map((name) => [name + ", ms", "number"])], regions, 12, (region) => {
    const least = Math.min(...Object.values(region.ns));
    const cell = (ns) => (ns === undefined ? "\u2013" : ns === least ? make("b", {}, (ns / 1e6).toPrecision(3)) : (ns / 1e6).toPrecision(3));
    return make("tr", {}, make("td", {}, region.module || "", region.lines ? make("code", { class: "line" }, region.lines) : null),
      ...who.map((name) => make("td", { class: "number" }, cell(region.ns[name]))));
  });
}

// Points of the curve with a finite noise: [megabytes, decibels].
const curvePoints = () => data.chosen_rules.curve.filter((point) => point.sqnr_db !== null);

function curveScales(points) {
  const bytes = points.map((point) => point.bytes);
  const noise = points.map((point) => point.sqnr_db);
  const [left, right] = [Math.min(...bytes), Math.max(...bytes)];
  const [low, high] = [Math.min(...noise), Math.max(...noise)];
  return {
    left, right, low, high,
    x: (value, width) => plotMargin.left + (width * (value - left)) / Math.max(1, right - left),
    y: (value, height) => plotMargin.top + height * (1 - (value - low) / Math.max(1e-9, high - low)),
  };
}

function paintCurve(canvas) {
  const context = sizedContext(canvas);
  const width = canvas.clientWidth - plotMargin.left - plotMargin.right;
  const height = canvas.clientHeight - plotMargin.top - plotMargin.bottom;
  const points = curvePoints();
  const scales = curveScales(points);
  context.font = "12px system-ui, sans-serif";
  context.fillStyle = cssColor("--dim");
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const value of [scales.low, (scales.low + scales.high) / 2, scales.high]) context.fillText(value.toFixed(0) + " dB", plotMargin.left - 8, scales.y(value, height));
  context.textBaseline = "alphabetic";
  context.fillText(bytesText(scales.right), plotMargin.left + width, canvas.clientHeight - 6);
  context.textAlign = "left";
  context.fillText(bytesText(scales.left), plotMargin.left, canvas.clientHeight - 6);
  context.strokeStyle = cssColor("--accent");
  context.lineWidth = 2;
  context.beginPath();
  for (const point of points) context.lineTo(scales.x(point.bytes, width), scales.y(point.sqnr_db, height));
  context.stroke();
  for (const point of points.filter((each) => each.is_measured)) {
    const isChosen = point.bytes === data.chosen_rules.bytes;
    context.fillStyle = cssColor(isChosen ? "--ink" : "--accent");
    context.beginPath();
    context.arc(scales.x(point.bytes, width), scales.y(point.sqnr_db, height), isChosen ? 6 : 3.5, 0, 2 * Math.PI);
    context.fill();
  }
}

function showCurve() {
  const rules = data.chosen_rules;
  byId("curve").hidden = !rules || curvePoints().length < 2;
  if (byId("curve").hidden) return;
  byId("curve-lead").textContent = "Each step along the line stores one more layer in more bits, the one that removes the most noise for its bytes first. Dots were measured as whole programs; the large one is this program. The line adds up the noise that each layer makes alone.";
  const canvas = make("canvas", { role: "img", "aria-label": "Signal to noise against bytes, from " + bytesText(curvePoints()[0].bytes) + " to " + bytesText(rules.float_bytes) });
  tipOver(canvas, (event) => {
    const points = curvePoints();
    const scales = curveScales(points);
    const width = canvas.clientWidth - plotMargin.left - plotMargin.right;
    const away = (point) => Math.abs(scales.x(point.bytes, width) - event.offsetX);
    const near = points.reduce((best, point) => (away(point) < away(best) ? point : best));
    return [bytesText(near.bytes), near.sqnr_db.toFixed(1) + " dB" + (near.is_measured ? ", measured" : ", added up")];
  });
  whenSeen(canvas, () => paintCurve(canvas));
  byId("curve-plot").replaceChildren(make("figure", { class: "plot" }, canvas), ...rules.rules.map((rule) => make("p", { class: "flags" }, make("code", {}, "--quantize " + rule), copyButton("--quantize " + rule))));
}
