// Time by module of the model, as a tree. Repeated layers stand together.

function moduleTree(side) {
  const root = {name: "model", children: new Map(), us: 0, kinds: new Map(), own: []};
  for (const step of side.steps) {
    let node = root;
    const visit = () => {
      node.us += step.us;
      node.kinds.set(step.kind, (node.kinds.get(step.kind) || 0) + step.us);
    };
    visit();
    for (const part of step.scope ? step.scope.split(".") : ["(no module)"]) {
      if (!node.children.has(part)) node.children.set(part, {name: part, children: new Map(), us: 0, kinds: new Map(), own: []});
      node = node.children.get(part);
      visit();
    }
    node.own.push(step);
  }
  return root;
}

function merged(nodes, name) {
  const all = {name, children: new Map(), us: 0, kinds: new Map(), own: [], count: nodes.length};
  for (const node of nodes) {
    all.us += node.us;
    for (const [kind, us] of node.kinds) all.kinds.set(kind, (all.kinds.get(kind) || 0) + us);
    all.own.push(...node.own);
  }
  const names = new Set(nodes.flatMap(node => [...node.children.keys()]));
  for (const child of names) {
    const those = nodes.map(node => node.children.get(child)).filter(Boolean);
    all.children.set(child, {...merged(those, child), count: 0});
  }
  return all;
}

/** Children in the order of the run; numbered ones that hold the same modules are one. */
function childrenOf(node, together) {
  const list = [...node.children.values()];
  if (!together) return list;
  const shape = one => isNumber(one.name) ? JSON.stringify([...one.children.keys()].sort()) : one.name + "/";
  const classes = new Map();
  for (const one of list) {
    const key = shape(one);
    if (!classes.has(key)) classes.set(key, []);
    classes.get(key).push(one);
  }
  return [...classes.values()].map(those => {
    if (those.length === 1) return those[0];
    const numbers = those.map(one => Number(one.name)).sort((a, b) => a - b), last = numbers[numbers.length - 1];
    return merged(those, last - numbers[0] === numbers.length - 1 ? `${numbers[0]}–${last}` : numbers.length > 4 ? `${numbers[0]}…${last}` : numbers.join(", "));
  });
}

function layersSection(side) {
  const named = side.steps.some(step => step.scope);
  const box = section("layers", "Time by layer of the model", named ? "Modules as the model names them. Repeated layers are added up." :
    "The model's file says nothing of modules: neither do its nodes' names have paths, nor has it name scopes.");
  if (!named) return box;
  const root = moduleTree(side), whole = root.us;
  const state = {together: true, open: new Set()};
  const bar = document.createElement("div");
  bar.className = "bar";
  bar.innerHTML = `<button data-together="true">Repeated layers together</button><button data-together="false">Each layer</button><button data-open="all">Open all</button><button data-open="none">Close all</button>`;
  const tree = document.createElement("div");
  tree.className = "tree";
  box.append(bar, tree);
  const rowsOf = (node, path, depth, out) => {
    for (let child of childrenOf(node, state.together)) {
      // A module that holds one module alone is one row with it.
      let name = child.name, count = Math.max(child.count || 1, 1);
      const times = child.count > 1;
      while (!child.own.length && childrenOf(child, state.together).length === 1) {
        const next = childrenOf(child, state.together)[0];
        name += "." + next.name;
        count *= Math.max(next.count || 1, 1);
        child = next;
      }
      if (count > 1) name += ` × ${count}`;
      const own = path + "/" + name, more = child.children.size > 0;
      out.push({child, name, own, depth, more, times});
      if (more && state.open.has(own)) rowsOf(child, own, depth + 1, out);
    }
    return out;
  };
  const openTo = levels => {
    state.open.clear();
    for (let level = 0; level < levels; ++level)
      for (const row of rowsOf(root, "", 0, [])) if (row.more) state.open.add(row.own);
  };
  const draw = () => {
    const rows = rowsOf(root, "", 0, []);
    tree.innerHTML = rows.map(({child, name, own, depth, more}) => {
      const kinds = [...child.kinds].sort((a, b) => b[1] - a[1]);
      const parts = kinds.map(([kind, us]) => `<i style="width:${us / whole * 100}%;background:${colour(kind)}"></i>`).join("");
      const detail = () => `<b>${esc(name)}</b>${tipRows(kinds.slice(0, 6).map(([kind, us]) => [kind, `${microseconds(us)}, ${percent(us, child.us)}`]))}`;
      const toggle = more ? `<button data-row="${esc(own)}" aria-expanded="${state.open.has(own)}" aria-label="${esc(name)}">${state.open.has(own) ? "▾" : "▸"}</button>` : `<span class="none"></span>`;
      return `<div class="row" style="--depth:${depth}"><span class="name">${toggle}<span>${esc(name)}</span></span><span class="track" ${tip(detail)}>${parts}</span><span class="num">${microseconds(child.us)}</span><span class="num soft">${percent(child.us, whole)}</span></div>`;
    }).join("");
    for (const button of bar.children)
      if (button.dataset.together) button.setAttribute("aria-pressed", button.dataset.together === String(state.together));
  };
  bar.addEventListener("click", event => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.together) {
      state.together = button.dataset.together === "true";
      openTo(2);
    } else openTo(button.dataset.open === "all" ? 12 : 0);
    draw();
  });
  tree.addEventListener("click", event => {
    const button = event.target.closest("button[data-row]");
    if (!button) return;
    const row = button.dataset.row;
    if (state.open.has(row)) state.open.delete(row); else state.open.add(row);
    draw();
  });
  openTo(2);
  draw();
  return box;
}
