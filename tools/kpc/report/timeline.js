// One run from left to right. Steps that do not wait for each other stand in lanes of their own.

/** Where each step begins: when the last of those that it waits for has ended. */
function earliest(side) {
  const ends = new Map(), placed = [];
  for (const step of side.steps) {
    const start = Math.max(0, ...step.waits.map(wait => ends.get(wait) || 0));
    ends.set(step.step, start + step.us);
    placed.push({step, start, end: start + step.us});
  }
  return placed;
}

function inOrder(side) {
  let now = 0;
  return side.steps.map(step => {
    const start = now;
    now += step.us;
    return {step, start, end: now};
  });
}

function intoLanes(placed) {
  const lanes = [];
  for (const one of [...placed].sort((a, b) => a.start - b.start || a.step.number - b.step.number)) {
    let lane = lanes.findIndex(end => end <= one.start + 1e-9);
    if (lane < 0) lane = lanes.push(0) - 1;
    lanes[lane] = one.end;
    one.lane = lane;
  }
  return lanes.length;
}

/** The steps that decide when the run ends: each begins when the one before it ends. */
function criticalPath(placed) {
  const byStep = new Map(placed.map(one => [one.step.step, one]));
  const path = new Set();
  let one = placed.reduce((a, b) => b.end > a.end ? b : a, placed[0]);
  while (one) {
    path.add(one.step.step);
    one = one.step.waits.map(wait => byStep.get(wait)).filter(Boolean).reduce((a, b) => !a || b.end > a.end ? b : a, null);
  }
  return path;
}

function timelineSection(side) {
  const branches = earliest(side), lanes = intoLanes(branches), path = criticalPath(branches);
  const whole = totalTime(side), longest = Math.max(0, ...branches.map(one => one.end));
  const box = section("timeline", "One run", lanes > 1
    ? `${plural(lanes, "branch", "branches")} at most may run side by side. One after the other the steps take ${microseconds(whole)}, the longest chain of them ${microseconds(longest)}.` +
      (side.gpu ? " The GPU's graph has these branches; kernels that fill the chip still take turns." : " The host runs steps one after the other, each on all threads.")
    : `Each step waits for the one before it; together they take ${microseconds(whole)}.`);
  const bar = document.createElement("div");
  bar.className = "bar";
  bar.innerHTML = (lanes > 1 ? `<button data-mode="branches">As branches</button><button data-mode="order">One by one</button>` : "") +
    `<button data-zoom="1">Whole run</button><button data-zoom="4">4×</button><button data-zoom="16">16×</button>`;
  const scroll = document.createElement("div");
  scroll.className = "plot scroll";
  box.append(bar, scroll);
  const state = {mode: lanes > 1 && side.gpu ? "branches" : "order", zoom: 1, width: 0};
  const draw = () => {
    const middle = (scroll.scrollLeft + state.width / 2) / Math.max(1, scroll.scrollWidth);
    const placed = state.mode === "branches" ? branches : inOrder(side);
    scroll.innerHTML = timeline(side, placed, state.mode === "branches" ? path : new Set(), state.width, state.zoom);
    scroll.scrollLeft = middle * scroll.scrollWidth - state.width / 2;
    for (const button of bar.children)
      button.setAttribute("aria-pressed", button.dataset.mode ? button.dataset.mode === state.mode : Number(button.dataset.zoom) === state.zoom);
  };
  bar.addEventListener("click", event => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.mode) state.mode = button.dataset.mode; else state.zoom = Number(button.dataset.zoom);
    draw();
  });
  // Its width is that of what is seen, not of what is scrolled.
  onWidth(bar, width => { state.width = width; draw(); });
  return box;
}

/** As much of a text as `room` pixels hold in a label's font, whatever the system has for it; "" where that is too little to read. */
function fitted(text, room, pen) {
  const fits = length => pen.measureText(length < text.length ? text.slice(0, length) + "…" : text).width <= room;
  let length = text.length;
  while (length > 3 && !fits(length)) --length;
  return !fits(length) ? "" : length < text.length ? text.slice(0, length) + "…" : text;
}

function timeline(side, placed, path, shown, zoom) {
  const width = shown * zoom, lanes = intoLanes(placed), lane = 30, top = 24;
  const end = Math.max(1e-9, ...placed.map(one => one.end)), X = time => time / end * (width - 2) + 1;
  const height = top + lanes * lane + 6, whole = totalTime(side);
  const names = new Map(side.steps.map(step => [step.step, nameOf(step)]));
  let svg = "";
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `11px ${getComputedStyle(document.body).fontFamily}`;
  const rough = end / Math.max(2, width / 110), power = 10 ** Math.floor(Math.log10(rough));
  const tick = [1, 2, 5, 10].map(times => times * power).find(step => step >= rough);
  for (let time = 0; time <= end; time += tick) {
    const last = X(time) > width - 44;
    svg += `<line class="grid" x1="${X(time)}" x2="${X(time)}" y1="16" y2="${height}"/>` +
      (last ? "" : `<text x="${X(time)}" y="12" text-anchor="${time ? "middle" : "start"}">${microseconds(time)}</text>`);
  }
  for (const {step, start, end: stop, lane: row} of placed) {
    const x = X(start), wide = Math.max(1, X(stop) - x - (X(stop) - x > 3 ? 1 : 0)), y = top + row * lane;
    const more = () => `<b>${esc(nameOf(step))}</b>${tipRows([["time", `${microseconds(step.us)}, ${percent(step.us, whole)}`], ["from", microseconds(start)],
      ["limit", step.limit], ["waits for", step.waits.map(wait => names.get(wait)).filter(Boolean).slice(0, 4).join("; ") || "nothing"]])}`;
    svg += `<rect class="mark${path.has(step.step) ? " path" : ""}" x="${x}" y="${y}" width="${wide}" height="${lane - 6}" rx="2" fill="${colour(step.kind)}" ${tip(more)}/>`;
    const label = fitted(step.title, wide - 8, pen);
    if (label) svg += `<text class="label" x="${x + 5}" y="${y + 16}">${esc(label)}</text>`;
    if (path.has(step.step)) svg += `<rect x="${x}" y="${y + lane - 5}" width="${wide}" height="2" fill="var(--ink)"/>`;
  }
  return `<svg width="${width}" height="${height}" role="img" aria-label="Timeline of ${placed.length} steps">${svg}</svg>` +
    (path.size && lanes > 1 ? `<p class="soft small" style="margin:6px 0 0">Underlined: the chain of steps that decides when the run ends.</p>` : "");
}
