// Builds the visible part of the page first; the rest when the browser is idle, or when it becomes visible.
const painters = [];

// Calls paint when the element becomes visible, and again when sizes or colors change.
function whenSeen(element, paint) {
  let isSeen = false;
  painters.push(() => { if (isSeen) paint(); });
  new IntersectionObserver((entries, observer) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    isSeen = true;
    paint();
  }, { rootMargin: "300px" }).observe(element);
}

function repaint() {
  drawGraph();
  painters.forEach((paint) => paint());
}

function showLegend() {
  const labels = { portable: "ExecuTorch's own kernels", "no-kernel": "no kernel for their ops", refused: "rejected by their kernels" };
  const byOwner = nodesByOwner();
  byId("legend").replaceChildren(...owners.map((owner) => make("li", {}, swatch(colorOfOwner(owner)), (labels[owner] || "delegated to " + owner) + " ", make("b", {}, count(byOwner.get(owner))))),
    make("li", {}, make("span", { class: "edge", "aria-hidden": "true" }), "a value that crosses a delegate border"));
}

showFigures();
showAdvice();
showLists();
showLegend();
buildModules();
showTree();
byId("tree").addEventListener("keydown", treeKey);
byId("find").addEventListener("input", (event) => find(event.target.value));
byId("details").append(make("p", { class: "dim" }, "Select a node, a delegate or a module."));
addEventListener("keydown", (event) => { if (event.key === "Escape" && chosen) closeDetails(); });

const later = window.requestIdleCallback || ((work) => setTimeout(work, 1));
later(() => {
  startGraph();
  showReasons();
  showDelegates();
  showMemory();
  showTreemap();
  showPlans();
  showCurve();
  // Hides links to sections without content.
  for (const each of document.querySelectorAll("nav a")) each.hidden = byId(each.hash.slice(1)).hidden;
  const selection = selectionOfAddress();
  if (selection) select(selection);
  new ResizeObserver(repaint).observe(document.body);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  addEventListener("beforeprint", repaint);
  performance.mark("ready");
  document.documentElement.dataset.ready = "yes";
});
