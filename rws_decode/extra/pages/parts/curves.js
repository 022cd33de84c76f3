const axis = logAxis(data.low, data.high), count = data.positions.length;
const curves = data.curves.map(curve => curve.map(Number));
const nameOf = place => `\u201c${shown(data.words[place])}\u201d at ${data.positions[place]}`;

/** Return the number of the proved piece that holds a scale. */
function pieceAt(scale) {
  const number = data.pieces.findIndex(piece => scale <= piece.upper);
  return number < 0 ? data.pieces.length - 1 : number;
}

/** Return the log-odds of a position at a scale, between those of the scales that are drawn. */
function oddsAt(place, scale) {
  const exact = axis.share(scale) * (data.scales.length - 1), before = clamp(Math.floor(exact), 0, data.scales.length - 2);
  const [low, high] = [curves[place][before], curves[place][before + 1]];
  return Number.isFinite(high) ? low + (high - low) * (exact - before) : high;
}

/** Return the positions at a scale, by their places in the data: the proved set first, then by their log-odds. */
function ranking(scale) {
  const chosen = new Set(data.pieces[pieceAt(scale)].chosen);
  const odds = curves.map((_, place) => oddsAt(place, scale));
  const order = [...curves.keys()].sort((a, b) => chosen.has(b) - chosen.has(a) || odds[b] - odds[a] || a - b);
  return { chosen, odds, order };
}

/** The curves over the scale. Returns `show(scale)`. */
function chart(host, go) {
  const tall = 420, top = 44, figure = draw("svg", { role: "img", "aria-label": "the curves of all positions" });
  const [back, lines, front, given] = Array.from({ length: 4 }, () => draw("g")), cursor = draw("line", { class: "cursor" });
  figure.append(back, lines, cursor, front, given);
  host.append(figure);
  const ranks = data.scales.map(scale => {
    const rank = [];
    ranking(scale).order.forEach((place, number) => { rank[place] = number + 1; });
    return rank;
  });
  const paths = curves.map((_, place) => {
    const path = draw("path", { class: "curve" });
    path.addEventListener("pointermove", event => point(place, event));
    path.addEventListener("pointerleave", () => point(null));
    lines.append(path);
    return path;
  });
  const finite = curves.flat().filter(Number.isFinite).map(Math.asinh);
  let now = data.low, y = height => height;

  const byRank = () => document.querySelector("input[name=height]:checked").value === "rank";
  const x = scale => axis.x(scale);

  function heights() {
    const [low, high] = byRank() ? [-count - 0.5, -0.5] : [Math.min(...finite), Math.max(...finite)];
    const place = value => top + (tall - top) * (1 - (value - low) / (high - low || 1));
    y = value => place(byRank() ? -value : Math.asinh(clamp(value, -1e300, Math.sinh(high))));
  }

  function paint(width) {
    axis.width = width;
    heights();
    dress(figure, { width, height: tall + 34 }, []);
    const levels = byRank() ? ticks(1, count, 8).filter(Number.isInteger)
      : [-1000, -300, -100, -30, -10, -3, 0, 3, 10, 30, 100, 300, 1000];
    const drawn = level => byRank() || (Math.asinh(level) >= Math.min(...finite) && Math.asinh(level) <= Math.max(...finite));
    back.replaceChildren(...levels.filter(drawn).flatMap(level => [
      draw("line", { class: "axis", x1: LEFT, x2: width - RIGHT, y1: y(level), y2: y(level) }),
      draw("text", { x: LEFT - 6, y: y(level) + 4, "text-anchor": "end" }, figures(level, 3)),
    ]), draw("text", { class: "name", x: 0, y: 11 }, byRank() ? "rank" : "log-odds of the best token [nats]"),
    ...scaleTicks(axis, "c", tall + 4));
    for (const piece of data.pieces.slice(0, -1)) {
      back.append(draw("line", { class: "breakpoint", x1: x(piece.upper), x2: x(piece.upper), y1: top, y2: tall }));
    }
    if (data.factor !== null) {
      const at = x(data.factor), anchor = at < width / 2 ? "start" : "end";
      given.replaceChildren(draw("line", { class: "given", x1: at, x2: at, y1: top - 8, y2: tall }),
        draw("text", { class: "given", x: at, y: top - 14, "text-anchor": anchor }, `factor of the step ${figures(data.factor)}`));
    }
    paths.forEach((path, place) => {
      const points = data.scales.map((scale, n) => {
        const height = byRank() ? ranks[n][place] : curves[place][n];
        return `${x(scale).toFixed(1)} ${y(height).toFixed(1)}`;
      });
      path.setAttribute("d", `M${points.join("L")}`);
    });
    front.replaceChildren(...(byRank() ? [] : data.crossings).map(crossing => {
      const { lower, upper, height, cut, said } = crossing, kind = cut ? "crossing cut" : "crossing";
      const ring = draw("circle", { class: kind, cx: x(Math.sqrt(lower * upper)), cy: y(Number(height)), r: cut ? 5.5 : 3 });
      ring.addEventListener("pointerenter", event => tip([said], event.clientX, event.clientY));
      ring.addEventListener("pointerleave", () => tip(null));
      return ring;
    }));
    show(now);
  }

  function point(place, event) {
    paths.forEach((path, other) => path.classList.toggle("here", other === place));
    byId("ranking").querySelectorAll("li").forEach(item => item.classList.toggle("here", Number(item.dataset.place) === place));
    if (place === null) return tip(null);
    const scale = axis.at(event.clientX - figure.getBoundingClientRect().left);
    tip([nameOf(place), `log-odds ${figures(oddsAt(place, scale))} at c = ${figures(scale)}`], event.clientX, event.clientY);
  }

  function show(scale) {
    now = scale;
    const { chosen } = ranking(scale);
    paths.forEach((path, place) => path.classList.toggle("chosen", chosen.has(place)));
    dress(cursor, { x1: x(scale), x2: x(scale), y1: top - 6, y2: tall + 4 }, []);
  }

  figure.addEventListener("click", event => go(axis.at(event.clientX - figure.getBoundingClientRect().left)));
  document.querySelectorAll("input[name=height]").forEach(radio =>
    radio.addEventListener("change", () => paint(host.clientWidth)));
  repaint(host, paint);
  return show;
}

/** The positions by rank, the chosen ones marked; they move to their new places. Returns `show(scale)`. */
function rankingList(list) {
  const most = Math.min(count, Math.max(data.k + 6, 14));
  const items = curves.map((_, place) => make("li", { "data-place": place },
    make("span", { class: "name" }, shown(data.words[place])), make("span", { class: "odds" }),
    make("span", { class: "at" }, `at ${data.positions[place]}`)));
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  byId("more").textContent = count > most ? `and ${count - most} more` : "";

  return scale => {
    const { chosen, odds, order } = ranking(scale), before = new Map();
    for (const item of list.children) before.set(item, item.offsetTop);
    const now = order.slice(0, most).map(place => items[place]);
    if (now.some((item, number) => list.children[number] !== item)) list.replaceChildren(...now);
    order.slice(0, most).forEach(place => {
      items[place].classList.toggle("chosen", chosen.has(place));
      items[place].querySelector(".odds").textContent = figures(odds[place], 3);
    });
    if (calm.matches) return;
    for (const item of now) {
      const moved = before.has(item) ? before.get(item) - item.offsetTop : 0;
      if (moved) item.animate([{ transform: `translateY(${moved}px)` }, { transform: "none" }], { duration: 180 });
    }
  };
}

function curvesPage() {
  const slider = byId("step"), shows = [];
  let scale = data.low;

  function go(to, told = null) {
    scale = to;
    slider.value = Math.round(axis.share(scale) * (data.scales.length - 1));
    const where = `c = ${figures(scale)}`, piece = data.pieces[pieceAt(scale)];
    byId("where").textContent = where;
    slider.setAttribute("aria-valuetext", where);
    const open = scale < piece.proved[0] || scale > piece.proved[1];
    const said = told ?? (open ? `At c = ${figures(scale, 6)} no set is proved.` : piece.sentence);
    byId("said").textContent = said;
    shows.forEach(show => show(scale));
    say(said);
  }

  const middle = piece => Math.sqrt(piece.proved[0] * piece.proved[1]);
  const jump = by => () => go(middle(data.pieces[clamp(pieceAt(scale) + by, 0, data.pieces.length - 1)]));
  const meets = data.crossings.map(crossing => Math.sqrt(crossing.lower * crossing.upper));
  const nextCrossing = () => {
    const after = meets.findIndex(meet => meet > scale), at = after < 0 ? meets[0] : meets[after];
    const said = data.crossings.filter((_, number) => meets[number] === at).map(crossing => `${crossing.said}.`);
    go(at, said.join(" "));
  };
  shows.push(chart(byId("chart"), to => go(to)), rankingList(byId("ranking")));
  const changes = data.crossings.filter(crossing => crossing.cut);
  byId("changes").append(...changes.map(crossing => make("li", {}, crossing.said)));
  byId("changes-name").hidden = changes.length === 0;
  keepRoom(byId("said"), [...data.pieces.map(piece => piece.sentence), ...data.crossings.map(crossing => crossing.said)]);
  slider.addEventListener("input", () => go(data.scales[Number(slider.value)]));
  byId("back").addEventListener("click", jump(-1));
  byId("forward").addEventListener("click", jump(1));
  byId("next").hidden = meets.length === 0;
  byId("next").addEventListener("click", nextCrossing);
  onKeys({ ArrowLeft: jump(-1), ArrowRight: jump(1), Home: jump(-data.pieces.length), End: jump(data.pieces.length) });
  go(clamp(data.factor ?? 1, data.low, data.high));
}

curvesPage();
