// The module tree: a row for each module with the owners of its nodes. Children are created when a module is opened.
let rootModule = null;
const moduleByPath = new Map();
const maxChildren = 200;

function newModule(name, path, parent) {
  const module = { name, path, parent, modules: new Map(), nodes: [], counts: new Array(owners.length).fill(0), macs: 0, size: 0, row: null, children: null };
  moduleByPath.set(path, module);
  return module;
}

function buildModules() {
  rootModule = newModule("program", "", null);
  const bySource = new Map();
  for (let node = 0; node < nodeCount; ++node) {
    const source = nodes.source[node];
    let module = bySource.get(source);
    if (!module) {
      module = rootModule;
      for (const part of sourceOf(node).module.split(".").filter(Boolean)) {
        const path = module.path ? module.path + "." + part : part;
        if (!module.modules.has(part)) module.modules.set(part, newModule(part, path, module));
        module = module.modules.get(part);
      }
      bySource.set(source, module);
    }
    module.nodes.push(node);
    const owner = owners.indexOf(ownerOf(node));
    for (let above = module; above; above = above.parent) {
      ++above.counts[owner];
      ++above.size;
      above.macs += macsOf(node);
    }
  }
}

function ownerBar(module) {
  const bar = make("span", { class: "owners", title: owners.map((owner, i) => owner + ": " + count(module.counts[i])).join(", ") });
  module.counts.forEach((number, i) => { if (number) bar.append(make("span", { style: "flex-grow:" + number + ";background:var(" + colorOfOwner(owners[i]) + ")" })); });
  return bar;
}

function moduleRow(module) {
  const isLeaf = module.size === 0;
  const row = make("div", { role: "treeitem", class: "row", tabindex: "-1", "aria-expanded": isLeaf ? null : "false", "aria-level": depthOf(module) },
    make("span", { class: "twist", "aria-hidden": "true" }), make("span", { class: "label" }, module.name), ownerBar(module), make("span", { class: "number" }, count(module.size)));
  row.style.setProperty("--depth", depthOf(module) - 1);
  row.addEventListener("click", () => { toggleModule(module); focusRow(row); select({ kind: "module", id: module.path }); });
  row.module = module;
  module.row = row;
  return row;
}

function depthOf(module) {
  let depth = 1;
  for (let above = module.parent; above; above = above.parent) ++depth;
  return depth;
}

function nodeRow(node, depth) {
  const row = make("div", { role: "treeitem", class: "row node", tabindex: "-1", "aria-level": depth },
    make("span", { class: "twist" }), swatch(colorOf(node)), make("span", { class: "label" }, nodes.name[node]), make("span", { class: "dim op" }, opOf(node)));
  row.style.setProperty("--depth", depth - 1);
  row.addEventListener("click", () => { focusRow(row); select({ kind: "node", id: node }); });
  row.node = node;
  return row;
}

function openModule(module) {
  if (module.row.getAttribute("aria-expanded") === "true") return;
  module.row.setAttribute("aria-expanded", "true");
  if (!module.children) {
    module.children = make("div", { role: "group" });
    const parts = [...module.modules.values()].map((child) => () => moduleRow(child)).concat(module.nodes.map((node) => () => nodeRow(node, depthOf(module) + 1)));
    const add = (from) => {
      parts.slice(from, from + maxChildren).forEach((part) => module.children.append(part()));
      if (parts.length <= from + maxChildren) return;
      const more = link("Show " + count(Math.min(maxChildren, parts.length - from - maxChildren)) + " more", () => { more.remove(); add(from + maxChildren); }, { class: "link more" });
      module.children.append(more);
    };
    add(0);
    module.row.after(module.children);
  }
  module.children.hidden = false;
}

function closeModule(module) {
  module.row.setAttribute("aria-expanded", "false");
  if (module.children) module.children.hidden = true;
}
const toggleModule = (module) => (module.row.getAttribute("aria-expanded") === "true" ? closeModule(module) : openModule(module));

function focusRow(row) {
  byId("tree").querySelectorAll('[tabindex="0"]').forEach((other) => other.setAttribute("tabindex", "-1"));
  row.setAttribute("tabindex", "0");
  row.focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

function treeKey(event) {
  const row = event.target.closest(".row");
  if (!row) return;
  const rows = [...byId("tree").querySelectorAll(".row")].filter((each) => each.offsetParent !== null);
  const at = rows.indexOf(row);
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) { if (rows[at + step]) focusRow(rows[at + step]); }
  else if (event.key === "Home") focusRow(rows[0]);
  else if (event.key === "End") focusRow(rows[rows.length - 1]);
  else if (event.key === "ArrowRight" && row.module) openModule(row.module);
  else if (event.key === "ArrowLeft" && row.module && row.getAttribute("aria-expanded") === "true") closeModule(row.module);
  else if (event.key === "ArrowLeft") { const above = (row.module ? row.module.parent : row.parentElement.previousElementSibling.module); if (above && above.row) focusRow(above.row); }
  else if (event.key === "Enter" || event.key === " ") row.click();
  else return;
  event.preventDefault();
}

// Shows search results in place of the tree while the search field has text.
function find(words) {
  const wanted = words.trim().toLowerCase();
  const tree = byId("tree");
  if (!wanted) { showTree(); return; }
  const found = [];
  for (let node = 0; node < nodeCount && found.length < maxChildren; ++node) {
    const source = sourceOf(node);
    const all = [nodes.name[node], opOf(node), source.module, placeText(source), ownerOf(node)].join(" ").toLowerCase();
    if (all.includes(wanted)) found.push(node);
  }
  tree.replaceChildren(make("p", { class: "dim found" }, found.length === maxChildren ? "The first " + maxChildren + " found" : plural(found.length, "node") + " found"), ...found.map((node) => nodeRow(node, 1)));
  const first = tree.querySelector(".row");
  if (first) first.setAttribute("tabindex", "0");
}

function showTree() {
  const tree = byId("tree");
  for (const module of moduleByPath.values()) module.row = module.children = null;
  tree.replaceChildren(moduleRow(rootModule));
  rootModule.row.setAttribute("tabindex", "0");
  let open = rootModule;
  openModule(open);
  while (open.modules.size === 1 && open.nodes.length === 0) { open = [...open.modules.values()][0]; openModule(open); }
}

// Opens the modules that contain the selection, unless search results hide them.
function openPathTo(selection) {
  let module = moduleByPath.get(selection.kind === "module" ? selection.id : sourceOf(selection.id).module);
  const above = [];
  for (module = module && (selection.kind === "module" ? module.parent : module); module; module = module.parent) above.unshift(module);
  for (const each of above) if (each.row && each.row.isConnected) openModule(each);
}

function markInTree(selection) {
  byId("tree").querySelectorAll(".row.chosen").forEach((row) => row.classList.remove("chosen"));
  if (!selection || selection.kind === "delegate") return;
  openPathTo(selection);
  for (const row of byId("tree").querySelectorAll(".row")) {
    const isChosen = selection.kind === "node" ? row.node === selection.id : selection.kind === "module" && row.module && row.module.path === selection.id;
    if (!isChosen) continue;
    row.classList.add("chosen");
    const tree = byId("tree"); // scrolls only the tree, not the page
    const top = row.offsetTop - tree.offsetTop;
    if (top < tree.scrollTop || top + row.offsetHeight > tree.scrollTop + tree.clientHeight) tree.scrollTop = top - tree.clientHeight / 2;
  }
}
