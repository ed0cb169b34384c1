// Kernels that are equal but for the layer that they are of, together.

const isNumber = part => /^\d+$/.test(part);
const collapsed = scope => scope.split(".").map(part => isNumber(part) ? "*" : part).join(".");

/** "layers 0–11", "layer 3": the layers of some steps. */
function layersText(steps) {
  const names = [...new Set(steps.map(step => step.layer).filter(Boolean))];
  if (names.length <= 1) return names[0] || "";
  const parts = names.map(name => /^(.*?[ .])(\d+)$/.exec(name));
  if (parts.every(Boolean) && parts.every(part => part[1] === parts[0][1])) {
    const numbers = parts.map(part => Number(part[2])).sort((a, b) => a - b);
    const whole = numbers[numbers.length - 1] - numbers[0] === numbers.length - 1;
    const list = parts[0][1].endsWith(" ") ? parts[0][1].trimEnd() + "s " : parts[0][1];
    return list + (whole ? `${numbers[0]}–${numbers[numbers.length - 1]}` : numbers.length > 4 ? `${numbers[0]}…${numbers[numbers.length - 1]}` : numbers.join(", "));
  }
  return plural(names.length, "layer");
}

const whereOf = step => step.layer || step.place || "";
const nameOf = step => (whereOf(step) ? whereOf(step) + " · " : "") + step.title;

function groupsOf(side, together) {
  const groups = new Map();
  for (const step of side.steps) {
    const key = together ? JSON.stringify([collapsed(step.scope), step.title, step.kind, step.schedule || "", step.bytes, step.flops]) : String(step.number);
    if (!groups.has(key)) groups.set(key, {key, steps: []});
    groups.get(key).steps.push(step);
  }
  return [...groups.values()].map(group => {
    const steps = group.steps, longest = steps.reduce((a, b) => b.us > a.us ? b : a);
    const where = layersText(steps) || steps[0].place || "";
    return {
      ...group, longest, title: steps[0].title, kind: steps[0].kind, count: steps.length, where,
      place: steps[0].layer ? steps[0].place || "" : "",
      us: sum(steps, step => step.us), least: sum(steps, step => Math.max(step.memory_us, step.compute_us)),
      bytes: sum(steps, step => step.bytes), flops: sum(steps, step => step.flops), limit: longest.limit,
    };
  });
}

const fullName = group => (group.where ? group.where + " · " : "") + group.title;
const totalTime = side => sum(side.steps, step => step.us);
