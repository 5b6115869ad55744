// What is seen first is made first; the rest when there is time for it, or when it comes into sight.
const painters = [];

// Calls paint when the element is seen for the first time, and again when sizes or colors change.
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
  const labels = { portable: "ExecuTorch's own kernels", "no-kernel": "no kernel executes it", refused: "the kernel does not take it" };
  const byOwner = nodesByOwner();
  byId("legend").replaceChildren(...owners.map((owner) => make("li", {}, swatch(colorOfOwner(owner)), (labels[owner] || "taken by " + owner) + " ", make("b", {}, count(byOwner.get(owner))))),
    make("li", {}, make("span", { class: "edge", "aria-hidden": "true" }), "a value that crosses a border"));
}

showFigures();
showAdvice();
showLists();
showLegend();
buildModules();
showTree();
byId("tree").addEventListener("keydown", treeKey);
byId("find").addEventListener("input", (event) => find(event.target.value));
byId("details").append(make("p", { class: "dim" }, "Choose a node, a delegate or a module."));
addEventListener("keydown", (event) => { if (event.key === "Escape" && chosen) closeDetails(); });

const later = window.requestIdleCallback || ((work) => setTimeout(work, 1));
later(() => {
  startGraph();
  showReasons();
  showDelegates();
  showMemory();
  showTreemap();
  // Parts that the report does not have are not linked to.
  for (const each of document.querySelectorAll("nav a")) each.hidden = byId(each.hash.slice(1)).hidden;
  const selection = selectionOfAddress();
  if (selection) select(selection);
  new ResizeObserver(repaint).observe(document.body);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  addEventListener("beforeprint", repaint);
  performance.mark("ready");
  document.documentElement.dataset.ready = "yes";
});
