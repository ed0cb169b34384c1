// What was measured, the figures on top, and what stands out.

const sourceNames = {measured: "measured", modelled: "modelled, not measured", recorded: "recorded times", emulated: "emulated"};
const fileName = path => path.split("/").pop();

function header(data, side) {
  const box = document.createElement("header");
  const names = data.sides.map(one => esc(fileName(one.artifact))).join(" <span class='soft'>beside</span> ");
  box.innerHTML = `<h1>${names}</h1>
    <div class="facts soft small"><span class="source ${side.source}">${sourceNames[side.source]}</span>
    <span>${esc(side.target)}</span><span>${esc(side.device)}</span>${side.dims ? `<span>${esc(side.dims)}</span>` : ""}<span>kpc ${esc(data.kpc)}</span></div>
    <p class="soft small" style="margin-top:8px">${esc(side.source_text)}</p>`;
  return box;
}

function tiles(side) {
  const whole = totalTime(side), least = sum(side.steps, step => Math.min(step.us, Math.max(step.memory_us, step.compute_us)));
  const list = [];
  const add = (name, value, more) => list.push(`<div class="tile"><span>${name}</span><b>${value}</b><span>${more || "&nbsp;"}</span></div>`);
  if (side.latency_us) add("latency, median", microseconds(side.latency_us.p50), `90 %: ${microseconds(side.latency_us.p90)}`);
  if (side.samples_per_second) add("throughput", countText(side.samples_per_second) + "/s", "samples");
  add("kernels, one by one", microseconds(whole), `${plural(side.steps.length, "step")}, ${groupsOf(side, true).length} different`);
  if (least > 0) add("at the peak rates", microseconds(least), `${percent(least, whole)} of the roofline`);
  add("workspace", bytesText(side.memory.workspace), `${bytesText(side.memory.without_reuse)} without reuse`);
  add("weights", bytesText(side.memory.weights));
  const box = document.createElement("div");
  box.className = "tiles";
  box.innerHTML = list.join("");
  return box;
}

/** Sentences, the worst first: what fell to slow paths stands on top. */
function findings(side) {
  const whole = totalTime(side), list = [];
  const share = steps => sum(steps, step => step.us);
  const by = limit => side.steps.filter(step => step.limit === limit);
  for (const text of side.slow_paths) {
    const [what, todo] = text.split(" What to do: ");
    list.push(["slow", "Slow path: ", what, todo]);
  }
  const scalar = by("scalar");
  if (scalar.length && !side.slow_paths.length)
    list.push(["slow", "Slow path: ", `${plural(scalar.length, "launch", "launches")} multiply on scalar units, not on Tensor Cores: ${percent(share(scalar), whole)} of the time.`, scalar[0].try]);
  const spills = by("spills");
  if (spills.length)
    list.push(["slow", "Spilled registers: ", `${plural(spills.length, "launch", "launches")}, ${percent(share(spills), whole)} of the time.`, spills[0].try]);
  // On a machine with other work the peaks are measured too low.
  const above = side.steps.filter(step => step.compute_us > 1.15 * step.us && step.us > 20);
  if (side.source === "measured" && above.length > 2 && above.length > 0.1 * side.steps.filter(step => step.compute_us > 0).length)
    list.push(["some", "The peak rates are too low: ", `${plural(above.length, "launch", "launches")} computed faster than what was measured as this processor's best.`, "Other work ran beside the measurement; measure again on an idle machine."]);
  const copies = by("copy");
  if (copies.length && share(copies) > 0.02 * whole)
    list.push(["some", "Copies: ", `${plural(copies.length, "step")} that compute nothing take ${percent(share(copies), whole)} of the time.`, copies[0].try]);
  const launches = by("launch");
  if (share(launches) > 0.15 * whole)
    list.push(["some", "Short kernels: ", `${plural(launches.length, "launch", "launches")} are so short that starting them is most of their time, ${percent(share(launches), whole)} in all.`, launches[0].try]);
  const moves = side.steps.filter(step => step.kind === "movement");
  if (share(moves) > 0.08 * whole)
    list.push(["some", "Moved data: ", `${plural(moves.length, "launch", "launches")} only move elements, ${percent(share(moves), whole)} of the time.`, "What was not fused, and why, stands below."]);
  const late = groupsOf(side, true).filter(group => group.limit === "latency").sort((a, b) => (b.us - b.least) - (a.us - a.least))[0];
  if (late && late.us - late.least > 0.08 * whole)
    list.push(["some", "Most to gain: ", `${fullName(late)} takes ${microseconds(late.us)}, the peak rates would allow ${microseconds(late.least)}. ${late.longest.why}`, late.longest.try]);
  const longest = groupsOf(side, true).sort((a, b) => b.us - a.us)[0];
  if (longest && side.steps.length > 4 && longest.us > 0.35 * whole && longest !== late && longest.key !== late?.key)
    list.push(["some", "One kernel: ", `${fullName(longest)} takes ${percent(longest.us, whole)} of the time. ${longest.longest.why}`, longest.longest.try]);
  if (!list.length) list.push(["fine", "Nothing stands out: ", "no slow paths, no spilled registers, no large share of short kernels or copies.", ""]);
  return list;
}

function standsOut(side) {
  const box = section("findings", "What stands out");
  box.insertAdjacentHTML("beforeend", `<ul class="findings">${findings(side).map(([how, head, what, todo]) =>
    `<li class="${how}"><b>${esc(head)}</b>${esc(what)}${todo ? ` <span class="soft">${esc(todo[0].toUpperCase() + todo.slice(1))}</span>` : ""}</li>`).join("")}</ul>`);
  return box;
}

function timeByKind(side) {
  const whole = totalTime(side), kinds = new Map();
  for (const step of side.steps) kinds.set(step.kind, (kinds.get(step.kind) || 0) + step.us);
  const list = [...kinds].filter(([, us]) => us > 0).sort((a, b) => b[1] - a[1]);
  const box = section("kinds", "Where the time goes");
  box.insertAdjacentHTML("beforeend", `<div class="stack">${list.map(([kind, us]) =>
    `<i style="flex:${us};background:${colour(kind)}" ${tip(`<b>${esc(kind)}</b>${tipRows([["time", microseconds(us)], ["share", percent(us, whole)]])}`)}></i>`).join("")}</div>
    <div class="legend">${list.map(([kind, us]) => `<span>${swatch(kind)}${esc(kind)} <span class="soft">${percent(us, whole)}</span></span>`).join("")}</div>`);
  return box;
}
