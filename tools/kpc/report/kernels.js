// All kernels as a table to filter and sort; a row opens.

const columns = [
  {id: "name", title: "kernel", of: fullName, text: true},
  {id: "us", title: "time", of: group => group.us},
  {id: "share", title: "share", of: group => group.us, wide: true},
  {id: "roof", title: "of roofline", of: group => group.least > 0 && group.us > 0 ? group.least / group.us : -1},
  {id: "flops", title: "FLOP/s", of: group => group.us > 0 ? group.flops / group.us : 0, wide: true},
  {id: "bytes", title: "bytes/s", of: group => group.us > 0 ? group.bytes / group.us : 0, wide: true},
  {id: "limit", title: "limit", of: group => group.limit, text: true},
];

function kernelsSection(side) {
  const box = section("kernels", "Kernels", "Equal kernels of repeated layers are one row. A row opens and says what it computes, what limits it, and what to try.");
  const state = {sort: "us", down: true, together: true, words: "", kind: "", limit: "", open: new Set()};
  const options = (list, all) => `<option value="">${all}</option>` + list.map(one => `<option>${esc(one)}</option>`).join("");
  const bar = document.createElement("div");
  bar.className = "bar";
  bar.innerHTML = `<input type="search" placeholder="Filter by name, layer or node" aria-label="Filter">
    <select data-by="kind" aria-label="Kind">${options([...new Set(side.steps.map(step => step.kind))].sort(), "all kinds")}</select>
    <select data-by="limit" aria-label="Limit">${options([...new Set(side.steps.map(step => step.limit))].sort(), "all limits")}</select>
    <button data-together aria-pressed="true">Equal ones together</button>`;
  const table = document.createElement("table");
  const count = document.createElement("p");
  count.className = "soft small";
  count.style.margin = "8px 0 0";
  box.append(bar, count, table);
  const draw = () => {
    const whole = totalTime(side), all = groupsOf(side, state.together), most = Math.max(...all.map(group => group.us), 1e-9);
    const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
    const text = group => [fullName(group), ...group.steps.flatMap(step => [step.scope, step.kernel || "", step.schedule || "", ...step.nodes])].join(" ").toLowerCase();
    const shown = all.filter(group => (!state.kind || group.kind === state.kind) && (!state.limit || group.steps.some(step => step.limit === state.limit)) &&
      (!words.length || words.every(word => text(group).includes(word))));
    const column = columns.find(one => one.id === state.sort);
    shown.sort((a, b) => (column.text ? column.of(a).localeCompare(column.of(b), "en", {numeric: true}) : column.of(a) - column.of(b)) * (state.down ? -1 : 1) || a.steps[0].number - b.steps[0].number);
    count.textContent = `${plural(shown.length, "row")} of ${all.length}, ${microseconds(sum(shown, group => group.us))}, ${percent(sum(shown, group => group.us), whole)} of the time`;
    const head = columns.map(one => `<th class="${one.text ? "" : "num"} ${one.wide ? "wide" : ""}" aria-sort="${one.id === state.sort ? state.down ? "descending" : "ascending" : "none"}"><button data-sort="${one.id}">${one.title}${one.id === state.sort ? state.down ? " ↓" : " ↑" : ""}</button></th>`).join("");
    table.innerHTML = `<thead><tr>${head}</tr></thead><tbody>${shown.map(group => kernelRow(side, group, whole, most, state.open.has(group.key))).join("")}</tbody>`;
  };
  bar.addEventListener("input", event => {
    if (event.target.dataset.by) state[event.target.dataset.by] = event.target.value; else state.words = event.target.value;
    draw();
  });
  bar.addEventListener("click", event => {
    const button = event.target.closest("button[data-together]");
    if (!button) return;
    state.together = !state.together;
    state.open.clear();
    button.setAttribute("aria-pressed", state.together);
    draw();
  });
  table.addEventListener("click", event => {
    const sort = event.target.closest("button[data-sort]"), row = event.target.closest("tr.group");
    if (sort) {
      const column = columns.find(one => one.id === sort.dataset.sort);
      state.down = state.sort === column.id ? !state.down : !column.text;
      state.sort = column.id;
    } else if (row) {
      if (state.open.has(row.dataset.key)) state.open.delete(row.dataset.key); else state.open.add(row.dataset.key);
    } else return;
    draw();
  });
  table.addEventListener("keydown", event => {
    if ((event.key === "Enter" || event.key === " ") && event.target.matches("tr.group")) {
      event.preventDefault();
      event.target.click();
    }
  });
  draw();
  return box;
}

function kernelRow(side, group, whole, most, open) {
  const where = [group.where, group.place].filter(Boolean).join(" · ");
  const row = `<tr class="group" data-key="${esc(group.key)}" tabindex="0" aria-expanded="${open}">
    <td><div class="title">${swatch(group.kind)}${esc(group.title)}${group.count > 1 ? ` <span class="times">×&nbsp;${group.count}</span>` : ""}</div>${where ? `<div class="where">${esc(where)}</div>` : ""}</td>
    <td class="num">${microseconds(group.us)}</td>
    <td class="num share wide">${percent(group.us, whole)}<i style="width:${group.us / most * 100}%;background:${colour(group.kind)}"></i></td>
    <td class="num">${roofShare(group.least, group.us)}</td>
    <td class="num wide">${group.flops && group.us > 0 ? flopsRate(group.flops / group.us * 1e6) : "–"}</td>
    <td class="num wide">${group.bytes && group.us > 0 ? bytesRate(group.bytes / group.us * 1e6) : "–"}</td>
    <td><span class="pill ${esc(group.limit)}">${esc(group.limit)}</span></td></tr>`;
  return open ? row + `<tr class="more"><td colspan="7">${kernelDetail(side, group)}</td></tr>` : row;
}

/** What the compiler said of the nodes, of what it did not fuse. */
function remarksOf(side, group) {
  const nodes = new Set(group.steps.flatMap(step => step.nodes));
  return side.not_fused.filter(text => [...text.matchAll(/'([^']*)'/g)].some(match => nodes.has(match[1])));
}

function kernelDetail(side, group) {
  const step = group.longest, facts = [["limit", step.why], ["try", step.try]];
  if (group.count > 1) facts.push(["launches", `${group.count}, ${microseconds(Math.min(...group.steps.map(one => one.us)))} to ${microseconds(step.us)} each`]);
  facts.push(["moves", `${bytesText(step.bytes)}` + (step.memory_us ? `, ${microseconds(step.memory_us)} at the memory's peak rate` : "")]);
  if (step.flops) facts.push(["computes", `${countText(step.flops)} FLOP` + (step.compute_us ? `, ${microseconds(step.compute_us)} at the peak rate` : "")]);
  if (step.schedule) facts.push(["schedule", step.schedule]);
  if (step.expected) facts.push(["cost model", step.expected]);
  if (step.types) facts.push(["types", step.types]);
  if (step.registers) facts.push(["registers", String(step.registers) + (step.spilled ? `, ${step.spilled} bytes spilled` : "")]);
  if (step.scope) facts.push(["module", [...new Set(group.steps.map(one => one.scope))].slice(0, 12).join(", ")]);
  const nodes = [...new Set(group.steps.flatMap(one => one.nodes))];
  if (nodes.length) facts.push(["nodes", nodes.slice(0, 24).join(", ") + (nodes.length > 24 ? ` and ${nodes.length - 24} more` : "")]);
  const remarks = remarksOf(side, group);
  if (remarks.length) facts.push(["not fused", remarks.slice(0, 4).join("\n") + (remarks.length > 4 ? `\nAnd ${remarks.length - 4} more, below.` : "")]);
  return `<dl class="detail">${facts.filter(([, text]) => text).map(([name, text]) => `<dt>${esc(name)}</dt><dd>${esc(text)}</dd>`).join("")}</dl>`;
}
