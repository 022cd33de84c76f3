/** The legend of the map: what its colours and marks say. */
function legend(run, host) {
  const ramp = colours("--ramp").map((_, n, all) => `${all[n]} ${(100 * n) / (all.length - 1)}%`).join(", ");
  const known = run.value.filter(Number.isFinite).sort();
  const swatch = (style, ...words) => make("span", { class: "key" }, make("span", { class: "swatch", style }), ...words);
  const scale = make("span", { class: "key" }, figures(known[0] ?? NaN, 3),
    make("span", { class: "swatch ramp", style: `background: linear-gradient(to right, ${ramp})` }),
    figures(known.at(-1) ?? NaN, 3), ` ${run.unit}`);
  host.replaceChildren(scale, swatch("background: var(--commit)", "committed at the step"),
    swatch("background: var(--done)", "committed before"), swatch("background: var(--open); outline: 1px solid var(--rule)", "masked, no value"),
    make("span", { class: "key" }, "● tie"), make("span", { class: "key" }, "○ near-tie"));
}

/** One run in its section: sentence, text, reward, factor, map. Returns `show(step, other)` and `point(position)`. */
function runView(run, section, go, point) {
  const find = name => section.querySelector(`.${name}`), figure = find("drawn");
  const inspect = (position, x, y, step, spoken) => {
    const lines = position === null ? null : details(run, step ?? now, position);
    point(position);
    tip(lines, x, y);
    if (lines && spoken) say(lines.join(", "));
  };
  let now = 0;
  const text = textView(run, find("text"), inspect);
  const shows = [];
  const reused = step => run.reward_use[step] === 2;
  if (run.reward.some(value => value !== null)) {
    shows.push(lineOverSteps("reward of the completed text, normalised", run.reward, figure, reused, go));
  }
  if (new Set(run.factor).size > 1) shows.push(lineOverSteps("factor of all logits", run.factor, figure, () => false, go));
  keepRoom(find("said"), run.sentences);
  const kind = () => section.querySelector("input[type=radio]:checked").value;
  const map = heatmap(run, figure, kind, inspect, go);
  legend(run, find("legend"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => legend(run, find("legend")));
  section.querySelectorAll("input[type=radio]").forEach(radio => radio.addEventListener("change", map.paint));
  return (step, other, here) => {
    now = step;
    const sentence = run.sentences[Math.min(step, run.steps)];
    if (find("said").textContent !== sentence) find("said").textContent = sentence;
    text(step, other, here);
    shows.forEach(show => show(step));
    map.show(step, here);
    return sentence;
  };
}

function decodePage() {
  const runs = data.runs.map(unpack), sections = document.querySelectorAll("#runs > section");
  let at = data.start, here = null, go = () => {};
  const point = position => {
    if (position === here) return;
    here = position;
    redraw();
  };
  const views = runs.map((run, number) => runView(run, sections[number], step => go(step), point));
  const other = number => (data.comparable ? runs[1 - number] ?? null : null);
  const redraw = () => views.map((view, number) => view(at, other(number), here));
  const last = Math.max(...runs.map(run => run.steps));
  go = timeline(last, data.start, data.marked, step => {
    at = step;
    const sentences = redraw();
    return sentences.length > 1 ? sentences.map((said, n) => `${"AB"[n]}: ${said}`).join(" ") : sentences[0];
  });
  ["candidates", "coloured"].forEach(name => byId(name).addEventListener("change", redraw));
}

decodePage();
