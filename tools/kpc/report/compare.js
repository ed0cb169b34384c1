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

function changesOf(sides) {
  const rows = new Map();
  for (const set of matched(sides)) {
    const all = set[0].length ? set[0] : set[1], longest = all.reduce((a, b) => b.us > a.us ? b : a);
    const key = JSON.stringify([collapsed(longest.scope), longest.title]);
    if (!rows.has(key)) rows.set(key, {longest, steps: [[], []], count: 0});
    const row = rows.get(key);
    row.count += 1;
    set.forEach((steps, number) => row.steps[number].push(...steps));
  }
  return [...rows.values()].map(row => ({
    ...row, times: row.steps.map(steps => sum(steps, step => step.us)),
    name: (layersText(row.steps.flat()) || row.longest.place || "") + (row.longest.layer || row.longest.place ? " · " : "") + row.longest.title + (row.count > 1 ? ` × ${row.count}` : ""),
  })).sort((a, b) => Math.abs(b.times[1] - b.times[0]) - Math.abs(a.times[1] - a.times[0]));
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
