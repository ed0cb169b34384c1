// One tooltip for all marks: by pointer, by touch, and by keyboard.

const tips = new Map();
let tipCount = 0;

/** Attributes for a mark; `html` gives the tooltip's content when it is wanted. */
function tip(html) {
  tips.set(String(++tipCount), html);
  return `data-tip="${tipCount}" tabindex="0"`;
}

function tipRows(rows) {
  return `<table>${rows.map(([name, text]) => `<tr><td>${esc(name)}</td><td>${esc(text)}</td></tr>`).join("")}</table>`;
}

function stepTip(group, whole) {
  const step = group.longest, peak = Math.max(step.memory_us, step.compute_us);
  const rows = [["time", microseconds(group.us) + (group.count > 1 ? ` in ${group.count} launches` : "") + `, ${percent(group.us, whole)}`]];
  if (step.flops && step.us > 0) rows.push(["computes", flopsRate(step.flops / step.us * 1e6)]);
  if (step.bytes && step.us > 0) rows.push(["moves", bytesRate(step.bytes / step.us * 1e6)]);
  if (peak > 0 && step.us > 0) rows.push(["of roofline", roofShare(peak, step.us)]);
  rows.push(["limit", step.limit]);
  return `<b>${esc(fullName(group))}</b>${tipRows(rows)}`;
}

function setUpTips() {
  const box = document.getElementById("tip");
  const hide = () => { box.hidden = true; };
  const show = (mark, x, y) => {
    const html = tips.get(mark.dataset.tip);
    if (!html) return;
    box.innerHTML = typeof html === "function" ? html() : html;
    box.hidden = false;
    const size = box.getBoundingClientRect();
    const left = Math.min(Math.max(8, x + 14), innerWidth - size.width - 8);
    const below = y + 18 + size.height < innerHeight;
    box.style.transform = `translate(${Math.max(8, left)}px, ${Math.max(8, below ? y + 18 : y - size.height - 12)}px)`;
  };
  const markOf = event => event.target.closest ? event.target.closest("[data-tip]") : null;
  addEventListener("pointermove", event => {
    const mark = markOf(event);
    if (mark) show(mark, event.clientX, event.clientY); else if (event.pointerType === "mouse") hide();
  });
  addEventListener("pointerdown", event => {
    const mark = markOf(event);
    if (mark) show(mark, event.clientX, event.clientY); else hide();
  });
  addEventListener("focusin", event => {
    const mark = markOf(event);
    if (!mark || !mark.matches(":focus-visible")) return;
    const place = mark.getBoundingClientRect();
    show(mark, place.left + place.width / 2, place.top + place.height / 2);
  });
  addEventListener("focusout", hide);
  addEventListener("scroll", hide, true);
  addEventListener("keydown", event => { if (event.key === "Escape") hide(); });
}
