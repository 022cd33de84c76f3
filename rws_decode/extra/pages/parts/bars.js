const axis = logAxis(data.at[0], data.at.at(-1)), most = data.at.length - 1;
const numbers = values => values.filter(value => value !== null).map(Number).filter(Number.isFinite);

/** A key of a legend: a swatch and a name. */
const key = (kind, name) => make("span", { class: "key" }, make("span", { class: `swatch ${kind}` }), name);
/** The keys of several series; one alone needs none. */
const keys = list => (list.length > 1 ? list.map((series, at) => key(`series-${at}`, series.name)) : []);

/** The bars at one scale, a group for each name and a bar in it for each series. Returns `show(shown, number)`. */
function barChart(host) {
  const upright = data.names.length > 8, foot = upright ? 104 : 24, tall = 230, top = 26;
  const figure = draw("svg", { role: "img", "aria-label": "bars at this scale" }), back = draw("g"), body = draw("g");
  figure.append(back, body);
  host.append(figure);
  let width = 0, now = null;

  function show(shown, number) {
    now = [shown, number];
    const frames = shown.bars.map(series => series.values[number].map(value => (value === null ? null : Number(value))));
    const finite = numbers(frames.flat()), own = [Math.min(0, ...finite), Math.max(...finite, 0) * 1.08 || 1];
    const [low, high] = shown.limits ?? own;
    const y = value => top + (tall - top) * (1 - (clamp(value, low, high) - low) / (high - low));
    const group = (width - LEFT - RIGHT) / data.names.length, wide = (0.82 * group) / frames.length;
    back.replaceChildren(draw("text", { class: "name", x: 0, y: 11 }, shown.height), ...ticks(low, high, 5).flatMap(value => [
      draw("line", { class: value ? "axis" : "zero", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }),
      draw("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, figures(value, 3)),
    ]));
    body.replaceChildren();
    const every = upright ? Math.ceil(11 / group) : 1;
    data.names.forEach((name, place) => {
      const left = LEFT + place * group, middle = left + group / 2;
      const turned = upright ? { transform: `translate(${middle + 4} ${tall + 8}) rotate(-90)`, "text-anchor": "end" }
        : { x: middle, y: tall + 17, "text-anchor": "middle" };
      if (place % every === 0) body.append(draw("text", turned, name));
      frames.forEach((values, series) => {
        const value = values[place], hit = shown.chosen && shown.chosen[number].includes(place);
        if (value === null) return;
        const box = { x: left + 0.09 * group + series * wide, width: Math.max(1, wide - 1),
          y: Math.min(y(value), y(0)), height: Math.abs(y(value) - y(0)) };
        const bar = draw("rect", { ...box, class: `value series-${shown.chosen ? 2 : series}${hit ? " chosen" : ""}` });
        const of = frames.length > 1 ? `${name}, ${shown.bars[series].name}` : name;
        bar.addEventListener("pointermove", event => tip([of, `${shown.height}: ${figures(value)}`], event.clientX, event.clientY));
        bar.addEventListener("pointerleave", () => tip(null));
        body.append(bar);
        if (!Number.isFinite(value)) {
          body.append(draw("text", { x: middle, y: y(value) - 3, "text-anchor": "middle" }, value > 0 ? "\u221e" : "\u2212\u221e"));
        }
      });
    });
    const chosen = [key("series-2", shown.bars[0].name), key("chosen", "committed")];
    byId("names").replaceChildren(...(shown.chosen ? chosen : keys(shown.bars)));
  }

  repaint(host, room => {
    width = room;
    dress(figure, { width, height: tall + foot }, []);
    if (now) show(...now);
  });
  return show;
}

/** The lines over all scales, with what is now. Returns `show(shown, number)`. */
function lineChart(host, go) {
  const tall = 230, figure = draw("svg", { role: "img", "aria-label": "along the scale" });
  const body = draw("g"), cursor = draw("line", { class: "cursor" }), dots = draw("g");
  figure.append(body, cursor, dots);
  host.append(figure);
  let now = null;

  function show(shown, number) {
    now = [shown, number];
    const known = numbers(shown.lines.flatMap(line => line.values)), { top, y, back } = valueAxis(shown.across, known, tall);
    const zero = Math.min(...known) < 0 && Math.max(...known) > 0;
    body.replaceChildren(...back(axis.width), ...scaleTicks(axis, data.symbol, tall + 2));
    if (zero) body.append(draw("line", { class: "zero", x1: LEFT, x2: axis.width - RIGHT, y1: y(0), y2: y(0) }));
    body.append(...shown.marks.map(mark =>
      draw("line", { class: "breakpoint", x1: axis.x(mark), x2: axis.x(mark), y1: top, y2: tall })));
    dots.replaceChildren();
    shown.lines.forEach((line, series) => {
      let path = "", pen = false;
      line.values.forEach((value, place) => {
        if (value !== null) path += `${pen ? "L" : "M"}${axis.x(data.at[place]).toFixed(1)} ${y(value).toFixed(1)}`;
        pen = value !== null;
      });
      body.append(draw("path", { class: `series series-${series}`, d: path }));
      const value = line.values[number];
      if (value !== null) dots.append(draw("circle", { class: `series series-${series}`, cx: axis.x(data.at[number]), cy: y(value), r: 5 }));
    });
    dress(cursor, { x1: axis.x(data.at[number]), x2: axis.x(data.at[number]), y1: top, y2: tall + 4 }, []);
    byId("series").replaceChildren(...keys(shown.lines));
  }

  const drag = event => {
    if (event.type === "pointermove" && !event.buttons) return;
    go(Math.round(axis.share(axis.at(event.clientX - figure.getBoundingClientRect().left)) * most));
  };
  figure.addEventListener("pointerdown", drag);
  figure.addEventListener("pointermove", drag);
  repaint(host, width => {
    axis.width = width;
    dress(figure, { width, height: tall + 24 }, []);
    if (now) show(...now);
  });
  return show;
}

function barsPage() {
  const slider = byId("step"), shows = [];
  let shown = data.cases[0], number = data.start;

  function go(to) {
    number = clamp(to, 0, most);
    slider.value = number;
    const where = `${data.symbol} = ${figures(data.at[number], 3)}`;
    byId("where").textContent = where;
    slider.setAttribute("aria-valuetext", where);
    byId("said").textContent = shown.said[number];
    shows.forEach(show => show(shown, number));
    say(shown.said[number]);
  }

  data.cases.forEach((one, place) => {
    const radio = make("input", { type: "radio", name: "case", ...(place ? {} : { checked: "" }) });
    radio.addEventListener("change", () => { shown = one; go(number); });
    byId("cases").append(make("label", {}, radio, one.name));
  });
  byId("charts").classList.toggle("pair", data.names.length <= 8);
  byId("cases").hidden = data.cases.length === 1;
  shows.push(lineChart(byId("lines"), go), barChart(byId("bars")));
  keepRoom(byId("said"), data.cases.flatMap(one => one.said));
  slider.addEventListener("input", () => go(Number(slider.value)));
  byId("back").addEventListener("click", () => go(number - 1));
  byId("forward").addEventListener("click", () => go(number + 1));
  onKeys({ ArrowLeft: () => go(number - 1), ArrowRight: () => go(number + 1), Home: () => go(0), End: () => go(most) });
  go(number);
}

barsPage();
