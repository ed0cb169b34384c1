// The bytes of intermediate values over the steps of a run, and between which steps the largest live.

function memorySection(side) {
  const memory = side.memory;
  const box = section("memory", "Memory over time", `Workspace ${bytesText(memory.workspace)}; at least ${bytesText(memory.least)} live at once; ${bytesText(memory.without_reuse)} if no memory were used twice. Weights ${bytesText(memory.weights)}.`);
  if (!side.live.length || !side.values.length) {
    box.insertAdjacentHTML("beforeend", "<p>No value is kept between steps.</p>");
    return box;
  }
  const plot = document.createElement("div");
  plot.className = "plot";
  box.append(plot);
  onWidth(plot, width => { plot.innerHTML = memoryPlot(side, width) + valuesPlot(side, width); });
  return box;
}

function memoryPlot(side, width) {
  const height = 170, left = 62, top = 16, bottom = 8, count = side.live.length;
  const most = Math.max(side.memory.workspace, ...side.live, 1);
  const X = step => left + step / count * (width - left - 2), Y = bytes => height - bottom - bytes / most * (height - top - bottom);
  const byStep = new Map(side.steps.map(step => [step.step, step]));
  let path = `M${X(0)} ${Y(0)}`, marks = "", svg = "";
  for (const part of [0, 0.5, 1])
    svg += `<line class="grid" x1="${left}" x2="${width}" y1="${Y(most * part)}" y2="${Y(most * part)}"/><text x="${left - 8}" y="${Y(most * part) + 4}" text-anchor="end">${bytesText(Math.round(most * part))}</text>`;
  const peak = side.live.indexOf(Math.max(...side.live));
  side.live.forEach((bytes, step) => {
    path += `V${Y(bytes)}H${X(step + 1)}`;
    const of = byStep.get(step);
    marks += `<rect class="mark" fill="transparent" style="stroke:none" x="${X(step)}" y="${top}" width="${X(step + 1) - X(step)}" height="${height - top - bottom}" ${tip(() => `<b>${bytesText(bytes)} live</b>in step ${step}${of ? ": " + esc(nameOf(of)) : ""}`)}/>`;
  });
  svg += `<path d="${path}V${Y(0)}Z" fill="var(--gemm)" fill-opacity=".35" stroke="var(--gemm)"/>`;
  if (side.memory.workspace) svg += `<line class="roof lower" x1="${left}" x2="${width}" y1="${Y(side.memory.workspace)}" y2="${Y(side.memory.workspace)}"/>`;
  const middle = (X(peak) + X(peak + 1)) / 2, right = middle > width - 90;
  svg += `<circle cx="${middle}" cy="${Y(side.live[peak])}" r="4" fill="var(--gemm)"/><text class="strong" x="${right ? middle - 8 : middle + 8}" y="${Y(side.live[peak]) + 16}" text-anchor="${right ? "end" : "start"}">peak</text>`;
  return `<svg width="${width}" height="${height}" role="img" aria-label="Memory over ${count} steps">${svg}${marks}</svg>`;
}

function valuesPlot(side, width) {
  const most = 24, row = 13, left = 62, count = side.live.length;
  const shown = [...side.values].sort((a, b) => b.bytes - a.bytes).slice(0, most).sort((a, b) => a.first - b.first || a.last - b.last);
  const X = step => left + step / count * (width - left - 2), largest = Math.max(...shown.map(value => value.bytes), 1);
  const marks = shown.map((value, number) =>
    `<rect class="mark" x="${X(value.first)}" y="${number * row}" width="${Math.max(3, X(value.last + 1) - X(value.first))}" height="${row - 3}" rx="2" fill="var(--gemm)" fill-opacity="${0.25 + 0.65 * value.bytes / largest}" ${tip(`<b>${esc(value.name || "a value")}</b>${bytesText(value.bytes)}, from step ${value.first} to ${value.last}`)}/>`).join("");
  const text = side.values.length > most ? `The ${most} largest of ${side.values.length} values` : `All ${side.values.length} values`;
  return `<p class="soft small" style="margin:10px 0 4px">${text}, between the steps where they live; the stronger the colour, the larger.</p><svg width="${width}" height="${shown.length * row}" role="img" aria-label="Values and their lives">${marks}</svg>`;
}
