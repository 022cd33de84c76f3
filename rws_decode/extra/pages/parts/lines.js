const LEFT = 46, RIGHT = 10;

/** Numbers below a figure whose steps are `cell` wide. */
function stepTicks(steps, cell, top) {
  const every = ticks(0, steps - 1, Math.max(1, (cell * steps) / 55)).filter(Number.isInteger);
  const numbers = every.map(step =>
    draw("text", { x: LEFT + (step + 0.5) * cell, y: top + 15, "text-anchor": "middle" }, String(step)));
  return [...numbers, draw("text", { class: "name", x: LEFT, y: top + 31 }, "step, from 0")];
}

/** The upright axis of a low figure that shows `known` values: `y(value)`, and `back(width)` draws name and ticks. */
function valueAxis(name, known, tall) {
  const top = 20, low = Math.min(...known), high = Math.max(...known), span = high - low || Math.abs(high) || 1;
  const y = value => top + (tall - top - 6) * (1 - (value - low + 0.06 * span) / (1.12 * span));
  const back = width => [draw("text", { class: "name", x: 0, y: 11 }, name), ...ticks(low, high, 3).flatMap(value => [
    draw("line", { class: "axis", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }),
    draw("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, figures(value, 3)),
  ])];
  return { top, y, back };
}

/**
 * A line over the steps, such as the reward. `values`: a number or null for each step; `known`: those that the axis
 * has room for; `across`: steps from left to right; `hollow(step)`: whether its point is drawn hollow. `go(step)` is
 * told which step was clicked. Returns `show(step)`.
 */
function lineOverSteps({ name, values, known, across, hollow }, host, go) {
  const tall = 76, axis = valueAxis(name, known, tall);
  const figure = draw("svg", { role: "img", "aria-label": `${name} at each step` });
  const cursor = draw("rect", { class: "now", y: axis.top - 4, height: tall - axis.top + 4 }), body = draw("g");
  figure.append(body, cursor);
  host.append(figure);
  let cell = 1, now = 0;

  function paint(width) {
    cell = (width - LEFT - RIGHT) / across;
    const x = step => LEFT + (step + 0.5) * cell;
    dress(figure, { width, height: tall + 4 }, []);
    let path = "", pen = false;
    values.forEach((value, step) => {
      if (value !== null) path += `${pen ? "L" : "M"}${x(step).toFixed(1)} ${axis.y(value).toFixed(1)}`;
      pen = value !== null;
    });
    body.replaceChildren(...axis.back(width), draw("path", { class: "line", d: path }));
    const size = clamp(cell / 4, 1.2, 3);
    values.forEach((value, step) => {
      if (value === null) return;
      const kind = hollow(step) ? "point hollow" : "point";
      body.append(draw("circle", { class: kind, cx: x(step), cy: axis.y(value), r: size }));
    });
    show(now);
  }

  function show(step) {
    now = step;
    cursor.style.display = step < values.length ? "" : "none";
    dress(cursor, { x: LEFT + step * cell - 1, width: cell + 1 }, []);
  }

  figure.addEventListener("click", event => {
    const step = Math.floor((event.clientX - figure.getBoundingClientRect().left - LEFT) / cell);
    if (step >= 0 && step < values.length) go(step);
  });
  repaint(figure.parentElement, paint);
  return show;
}
