/** The text of a run as boxes, and the picture of a step: confidence against the factor. */

/** Show a run's text in `host`. Returns `show(step, other, chosen)`: other run in lock-step or null; chosen: in place of the step's own. */
function runText(run, host) {
  const { words } = run.model, tokenOf = (one, step, place) => (one.commitStep[place] >= step ? one.records[step].candidate : one.canvas)[place];
  const boxes = run.canvas.map((token, place) => make("span", { class: "word", "data-position": place, "data-last": shown(words[token]) }, make("span")));
  host.replaceChildren(...boxes.flatMap(box => [box, " "]));
  host.style.minHeight = "";
  return (step, other, chosen = null) => {
    const record = run.records[step];
    boxes.forEach((box, place) => {
      const open = run.commitStep[place] >= step, now = open && record && (chosen ?? record.chosen).includes(place);
      const token = tokenOf(run, step, place), text = shown(words[token]);
      if (box.firstChild.textContent !== text) box.firstChild.textContent = text;
      box.className = `word ${now ? "new" : open ? "masked" : "done"}`;
      box.classList.toggle("differs", Boolean(other) && tokenOf(other, step, place) !== token);
      box.title = open ? `position ${place}, masked` : `position ${place}, committed at step ${run.commitStep[place]}`;
    });
  };
}

/** The picture of a step. Returns `{ show, hide, set }`; `moved(factor)` is told where the reader drags the line. */
function whyChart(host, moved) {
  const tall = 300, top = 26, axis = logAxis(engine.GRID[0], engine.GRID.at(-1));
  const figure = draw("svg", { role: "img", "aria-label": "confidence of each masked position against the factor" });
  const [back, lines, front] = Array.from({ length: 3 }, () => draw("g")), cursor = draw("line", { class: "cursor" }), names = draw("g");
  const grip = draw("path", { class: "grip", d: "M-7 0h14l-7 9z" }), given = draw("line", { class: "given" }), fixed = draw("line", { class: "fixed" });
  const used = draw("rect", { class: "used" });
  figure.append(used, back, lines, given, fixed, front, cursor, names, grip);
  host.append(figure);
  let now = null, at = 1, y = value => value;

  function paint(width) {
    axis.width = width;
    if (!now || width <= 0) return;
    dress(figure, { width, height: tall + 22 }, []);
    const drawn = [...now.curves.values()].flatMap(curve => [...curve.values]).filter(Number.isFinite).map(Math.asinh);
    const low = Math.min(...drawn), high = Math.max(...drawn, low + 1e-9);
    y = value => top + (tall - top) * (1 - (Math.asinh(clamp(value, -1e300, 1e300)) - low) / (high - low));
    const levels = [-1000, -100, -30, -10, -3, 0, 3, 10, 30, 100, 1000].filter(level => Math.asinh(level) >= low && Math.asinh(level) <= high);
    back.replaceChildren(...levels.flatMap(level => [
      draw("line", { class: "axis", x1: LEFT, x2: width - RIGHT, y1: y(level), y2: y(level) }),
      draw("text", { x: LEFT - 6, y: y(level) + 4, "text-anchor": "end" }, figures(level, 3)),
    ]), draw("text", { class: "name", x: 0, y: 11 }, "confidence: log-odds of the guess [nats]"), ...scaleTicks(axis, "factor", tall + 2));
    now.paths = new Map([...now.curves].map(([place, { values }]) => {
      const path = draw("path", { class: "curve", d: `M${engine.GRID.map((r, n) => `${axis.x(r).toFixed(1)} ${clamp(y(values[n]), -1e4, 1e4).toFixed(1)}`).join("L")}` });
      path.addEventListener("pointermove", event => tip([shown(now.words(place)), `position ${place}`], event.clientX, event.clientY));
      path.addEventListener("pointerleave", () => tip(null));
      return [place, path];
    }));
    lines.replaceChildren(...now.paths.values());
    front.replaceChildren(...now.changes.map(({ factor, into }) => {
      const gaps = now.curves.get(into).gaps;
      return draw("circle", { class: `crossing${now.decides(factor) ? " decides" : ""}`, cx: axis.x(factor), cy: y(engine.oddsOfGaps(gaps, factor)), r: 5 });
    }));
    const own = axis.x(clamp(now.factor, engine.GRID[0], engine.GRID.at(-1)));
    dress(given, { x1: own, x2: own, y1: top - 4, y2: tall }, []);
    fixed.style.display = now.other === undefined ? "none" : "";
    if (now.other !== undefined) {
      const there = axis.x(clamp(now.other, engine.GRID[0], engine.GRID.at(-1)));
      dress(fixed, { x1: there, x2: there, y1: top - 4, y2: tall }, []);
    }
    used.style.display = now.used ? "" : "none";
    if (now.used) {
      const [low, high] = now.used.map(factor => axis.x(clamp(factor, engine.GRID[0], engine.GRID.at(-1))));
      dress(used, { x: low - 1, width: high - low + 2, y: top - 4, height: tall - top + 4 }, []);
    }
    set(at);
  }

  function set(factor, chosen = now?.chosen) {
    at = factor;
    if (!now) return;
    now.chosen = chosen;
    const x = axis.x(clamp(factor, engine.GRID[0], engine.GRID.at(-1)));
    dress(cursor, { x1: x, x2: x, y1: top - 4, y2: tall + 4 }, []);
    grip.setAttribute("transform", `translate(${x} ${top - 12})`);
    now.paths?.forEach((path, place) => path.classList.toggle("chosen", chosen.includes(place)));
    // Names stand on both sides of the line, where there is room, each a line above the last on its side.
    const right = { x: x + 6, "text-anchor": "start", above: tall + 12 }, left = { x: x - 6, "text-anchor": "end", above: tall + 12 };
    const sides = x > axis.width - 60 ? [left] : x < LEFT + 40 ? [right] : [right, left];
    const levels = chosen.filter(place => now.curves.has(place)).map(place => [y(engine.oddsOfGaps(now.curves.get(place).gaps, clamp(factor, engine.GRID[0], engine.GRID.at(-1)))), place]);
    const name = (side, y, said) => draw("text", { class: "place", x: side.x, y, "text-anchor": side["text-anchor"] }, said);
    let unnamed = 0;
    const shownNames = levels.sort(([a], [b]) => b - a).flatMap(([level, place]) => {
      const own = side => Math.min(level - 4, side.above - 13), side = sides.reduce((one, other) => (own(other) > own(one) ? other : one)), y = own(side);
      if (level - y > 34) { // too far from its curve to be told apart
        unnamed += 1;
        return [];
      }
      side.above = y;
      return [name(side, y, String(place))];
    });
    const side = sides.reduce((one, other) => (other.above > one.above ? other : one));
    names.replaceChildren(...shownNames, ...(unnamed ? [name(side, side.above - 13, `+${unnamed}`)] : []));
  }

  const drag = event => moved(axis.at(event.clientX - figure.getBoundingClientRect().left));
  // A finger that goes up or down scrolls the page: the line follows it only once it has gone sideways, or tapped.
  let begun = null;
  host.addEventListener("pointerdown", event => {
    if (!now) return;
    event.preventDefault(); // no text is selected
    host.setPointerCapture(event.pointerId);
    begun = event.pointerType === "touch" ? event.clientX : null;
    if (begun === null) drag(event);
  });
  host.addEventListener("pointermove", event => {
    if (!host.hasPointerCapture(event.pointerId) || (begun !== null && Math.abs(event.clientX - begun) < 6)) return;
    begun = null;
    drag(event);
  });
  host.addEventListener("pointerup", event => { if (begun !== null) drag(event); });
  repaint(host, paint);
  return {
    set,
    /**
     * Show curves (a Map by place), the factors at which the set changes, the step's own factor, another, and a range of factors
     * that is shaded, [least, most] or null. words(place): its guess; decides(factor): whether a crossing there is marked.
     */
    show(curves, changes, factor, chosen, words, other, used, decides) {
      now = { curves, changes, factor, chosen, words, other, used, decides };
      at = factor;
      paint(host.clientWidth);
    },
  };
}
