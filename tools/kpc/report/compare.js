// Two artifacts side by side: what computes the same part of the model is compared, however it is fused.

/** Keys of a side's steps that a step of the other side has too, where it does the same work: the module that it is of; without
 *  modules, nodes. Steps that share a node are one, but for nodes that several kernels of a side compute again. */
function partsOf(sides) {
  const named = sides.every(side => sum(side.steps.filter(step => step.scope), step => step.us) > 0.5 * totalTime(side));
  if (named) return sides.map(side => side.steps.map(step => step.scope || step.title));
  const counts = sides.map(side => {
    const count = new Map();
    for (const node of side.steps.flatMap(step => step.nodes)) count.set(node, (count.get(node) || 0) + 1);
    return count;
  });
  const parent = new Map(), find = key => {
    while (parent.has(key) && parent.get(key) !== key) key = parent.get(key);
    return key;
  };
  const keys = sides.map((side, number) => side.steps.map(step => `step ${number} ${step.number}`));
  sides.forEach((side, number) => side.steps.forEach((step, index) => {
    for (const node of step.nodes)
      if (counts.every(count => (count.get(node) || 0) <= 1)) {
        const [a, b] = [find(keys[number][index]), find("node " + node)];
        if (a !== b) parent.set(a, b);
      }
  }));
  return keys.map(list => list.map(find));
}

/** Rows of the comparison; parts of repeated layers are one. */
function changesOf(sides) {
  const rows = new Map(), parts = partsOf(sides);
  sides.forEach((side, number) => side.steps.forEach((step, index) => {
    const key = collapsed(parts[number][index]);
    if (!rows.has(key)) rows.set(key, [[], []]);
    rows.get(key)[number].push(step);
  }));
  return [...rows.values()].map(set => {
    const all = set.flat(), longest = all.reduce((a, b) => b.us > a.us ? b : a);
    const where = [layersText(all), longest.place].filter(Boolean).join(" · ");
    const more = new Set(all.map(step => step.title)).size > 1 ? " and more" : "";
    return {longest, steps: set, times: set.map(steps => sum(steps, step => step.us)), name: (where ? where + " · " : "") + longest.title + more};
  }).sort((a, b) => Math.abs(b.times[1] - b.times[0]) - Math.abs(a.times[1] - a.times[0]));
}

function changeText(first, second) {
  if (!(first > 0) || !(second > 0)) return ["", first > 0 ? "gone" : "new"];
  const times = first / second;
  return Math.abs(times - 1) < 0.005 ? ["soft", "same"] : times > 1 ? ["faster", times.toFixed(2) + "×"] : ["slower", times.toFixed(2) + "×"];
}

function compareSection(data) {
  const sides = data.sides, names = sides.map(side => fileName(side.artifact)), totals = sides.map(totalTime);
  const [how, times] = changeText(...totals);
  const box = section("compare", "Side by side", `All kernels: <b>${esc(names[0])}</b> ${microseconds(totals[0])}, <b>${esc(names[1])}</b> ${microseconds(totals[1])} ` +
    `<b class="${how}">(${how === "soft" ? "the same" : `${esc(names[1])} is ${how === "faster" ? "faster" : "slower"}, ${times}`})</b>. What computes the same part of the model stands in one row; what changed most is first.`);
  const rows = changesOf(sides), most = Math.max(1e-9, ...rows.map(row => Math.abs(row.times[1] - row.times[0])));
  const list = document.createElement("div");
  const line = row => {
    const change = row.times[1] - row.times[0], [tone, text] = changeText(...row.times), wide = Math.abs(change) / most * 50;
    const detail = () => `<b>${esc(row.name)}</b>${tipRows(row.steps.map((steps, number) => [names[number], `${microseconds(row.times[number])} in ${plural(steps.length, "launch", "launches")}`]))}`;
    return `<div class="change" ${tip(detail)}><span class="name">${swatch(row.longest.kind)}${esc(row.name)}</span>
      <span class="track"><i class="${change < 0 ? "fill-faster" : "fill-slower"}" style="width:${wide}%;${change < 0 ? "right:50%" : "left:50%"}"></i></span>
      <span class="num before">${microseconds(row.times[0])}</span><span class="num after">${microseconds(row.times[1])}</span><span class="num ${tone}">${text}</span></div>`;
  };
  const draw = count => {
    list.innerHTML = `<div class="change soft small"><span class="name">what</span><span class="track" style="background:none;text-align:center;height:auto">faster · slower</span><span class="num before">${esc(names[0])}</span><span class="num after">${esc(names[1])}</span><span class="num">speedup</span></div>` +
      rows.slice(0, count).map(line).join("") + (rows.length > count ? `<div class="bar"><button>All ${rows.length}</button></div>` : "");
  };
  list.style.marginTop = "12px";
  list.addEventListener("click", event => { if (event.target.closest("button")) draw(rows.length); });
  draw(16);
  box.append(list);
  return box;
}
