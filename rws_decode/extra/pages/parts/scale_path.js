const axis = logAxis(data.low, data.high);

/** Return the number of the part that holds a scale. */
function partAt(scale) {
  const number = data.parts.findIndex(part => scale <= part.upper);
  return number < 0 ? data.parts.length - 1 : number;
}

/** Return the scale in the middle of a part, as its logarithm goes. */
const middle = part => Math.sqrt(part.proved[0] * part.proved[1]);

/** Return the fill of an answer: colours come again, so that numbers stand beside them. */
const fillOf = answer => { const list = colours("--fills"); return list[answer % list.length]; };

/** The strip: a colour and a number for each answer, the grid's points below. Returns `show(scale, part)`. */
function strip(host, go) {
  const tall = 46, figure = draw("svg", { role: "img", "aria-label": "the answers along the scale" });
  const body = draw("g"), band = draw("rect", { class: "row", y: 1, height: tall }), cursor = draw("line", { class: "cursor" });
  figure.append(body, band, cursor);
  host.append(figure);
  let now = [data.low, data.parts[0]];

  function paint(width) {
    axis.width = width;
    dress(figure, { width, height: tall + 46 }, []);
    body.replaceChildren(hatching());
    for (const part of data.parts) {
      const x = axis.x(part.lower), wide = Math.max(0.5, axis.x(part.upper) - x), box = { x, y: 2, width: wide, height: tall - 2 };
      const answer = data.answers[part.answer];
      body.append(draw("rect", { ...box, fill: answer ? fillOf(part.answer) : colours("--soft")[0], class: "piece" }));
      if (!answer || answer.missed) body.append(draw("rect", { ...box, fill: "url(#hatched)" }));
      const number = answer ? String(part.answer + 1) : "?";
      if (wide > 9 * number.length + 6) body.append(draw("text", { class: "number", x: x + wide / 2, y: tall / 2 + 5 }, number));
    }
    for (const point of data.grid) {
      const x = axis.x(point), path = `M${x} ${tall + 3}l5 9h-10z`;
      body.append(draw("path", { class: "grid", d: path }, draw("title", {}, `grid: ${figures(point)}`)));
    }
    body.append(...scaleTicks(axis, data.symbol, tall + 13));
    show(...now);
  }

  function show(scale, part) {
    now = [scale, part];
    const x = axis.x(scale), from = axis.x(part.lower);
    dress(cursor, { x1: x, x2: x, y1: -3, y2: tall + 4 }, []);
    dress(band, { x: from, width: Math.max(1, axis.x(part.upper) - from) }, []);
  }

  const drag = event => {
    if (event.type === "pointermove" && !event.buttons) return;
    go(axis.at(event.clientX - figure.getBoundingClientRect().left));
  };
  figure.addEventListener("pointerdown", drag);
  figure.addEventListener("pointermove", drag);
  repaint(host, paint);
  return show;
}

/** Lines over what no scale of the grid gives. */
function hatching() {
  const line = draw("path", { d: "M-1 7L7 -1M5 7L7 5M-1 1L1 -1", class: "hatch" });
  return draw("defs", {}, draw("pattern", { id: "hatched", width: 6, height: 6, patternUnits: "userSpaceOnUse" }, line));
}

/** A value of the parts along the scale, level on each. Returns `show(scale, part)`. */
function levels(name, valueOf, host) {
  const tall = 84, figure = draw("svg", { role: "img", "aria-label": `${name} along the scale` });
  const { y, back } = valueAxis(name, data.parts.map(valueOf).filter(value => value !== null), tall);
  const body = draw("g"), dot = draw("circle", { class: "point", r: 4.5 });
  figure.append(body, dot);
  host.append(figure);
  let now = [data.low, data.parts[0]], x = scale => scale;

  function paint(width) {
    x = scale => LEFT + axis.share(scale) * (width - LEFT - RIGHT);
    dress(figure, { width, height: tall + 2 }, []);
    body.replaceChildren(...back(width));
    data.parts.forEach((part, number) => {
      const value = valueOf(part), before = number ? valueOf(data.parts[number - 1]) : null;
      if (value === null) return;
      if (before !== null) {
        body.append(draw("line", { class: "riser", x1: x(part.lower), x2: x(part.lower), y1: y(before), y2: y(value) }));
      }
      const line = { x1: x(part.lower), x2: x(part.upper), y1: y(value), y2: y(value) };
      body.append(draw("line", { class: data.answers[part.answer].missed ? "line missed" : "line", ...line }));
    });
    show(...now);
  }

  function show(scale, part) {
    now = [scale, part];
    const value = valueOf(part);
    dot.style.display = value === null ? "none" : "";
    if (value !== null) dress(dot, { cx: x(scale), cy: y(value) }, []);
  }

  repaint(host, paint);
  return show;
}

/** The commit order: position from left to right, step from top to bottom. Returns `show(scale, part)`. */
function commitOrder(host) {
  const length = data.row.filter(part => typeof part === "number").length;
  const steps = Math.max(...data.parts.flatMap(part => part.commit ?? [0])) + 1, tall = clamp(steps * 9, 90, 230), top = 20;
  const figure = draw("svg", { role: "img", "aria-label": "commit step of each position" }), body = draw("g"), dots = draw("g");
  figure.append(body, dots);
  host.append(figure);
  let width = 0, now = [data.low, data.parts[0]];
  const x = position => LEFT + ((position + 0.5) * (width - LEFT - RIGHT)) / length;
  const y = step => top + ((step + 0.5) * (tall - top)) / steps;

  function paint(room) {
    width = room;
    dress(figure, { width, height: tall + 38 }, []);
    body.replaceChildren(draw("text", { class: "name", x: 0, y: 11 }, "step at which each position was committed, from 0"));
    for (const step of ticks(0, steps - 1, tall / 40).filter(Number.isInteger)) {
      body.append(draw("line", { class: "axis", x1: LEFT, x2: width - RIGHT, y1: y(step), y2: y(step) }));
      body.append(draw("text", { x: LEFT - 6, y: y(step) + 4, "text-anchor": "end" }, String(step)));
    }
    for (const position of ticks(0, length - 1, (width - LEFT) / 55).filter(Number.isInteger)) {
      body.append(draw("text", { x: x(position), y: tall + 16, "text-anchor": "middle" }, String(position)));
    }
    body.append(draw("text", { class: "name", x: LEFT, y: tall + 32 }, "position"));
    show(...now);
  }

  function show(scale, part) {
    now = [scale, part];
    const size = clamp(width / length / 3, 1.5, 4);
    const marks = (steps, kind, r) => (steps ?? []).map((step, position) =>
      draw("circle", { class: kind, cx: x(position), cy: y(step), r }));
    dots.replaceChildren(...marks(data.reference_commit, "ring", size + 1.5), ...marks(part.commit, "point", size));
  }

  repaint(host, paint);
  return show;
}

/** The answer's words, those unlike the reference marked. Returns `show(scale, part)`. */
function answerText(host) {
  const boxes = [], settle = onlyGrows(host), openEnded = typeof data.row.at(-1) === "number";
  let now = data.parts[0];
  data.row.forEach(part => {
    if (typeof part === "string") return host.append(make("span", { class: "fixed" }, shown(part)), " ");
    boxes[part] = make("span", { class: "word", "data-position": part }, make("span"));
    host.append(boxes[part], " ");
  });
  const reference = data.answers[data.reference];
  host.addEventListener("pointerover", event => {
    const positions = positionsOf(event.target);
    if (!positions || !now.commit) return tip(null);
    tip([boxes[positions[0]].textContent, placed(...positions, now.commit)], event.clientX, event.clientY);
  });
  host.addEventListener("pointerleave", () => tip(null));

  return (scale, part) => {
    now = part;
    const answer = data.answers[part.answer], ramp = colours("--steps"), steps = Math.max(...(part.commit ?? [0])) || 1;
    boxes.forEach((box, position) => {
      const word = answer ? data.words[answer.words[position]] : "\u00b7";
      box.firstChild.textContent = answer ? shown(word) : word;
      const unlike = answer && reference && answer.words[position] !== reference.words[position];
      box.className = `word${unlike ? " unlike" : ""}${answer ? "" : " masked"}`;
      const coloured = answer && byId("coloured").checked;
      box.style.borderBottomColor = coloured ? mixed(ramp, part.commit[position] / steps) : "";
    });
    if (openEnded) gatherEnd(boxes);
    settle();
  };
}

/** The table of answers; the button of each goes to its widest piece. Returns `show(scale, part)`. */
function answerTable(table, go) {
  const has = name => data.answers.some(answer => answer[name] !== null);
  const total = Math.log(data.high / data.low) || 1, width = part => Math.log(part.upper / part.lower);
  const heads = ["answer", "share of the axis", ...(has("reward") ? ["reward"] : []), ...(has("log_prob") ? ["log p [nats]"] : []),
    ...(has("rules") ? ["rules broken"] : []), "GOD [steps]", "grid"];
  table.append(make("thead", {}, make("tr", {}, ...heads.map(name => make("th", { scope: "col" }, name)), make("th", { class: "long", scope: "col" }, "text"))));
  const rows = data.answers.map((answer, number) => {
    const parts = data.parts.filter(part => part.answer === number);
    const widest = parts.reduce((one, other) => (width(other) > width(one) ? other : one));
    const gods = parts.map(part => part.god), [least, most] = [Math.min(...gods), Math.max(...gods)];
    const button = make("button", { type: "button", "aria-label": `go to answer ${number + 1}` }, String(number + 1));
    button.addEventListener("click", () => go(middle(widest)));
    const share = parts.reduce((sum, part) => sum + width(part), 0) / total;
    const cells = [`${figures(100 * share, 3)} %`, ...(has("reward") ? [figures(answer.reward, 3)] : []),
      ...(has("log_prob") ? [figures(answer.log_prob)] : []), ...(has("rules") ? [String(answer.rules)] : []),
      least === most ? figures(least, 3) : `${figures(least, 3)} to ${figures(most, 3)}`, answer.missed ? "missed" : "given"];
    return make("tr", {}, make("td", {}, button), ...cells.map((cell, at) => make("td", { "data-name": heads[at + 1] }, cell)),
      make("td", { class: "long" }, answer.text));
  });
  table.append(make("tbody", {}, ...rows));
  return (scale, part) => rows.forEach((row, number) => row.classList.toggle("current", number === part.answer));
}

function scalePathPage() {
  const slider = byId("step"), fine = Number(slider.max);
  const shows = [];
  let at = data.parts[0], scale = data.low;

  function go(to) {
    scale = to;
    at = data.parts[partAt(scale)];
    slider.value = Math.round(fine * axis.share(scale));
    const where = `${data.symbol} = ${figures(scale)}`;
    byId("where").textContent = where;
    slider.setAttribute("aria-valuetext", where);
    byId("said").textContent = at.sentence;
    shows.forEach(show => show(scale, at));
    say(at.sentence);
  }

  const jump = by => () => go(middle(data.parts[clamp(data.parts.indexOf(at) + by, 0, data.parts.length - 1)]));
  shows.push(strip(byId("strip"), go), answerText(byId("text")), commitOrder(byId("order")), answerTable(byId("answers"), go));
  const answer = name => part => data.answers[part.answer]?.[name] ?? null;
  const lines = [["reward of the text, normalised", answer("reward")], ["log-probability of the text [nats]", answer("log_prob")],
    ["order deviation (GOD) [steps]", part => part.god]];
  for (const [name, valueOf] of lines) {
    if (data.parts.some(part => valueOf(part) !== null)) shows.push(levels(name, valueOf, byId("worth")));
  }
  keepRoom(byId("said"), data.parts.map(part => part.sentence));
  slider.addEventListener("input", () => go(axis.scale(Number(slider.value) / fine)));
  byId("back").addEventListener("click", jump(-1));
  byId("forward").addEventListener("click", jump(1));
  byId("coloured").addEventListener("change", () => go(scale));
  onKeys({ ArrowLeft: jump(-1), ArrowRight: jump(1), Home: jump(-data.parts.length), End: jump(data.parts.length) });
  const start = data.parts.find(part => part.answer !== null) ?? data.parts[0];
  go(data.low <= 1 && 1 <= data.high && data.parts[partAt(1)].answer !== null ? 1 : middle(start));
}

scalePathPage();
