// Two artifacts side by side: what computes the same nodes is compared, however they are fused.

/** Sets of steps of both sides that share nodes of the model with each other. */
function matched(sides) {
  const parent = new Map();
  const find = key => {
    while (parent.get(key) !== key) key = parent.get(key);
    return key;
  };
  const keys = sides.map((side, number) => side.steps.map(step => `${number}:${step.number}`));
  const owner = new Map();
  sides.forEach((side, number) => side.steps.forEach((step, index) => {
    const key = keys[number][index];
    parent.set(key, key);
    // The node that a kernel is about: nodes that several kernels compute again would tie all of them together.
    for (const node of step.nodes) {
      const id = node;
      if (owner.has(id) && (owner.get(id).number !== number || step.nodes.length === 1)) parent.set(find(key), find(owner.get(id).key));
      else if (!owner.has(id)) owner.set(id, {key, number});
    }
  }));
  const sets = new Map();
  sides.forEach((side, number) => side.steps.forEach((step, index) => {
    const root = find(keys[number][index]);
    if (!sets.has(root)) sets.set(root, [[], []]);
    sets.get(root)[number].push(step);
  }));
  return [...sets.values()];
}

/** Rows of the comparison: sets that are equal but for their layer are one. What stands on one side alone is put beside the
 *  other side's work for the same module, where there is such work: a file may be exported again, with other nodes. */
function changesOf(sides) {
  const rows = new Map();
  const add = (key, set) => {
    if (!rows.has(key)) rows.set(key, [[], []]);
    set.forEach((steps, number) => rows.get(key)[number].push(...steps));
  };
  const longestOf = set => set.flat().reduce((a, b) => b.us > a.us ? b : a);
  for (const set of matched(sides)) {
    const longest = longestOf(set[0].length ? [set[0]] : [set[1]]);
    add(JSON.stringify([collapsed(longest.scope), longest.title]), set);
  }
  for (const [key, set] of [...rows])
    if (!set[0].length !== !set[1].length && longestOf(set).scope) {
      const scope = collapsed(longestOf(set).scope);
      rows.delete(key);
      add("module " + scope, set);
    }
  return [...rows.values()].map(set => {
    const longest = longestOf(set), where = layersText(set.flat()) || longest.place || "", count = Math.max(...set.map(steps => steps.filter(step => step.title === longest.title).length));
    return {longest, steps: set, times: set.map(steps => sum(steps, step => step.us)),
      name: (where ? where + " · " : "") + longest.title + (count > 1 ? ` × ${count}` : "")};
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
    `<b class="${how}">(${how === "soft" ? "the same" : `${esc(names[1])} is ${how === "faster" ? "faster" : "slower"}, ${times}`})</b>. Kernels that compute the same nodes stand in one row, those that changed most first.`);
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
