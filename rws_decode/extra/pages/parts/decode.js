/**
 * What runs beside each other share, so that they can be compared: the steps across, the values that a colour or a
 * height stands for, and which lines there are. Values in other units keep a scale of their own.
 */
function shareScales(runs) {
  const known = (each, name) => each.flatMap(run => [...run[name]]).filter(Number.isFinite);
  const common = runs.every(run => run.unit === runs[0].unit);
  const across = Math.max(...runs.map(run => run.steps)), [rewards, factors] = ["reward", "factor"].map(name => known(runs, name));
  for (const run of runs) {
    const values = Float64Array.from(known(common ? runs : [run], "value")).sort();
    Object.assign(run, { across, valuesKnown: values, oneScale: common && runs.length > 1 });
    run.lines = [];
    if (rewards.length) {
      const asked = run.reward.some(value => value !== null), hollow = step => run.reward_use[step] === 2;
      const name = asked ? "reward of the completed text, normalised" : "reward, normalised: none was asked";
      run.lines.push({ name, values: run.reward, known: rewards, across, hollow });
    }
    if (new Set(factors).size > 1) {
      run.lines.push({ name: "factor of all logits", values: run.factor, known: factors, across, hollow: () => false });
    }
  }
}

/** The legend of the map: what its colours and marks say. */
function legend(run, host) {
  const ramp = colours("--ramp").map((_, n, all) => `${all[n]} ${(100 * n) / (all.length - 1)}%`).join(", ");
  const swatch = (style, ...words) => make("span", { class: "key" }, make("span", { class: "swatch", style }), ...words);
  const known = run.valuesKnown, share = run.oneScale ? `, one scale for ${data.runs.length > 2 ? "all runs" : "A and B"}` : "";
  const scale = make("span", { class: "key" }, figures(known[0] ?? NaN, 3),
    make("span", { class: "swatch ramp", style: `background: linear-gradient(to right, ${ramp})` }),
    `${figures(known.at(-1) ?? NaN, 3)} ${run.unit}${share}`);
  host.replaceChildren(...(known.length ? [scale] : []), swatch("background: var(--commit)", "committed at the step"),
    swatch("background: var(--done)", "committed before"),
    ...(Object.values(run.revised).flat().some(([, until]) => until % 1 === 0) ? [swatch("background: var(--again)", "masked again at the step")] : []), swatch("background: var(--open); outline: 1px solid var(--rule)", "masked, no value"),
    ...(run.known ? ["● tie", "○ near-tie"] : []).map(text => make("span", { class: "key" }, text)));
}

/** One run in its section: sentence, text, reward, factor, map. Returns `show(step, other)` and `point(position)`. */
function runView(run, section, go, point) {
  const find = name => section.querySelector(`.${name}`), figure = find("drawn");
  const inspect = (position, x, y, { step = now, last, spoken } = {}) => {
    const lines = position === null ? null : details(run, step, position, last);
    point(position);
    tip(lines, x, y);
    if (lines && spoken) say(lines.join(", "));
  };
  let now = 0;
  const text = textView(run, find("text"), inspect);
  const shows = run.lines.map(line => lineOverSteps(line, figure, go));
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
  shareScales(runs);
  const views = runs.map((run, number) => runView(run, sections[number], step => go(step), point));
  const other = number => runs[number ? 0 : 1] ?? null; // each is beside the first
  const redraw = () => views.map((view, number) => view(at, other(number), here));
  go = timeline(runs[0].across, data.start, data.marked, step => {
    at = step;
    const sentences = redraw();
    return sentences.length > 1 ? sentences.map((said, n) => `${String.fromCharCode(65 + n)}: ${said}`).join(" ") : sentences[0];
  });
  ["candidates", "coloured"].forEach(name => byId(name).addEventListener("change", redraw));
}

decodePage();
