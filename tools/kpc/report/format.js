// Figures and text as people read them.

const escapes = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"};
const esc = text => String(text).replace(/[&<>"']/g, sign => escapes[sign]);

function digits(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : size >= 0.1 ? value.toFixed(2) : value.toPrecision(2);
}

const scaled = (value, step, units) => {
  let unit = 0;
  for (; Math.abs(value) >= step && unit < units.length - 1; ++unit) value /= step;
  return (unit === 0 && Number.isInteger(value) ? String(value) : digits(value)) + units[unit];
};

const microseconds = value => value >= 1e6 ? digits(value / 1e6) + " s" : value >= 1e3 ? digits(value / 1e3) + " ms" : digits(value) + " µs";
const bytesText = value => scaled(value, 1024, [" B", " KiB", " MiB", " GiB", " TiB"]);
const countText = value => scaled(value, 1000, ["", " k", " M", " G", " T", " P"]);
const flopsRate = perSecond => scaled(perSecond, 1000, [" FLOP/s", " kFLOP/s", " MFLOP/s", " GFLOP/s", " TFLOP/s", " PFLOP/s"]);
const bytesRate = perSecond => scaled(perSecond, 1000, [" B/s", " kB/s", " MB/s", " GB/s", " TB/s"]);
const percent = (part, whole) => whole > 0 ? (part / whole * 100 < 9.95 ? (part / whole * 100).toFixed(1) : (part / whole * 100).toFixed(0)) + " %" : "–";
/** What caches hold comes faster than from memory: then the roof is none. */
const roofShare = (least, us) => !(least > 0 && us > 0) ? "–" : least > us * 1.05 ? "> 100 %" : percent(least, us);
const plural = (count, one, many) => `${count} ${count === 1 ? one : many || one + "s"}`;

const colour = kind => `var(--${["GEMM", "convolution", "attention", "normalization", "softmax", "pooling", "reduction", "elementwise",
  "gather", "scatter", "sort", "movement", "copy"].includes(kind) ? kind.toLowerCase() : "kernel"})`;
const swatch = kind => `<span class="dot" style="background:${colour(kind)}"></span>`;

const sum = (list, of) => list.reduce((all, one) => all + of(one), 0);

/** A section of the page; `draw` is called again when its width has changed. */
function section(id, title, words) {
  const box = document.createElement("section");
  box.id = id;
  box.innerHTML = `<h2>${esc(title)}</h2>${words ? `<p class="soft small">${words}</p>` : ""}`;
  return box;
}

function onWidth(box, draw) {
  let last = 0;
  new ResizeObserver(() => {
    const width = Math.floor(box.clientWidth);
    if (width > 0 && width !== last) draw(last = width);
  }).observe(box);
}
