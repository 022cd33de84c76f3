/** Room above the cells of the map, for its name. */
const HEAD = 20;

/**
 * The map of a run: steps from left to right, positions from top to bottom, a cell for each. Returns `show(step, here)`.
 * `inspect(position, x, y, { step })` is told what the pointer or the keys are at, `go(step)` what was clicked.
 */
function heatmap(run, host, kind, inspect, go) {
  const canvas = make("canvas"), marks = draw("svg", { "aria-hidden": "true" });
  const label = `Map of ${run.steps} steps and ${run.length} positions; up and down go from position to position`;
  const box = make("div", { class: "heat", tabindex: "0", role: "application", "aria-label": label }, canvas, marks);
  host.append(box);
  const height = clamp(Math.floor(440 / run.length), 3, 11), known = run.valuesKnown;
  let cell = 1, now = { step: 0, here: null };

  /** The share of the known values that lie below one: so that every colour is used as often as the others. */
  function share(number) {
    let low = 0, high = known.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (known[middle] < number) low = middle + 1; else high = middle;
    }
    return known.length > 1 ? low / (known.length - 1) : 1;
  }

  function colourOf(index, step, position, ramp, colour) {
    const { step: commit, until } = commitAt(run, step, position);
    if (commit === step) return colour.commit;
    if (until === step) return colour.again;
    if (!masked(run, step, position)) return colour.done;
    if (kind() === "changes") return step && run.changed[index] ? ramp[3] : colour.open;
    return Number.isNaN(run.value[index]) ? colour.open : mixed(ramp, share(run.value[index]));
  }

  function paint(width) {
    cell = (width - LEFT - RIGHT) / run.across;
    const sharp = devicePixelRatio || 1, tall = HEAD + height * run.length;
    canvas.width = width * sharp;
    canvas.height = tall * sharp;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${tall}px`;
    const brush = canvas.getContext("2d"), ramp = colours("--ramp");
    const colour = Object.fromEntries(["commit", "done", "again", "open", "near"].map(name => [name, colours(`--${name}`)[0]]));
    brush.scale(sharp, sharp);
    const gap = Math.min(cell, height) > 5 ? 1 : 0;
    for (let step = 0; step < run.steps; step += 1) {
      for (let position = 0; position < run.length; position += 1) {
        const index = step * run.length + position, x = LEFT + step * cell, y = HEAD + position * height;
        brush.fillStyle = colourOf(index, step, position, ramp, colour);
        brush.fillRect(x, y, cell - gap, height - gap);
        if (run.mark[index]) {
          brush.lineWidth = 1.5;
          brush.strokeStyle = brush.fillStyle = colour.near;
          brush.beginPath();
          brush.arc(x + (cell - gap) / 2, y + (height - gap) / 2, clamp(Math.min(cell, height) / 4, 1.6, 3), 0, 7);
          if (run.mark[index] === 2) brush.fill(); else brush.stroke();
        }
      }
    }
    dress(marks, { width, height: tall + 34 }, []);
    box.style.height = `${tall + 34}px`;
    axes(tall);
    show(now.step, now.here);
  }

  const column = draw("rect", { class: "now" }), row = draw("rect", { class: "row" }), scale = draw("g");
  marks.append(scale, column, row);

  function axes(tall) {
    const name = kind() === "changes" ? "changes of the candidates" : `${run.unit} of the candidates`;
    const title = draw("text", { class: "name", x: 0, y: 12 }, `${name}, by position and step`);
    scale.replaceChildren(title, ...stepTicks(run.across, cell, tall));
    for (const position of ticks(0, run.length - 1, Math.max(2, tall / 45)).filter(Number.isInteger)) {
      const attributes = { x: LEFT - 6, y: HEAD + (position + 0.5) * height + 4, "text-anchor": "end" };
      scale.append(draw("text", attributes, String(position)));
    }
  }

  function show(step, here) {
    now = { step, here };
    const inside = step < run.steps;
    dress(column, { x: LEFT + step * cell - 1, y: HEAD - 2, width: cell + 1, height: height * run.length + 3 }, []);
    column.style.display = inside ? "" : "none";
    row.style.display = here === null ? "none" : "";
    if (here !== null) dress(row, { x: LEFT, y: HEAD + here * height - 1.5, width: cell * run.steps, height: height + 2 }, []);
  }

  function under(event) {
    const frame = box.getBoundingClientRect();
    const step = Math.floor((event.clientX - frame.left - LEFT) / cell);
    const position = Math.floor((event.clientY - frame.top - HEAD) / height);
    const inside = step >= 0 && step < run.steps && position >= 0 && position < run.length;
    return inside ? { step, position } : null;
  }

  box.addEventListener("pointermove", event => {
    const at = under(event);
    if (at) inspect(at.position, event.clientX, event.clientY, { step: at.step }); else inspect(null);
  });
  box.addEventListener("pointerleave", () => inspect(null));
  box.addEventListener("click", event => {
    const at = under(event);
    if (!at) return;
    go(at.step);
    inspect(at.position, event.clientX, event.clientY, { step: at.step });
  });
  box.addEventListener("keydown", event => {
    const move = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (move === undefined) return;
    event.preventDefault();
    const position = clamp((now.here ?? (move > 0 ? -1 : run.length)) + move, 0, run.length - 1);
    const frame = box.getBoundingClientRect(), step = Math.min(now.step, run.steps - 1);
    const [x, y] = [frame.left + LEFT + (step + 0.5) * cell, frame.top + HEAD + position * height];
    inspect(position, x, y, { step, spoken: true });
  });
  box.addEventListener("blur", () => inspect(null));
  repaint(box, paint);
  return { show, paint: () => paint(box.clientWidth) };
}
