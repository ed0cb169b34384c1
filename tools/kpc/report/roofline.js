// One dot a kernel, by the operations that it does with each byte and by how many it does a second.

function rooflineSection(side) {
  const groups = groupsOf(side, true).filter(group => group.flops > 0 && group.bytes > 0 && group.us > 0);
  const idle = side.steps.filter(step => !step.flops).length;
  const words = "The higher, the faster; the line is what the device can do at best. Under the slope memory limits a kernel, under the flat part arithmetic. Larger dots take more of the time." +
    (idle ? ` ${plural(idle, "step")} that only move data ${idle === 1 ? "is" : "are"} left out.` : "");
  const box = section("roofline", "Roofline", words);
  if (!groups.length) {
    box.insertAdjacentHTML("beforeend", "<p>No kernel computes with floating-point numbers.</p>");
    return box;
  }
  const plot = document.createElement("div");
  plot.className = "plot";
  box.append(plot);
  onWidth(plot, width => { plot.innerHTML = roofline(side, groups, width); });
  const kinds = [...new Set(groups.map(group => group.kind))];
  box.insertAdjacentHTML("beforeend", `<div class="legend" style="margin-top:8px">${kinds.map(kind => `<span>${swatch(kind)}${esc(kind)}</span>`).join("")}</div>` +
    (side.peaks.gbps ? `<p class="soft small" style="margin:8px 0 0">Peak rates: ${esc(side.peaks.of)}; memory ${bytesRate(side.peaks.gbps * 1e9)}, ` +
      side.peaks.rates.map(rate => `${esc(rate.name)} ${flopsRate(rate.tflops * 1e12)}`).join(", ") + ".</p>" : ""));
  return box;
}

const powerText = power => power < 0 ? (10 ** power).toFixed(-power) : 10 ** (power % 3) + ["", "k", "M", "G", "T", "P"][Math.floor(power / 3)];

function roofline(side, groups, width) {
  const narrow = width < 560, height = narrow ? 320 : 420;
  const left = 58, right = 14, top = 28, bottom = 40;
  const points = groups.map(group => ({group, x: group.flops / group.bytes, y: group.flops / group.us * 1e6}));
  const memory = side.peaks.gbps * 1e9, rates = side.peaks.rates.map(rate => ({...rate, y: rate.tflops * 1e12}));
  const highest = rates.length ? rates[rates.length - 1].y : 0;
  const xs = points.map(point => point.x), ys = points.map(point => point.y);
  const ridge = memory && highest ? highest / memory : 0;
  const x0 = Math.log10(Math.min(...xs)) - 0.25, x1 = Math.max(Math.log10(Math.max(...xs, ridge * 2)) + 0.35, x0 + 1);
  const y0 = Math.log10(Math.min(...ys)) - 0.25, y1 = Math.max(Math.log10(Math.max(...ys, highest)) + 0.25, y0 + 1);
  const X = value => left + (Math.log10(value) - x0) / (x1 - x0) * (width - left - right);
  const Y = value => height - bottom - (Math.log10(value) - y0) / (y1 - y0) * (height - top - bottom);
  let svg = "";
  const each = (from, to, most) => {
    const step = Math.ceil((to - from) / most), list = [];
    for (let power = Math.ceil(from); power <= to; power += step) list.push(power);
    return list;
  };
  for (const power of each(y0, y1, 7)) {
    const y = Y(10 ** power);
    svg += `<line class="grid" x1="${left}" x2="${width - right}" y1="${y}" y2="${y}"/><text x="${left - 8}" y="${y + 4}" text-anchor="end">${powerText(power)}</text>`;
  }
  for (const power of each(x0, x1, narrow ? 5 : 9)) {
    const x = X(10 ** power);
    svg += `<line class="grid" y1="${top}" y2="${height - bottom}" x1="${x}" x2="${x}"/><text x="${x}" y="${height - bottom + 17}" text-anchor="middle">${powerText(power)}</text>`;
  }
  svg += `<text x="${width - right}" y="${height - 6}" text-anchor="end">operations per byte (FLOP/B)</text><text x="${left - 8}" y="14" text-anchor="end">FLOP/s</text>`;
  let labels = "";
  if (memory) {
    rates.forEach((rate, number) => {
      const corner = Math.min(Math.max(rate.y / memory, 10 ** x0), 10 ** x1), last = number === rates.length - 1;
      const start = Math.max(10 ** x0, 10 ** y0 / memory);
      if (last) svg += `<path class="roof" d="M${X(start)} ${Y(start * memory)}L${X(corner)} ${Y(corner * memory)}L${width - right} ${Y(rate.y)}"/>`;
      else svg += `<path class="roof lower" d="M${X(corner)} ${Y(rate.y)}L${width - right} ${Y(rate.y)}"/>`;
      // Rates that are close together have their names on either side of their lines.
      const near = number + 1 < rates.length && Y(rate.y) - Y(rates[number + 1].y) < 30;
      labels += `<text class="halo ${last ? "strong" : ""}" x="${width - right - 2}" y="${Y(rate.y) + (last ? -6 : near ? 14 : -5)}" text-anchor="end">${esc(narrow ? rate.name.replace(" Tensor Cores", "").replace(" without", "") : rate.name)}</text>`;
    });
  }
  const most = Math.max(...groups.map(group => group.us)), whole = totalTime(side);
  for (const point of points.sort((a, b) => b.group.us - a.group.us))
    svg += `<circle class="mark" cx="${X(point.x)}" cy="${Y(point.y)}" r="${4 + 12 * Math.sqrt(point.group.us / most)}" fill="${colour(point.group.kind)}" fill-opacity=".82" ${tip(() => stepTip(point.group, whole))}/>`;
  return `<svg width="${width}" height="${height}" role="img" aria-label="Roofline of ${groups.length} kernels">${svg}${labels}</svg>`;
}
