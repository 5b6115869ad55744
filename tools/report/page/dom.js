// Helpers that create elements. Text is only added as text nodes, so that names of a model are never parsed as HTML.
const byId = (id) => document.getElementById(id);

// make("td", {class: "number"}, "12", make("b", {}, "nodes"))
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "onclick") element.addEventListener("click", value);
    else if (value !== false && value !== undefined && value !== null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

const link = (label, onclick, attributes) => make("button", { type: "button", class: "link", onclick, ...attributes }, label);
const swatch = (color) => make("span", { class: "swatch", style: "background:var(" + color + ")", "aria-hidden": "true" });
const cssColor = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const isNarrow = matchMedia("(max-width: 44rem)");

// Fills a table with its head and the first `most` rows, and a link that shows all; on phones, with the first four rows.
function fillTable(table, columns, rows, most, toRow) {
  const shown = isNarrow.matches ? Math.min(most, 4) : most;
  const head = make("tr", {}, ...columns.map(([name, kind]) => make("th", { class: kind, scope: "col" }, name)));
  const body = make("tbody");
  const add = (from, to) => rows.slice(from, to).forEach((row) => {
    const made = toRow(row);
    columns.forEach(([name], i) => { made.cells[i].dataset.column = name; }); // shown on phones, which hide the head
    body.append(made);
  });
  add(0, shown);
  table.replaceChildren(make("thead", {}, head), body);
  if (rows.length <= shown) return;
  const more = make("tr", { class: "more" }, make("td", { colspan: columns.length },
    link("Show " + count(rows.length - shown) + " more", () => { more.remove(); add(shown, rows.length); })));
  body.append(more);
}

const tip = byId("tip");
function showTip(x, y, lines) {
  tip.replaceChildren(...lines.filter(Boolean).map((line) => make("div", {}, line)));
  tip.hidden = false;
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - tip.offsetWidth - 8)) + "px";
  tip.style.top = Math.max(4, Math.min(y + 14, innerHeight - tip.offsetHeight - 8)) + "px";
}
const hideTip = () => { tip.hidden = true; };

// Shows a tooltip at the pointer while it is over the element. After a tap, the tooltip stays until the next event.
function tipOver(element, linesAt) {
  const show = (event) => {
    const lines = linesAt(event);
    if (lines) showTip(event.clientX, event.clientY, lines);
    else hideTip();
  };
  element.addEventListener("pointermove", show);
  element.addEventListener("pointerdown", show);
  element.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") hideTip(); });
}
addEventListener("pointerdown", hideTip, { capture: true });
addEventListener("scroll", hideTip, { capture: true, passive: true });

// Sizes a canvas to the screen's resolution, and returns its context in CSS pixels.
function sizedContext(canvas) {
  const ratio = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}
