// The page: what stands where.

function remarksSection(side) {
  const box = section("fusion", "Fusion");
  const list = (title, texts) => `<details><summary>${title} (${texts.length})</summary><ul>${texts.map(text => `<li>${esc(text)}</li>`).join("")}</ul></details>`;
  box.insertAdjacentHTML("beforeend", side.fused.length || side.not_fused.length ? list("Not fused, and why", side.not_fused) + list("Fused", side.fused) :
    "<p class='soft'>The artifact says nothing of it: there was nothing to fuse, or it was compiled with <code>--strip</code> or from a plan.</p>");
  return box;
}

function draw(data, chosen) {
  const page = document.getElementById("page"), side = data.sides[chosen];
  tips.clear();
  page.replaceChildren(header(data, side));
  if (data.sides.length > 1) {
    page.append(compareSection(data));
    const bar = document.createElement("div");
    bar.className = "bar";
    bar.innerHTML = `<span class="soft small">All below is of</span>` + data.sides.map((one, number) =>
      `<button data-side="${number}" aria-pressed="${number === chosen}">${esc(fileName(one.artifact))}</button>`).join("");
    bar.addEventListener("click", event => {
      const button = event.target.closest("button");
      if (button) draw(data, Number(button.dataset.side));
    });
    page.append(bar);
  }
  page.append(tiles(side), standsOut(side), timeByKind(side), layersSection(side), rooflineSection(side), timelineSection(side), kernelsSection(side),
    memorySection(side), remarksSection(side));
}

setUpTips();
draw(JSON.parse(document.getElementById("data").textContent), 0);
