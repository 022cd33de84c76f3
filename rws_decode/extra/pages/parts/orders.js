const stops = { words: data.words, distance: data.distances, memory: data.memories };
const at = { words: Math.min(1, data.words.length - 1), distance: 0, memory: Math.min(8, data.memories.length - 1) };
const highest = Math.max(0.001, ...data.kl.flat());
/** The number of a setting among all; without arguments, of what is now. */
const place = (words = at.words, distance = at.distance, memory = at.memory) =>
  (words * data.distances.length + distance) * data.memories.length + memory;
const nats = value => value.toFixed(3);

/** The divergence of each order as a bar that lies, on one axis for all settings. */
function barChart(host) {
  const tall = 58, foot = 26, height = 22 + tall * data.names.length + foot;
  const figure = draw("svg", { role: "img" });
  host.append(figure);
  let width = 0;

  function show() {
    const now = data.kl[place()], without = data.kl[place(at.words, 0)], right = width - 62;
    const x = value => 1 + (right - 1) * (value / highest), low = 22 + tall * data.names.length;
    const told = data.names.map((name, order) => `${name} ${nats(now[order])}`).join(", ");
    dress(figure, { width, height, "aria-label": `KL(p || q) in nats: ${told}` }, []);
    figure.replaceChildren(draw("text", { class: "name", x: 0, y: 12 }, "KL(p \u2016 q), nats"),
      ...ticks(0, highest, 4).flatMap(value => [
        draw("line", { class: "axis", x1: x(value), x2: x(value), y1: 22, y2: low }),
        draw("text", { x: x(value), y: low + 16, "text-anchor": value ? "middle" : "start" }, figures(value, 3)),
      ]),
      ...data.names.flatMap((name, order) => {
        const top = 22 + tall * order, end = x(now[order]), mark = x(without[order]);
        const beside = mark - end > 52 ? end : Math.max(end, mark);  // between the bar and the mark, if there is room
        return [
          draw("text", { class: "bar-name", x: 1, y: top + 18 }, name),
          draw("rect", { class: `value series-${order}`, x: 1, y: top + 24, width: Math.max(1, end - 1), height: 22 }),
          draw("line", { class: "without", x1: mark, x2: mark, y1: top + 21, y2: top + 49 }),
          draw("text", { class: "bar-value", x: beside + 7, y: top + 40 }, nats(now[order])),
        ];
      }));
  }
  repaint(host, room => { width = room; show(); });
  return show;
}

/** The same over all memories. */
function lineChart(host) {
  const tall = 196, figure = draw("svg", { role: "img" });
  host.append(figure);
  let width = 0;
  const last = data.memories.length - 1, x = number => LEFT + (width - LEFT - RIGHT) * (last ? number / last : 0);

  function show() {
    const { top, y, back } = valueAxis("KL(p \u2016 q) by memory, nats", [0, highest], tall);
    dress(figure, { width, height: tall + 26, "aria-label": "KL(p || q) of each order by the memory of the chain" }, []);
    figure.replaceChildren(...back(width), ...data.memories.map((memory, number) =>
      draw("text", { x: x(number), y: tall + 14, "text-anchor": "middle" }, figures(memory, 2))),
    draw("line", { class: "cursor", x1: x(at.memory), x2: x(at.memory), y1: top, y2: tall }));
    data.names.forEach((_, order) => {
      const values = data.memories.map((__, number) => data.kl[place(at.words, at.distance, number)][order]);
      const path = values.map((value, number) => `${number ? "L" : "M"}${x(number).toFixed(1)} ${y(value).toFixed(1)}`);
      figure.append(draw("path", { class: `series series-${order}`, d: path.join("") }),
        draw("circle", { class: `series series-${order}`, cx: x(at.memory), cy: y(values[at.memory]), r: 5 }));
    });
  }
  const drag = event => {
    if (event.type === "pointermove" && !event.buttons) return;
    const share = (event.clientX - figure.getBoundingClientRect().left - LEFT) / (width - LEFT - RIGHT);
    go("memory", Math.round(share * last));
  };
  figure.addEventListener("pointerdown", drag);
  figure.addEventListener("pointermove", drag);
  repaint(host, room => { width = room; show(); });
  return show;
}

/** A row of steps for each order: those of one step have one colour. */
function showCells() {
  const steps = data.steps[place()], fills = colours("--fills");
  byId("cells").replaceChildren(
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "text"),
      ...[...data.text].map(word => make("th", { scope: "col" }, word)))),
    make("tbody", {}, ...steps.map((row, order) => make("tr", {}, make("th", { scope: "row" }, data.names[order]),
      ...row.map(step => make("td", { style: `background:${fills[step % fills.length]}` }, String(step + 1)))))));
}

const shows = [];
function go(name, to) {
  at[name] = clamp(to, 0, stops[name].length - 1);
  for (const [one, values] of Object.entries(stops)) {
    const value = String(values[at[one]]);
    byId(one).value = at[one];
    byId(one).setAttribute("aria-valuetext", value);
    byId(`${one}-now`).textContent = value;
  }
  byId("where").textContent = data.said[place()];
  shows.forEach(show => show());
  say(data.said[place()]);
}

for (const name of Object.keys(stops)) byId(name).addEventListener("input", () => go(name, Number(byId(name).value)));
byId("names").replaceChildren(...data.names.map((name, order) =>
  make("span", { class: "key" }, make("span", { class: `swatch series-${order}` }), name)));
keepRoom(byId("where"), data.said);
shows.push(barChart(byId("bars")), lineChart(byId("lines")), showCells);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showCells);
onKeys({ ArrowLeft: () => go("words", at.words - 1), ArrowRight: () => go("words", at.words + 1),
  ArrowUp: () => go("distance", at.distance + 1), ArrowDown: () => go("distance", at.distance - 1) });
go("words", at.words);
