/** The parts of the playground that stand by themselves: completions of words, the reader's own order, what is shared. */

/** Words that complete what is typed; `changed(half)` is called after each change. half: completions stand for a word that is none yet. */
function completions(model, field, host, changed) {
  let half = false;
  const offer = () => {
    const before = field.value.slice(0, field.selectionStart), begun = /[\p{L}\d']+$/u.exec(before)?.[0].toLowerCase() ?? "";
    const found = begun ? model.words.filter(word => word.startsWith(begun) && word !== begun && !/[<[]/.test(word)).slice(0, 6) : [];
    host.replaceChildren(...found.map((word, n) => {
      const button = make("button", { type: "button", class: n ? "" : "first" }, word);
      button.addEventListener("click", () => take(word, begun));
      return button;
    }));
    half = found.length > 0 && !model.words.includes(begun);
    return found.length ? [found[0], begun] : null;
  };
  const take = (word, begun) => {
    const end = field.selectionStart;
    field.setRangeText(`${word} `, end - begun.length, end, "end");
    field.focus();
    offer();
    changed(half);
  };
  field.addEventListener("input", () => {
    offer();
    changed(half);
  });
  for (const element of [field, host]) {
    element.addEventListener("focusout", ({ relatedTarget: to }) => { // who leaves both has done with the word
      if (half && to !== field && !host.contains(to)) changed(half = false);
    });
  }
  field.addEventListener("keydown", event => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault(); // Enter takes the first word that is offered
    const first = host.children.length ? offer() : null;
    if (first) take(...first);
  });
}

/** The reader's own order, beside that of strategies. Returns `restart(job)`. */
function chooseBoard(model, decoded, breath) {
  const usual = byId("hundred").textContent;
  let job = null, canvas = [], past = [], rivals = [], orders = [], busy = 0, asked = false, at = null;
  const body = document.querySelector("#board tbody"), one = rule => ({ ...job, rule: { spacing: 1, seed: 0, ...rule }, steps: job.length, block: job.length });
  const scored = (name, tokens) => ({ name, tokens, reward: job.reward.score(tokens, job.prompt), prob: model.exact ? model.logProb(job.prompt, tokens) : NaN });
  const whole = () => canvas.every(token => token !== engine.MASK);

  function paint(focus = null) {
    const seen = engine.look({ model, prompt: job.prompt }, canvas), words = canvas.map((token, place) => shown(model.words[token === engine.MASK ? seen.candidate[place] : token]));
    const boxes = canvas.map((token, place) => {
      if (token !== engine.MASK) return make("span", { class: "word done", "data-position": place }, words[place]);
      const box = make("button", { type: "button", class: "word masked", "data-position": place, "aria-label": `position ${place}, guess ${words[place]}`, "aria-pressed": at === place }, words[place]);
      box.addEventListener("click", () => pick(place, seen));
      return box;
    });
    byId("yours").replaceChildren(...boxes.flatMap(box => [box, " "]));
    if (focus !== null) (byId("yours").querySelector("button.word") ?? byId("undo")).focus();
    if (at === null) byId("options").replaceChildren();
    byId("undo").disabled = !past.length;
    score();
  }

  function pick(place, seen) {
    if (document.querySelector("input[name=click]:checked").value === "guess") return commit(place, seen.candidate[place]);
    const row = seen.rows.get(place), five = [...row.keys()].sort((a, b) => row[b] - row[a]).slice(0, 5), total = row.reduce((sum, value) => sum + Math.exp(value - row[five[0]]), 0);
    at = place;
    paint();
    byId("options").replaceChildren(make("span", { class: "note" }, `position ${place}:`), ...five.map(word => {
      const button = make("button", { type: "button" }, `${shown(model.words[word])} ${figures((100 * Math.exp(row[word] - row[five[0]])) / total, 2)} %`);
      button.addEventListener("click", () => commit(place, word));
      return button;
    }));
    byId("options").querySelector("button").focus();
  }

  function commit(place, token) {
    past.push(canvas.slice());
    canvas[place] = token;
    at = null;
    paint(place);
    if (!asked) strategies(busy);
  }

  function score() {
    const open = canvas.filter(token => token === engine.MASK).length;
    const mine = whole() ? scored("you", canvas) : { name: `you (${open} positions left)`, tokens: null, reward: NaN, prob: NaN };
    const rows = [mine, ...rivals], best = key => Math.max(...rows.map(row => row[key]).filter(value => !Number.isNaN(value)));
    const cell = (name, value, key) => make("td", { "data-name": name, ...(value === best(key) ? { class: "top" } : {}) }, Number.isNaN(value) ? "\u2013" : figures(value, 4) + (value === best(key) ? " \u2605" : ""));
    body.replaceChildren(...rows.map(row => make("tr", {}, make("th", { class: "long", scope: "row" }, row.name), cell("reward", row.reward, "reward"),
      ...(model.exact ? [cell("log p", row.prob, "prob")] : []), make("td", { class: "long" }, row.tokens ? model.textOf(engine.beforeEnd(row.tokens, model.end)) : "\u2013"))));
    byId("factor-counts").textContent = factorSaid(rivals);
    if (!whole()) return void (byId("beaten").textContent = "");
    const strategies = rivals.slice(0, 3), beaten = key => strategies.filter(row => row[key] < mine[key]).map(row => row.name).join("; ") || "none of them";
    const above = row => orders.filter(reward => reward < row.reward).length, [, rws] = rivals;
    byId("beaten").textContent = `In reward you beat: ${beaten("reward")}.${model.exact ? ` In log-probability: ${beaten("prob")}.` : ""}`
      + (orders.length ? ` Your reward is higher than that of ${above(mine)} of the ${orders.length} random orders, RWS\u2019s than that of ${above(rws)}.` : "");
  }

  async function restart(to) {
    const mine = busy += 1;
    if (!job) byId("restart").disabled = byId("hundred").disabled = false; // the first text is there
    job = to;
    [canvas, past, rivals, orders, asked, at] = [Array(job.length).fill(engine.MASK), [], [], [], false, null];
    byId("hundred").textContent = usual;
    paint();
    if (model.exact) await strategies(mine); // those of a network take longer: they wait for the reader's first position
  }

  /** Decode by the strategies that the reader plays against: confidence, RWS, and RWS's mean factor. */
  async function strategies(mine) {
    asked = true;
    const stopped = () => mine !== busy, own = job.rule.name === "rws" ? job.rule.reward_scale : 8, mean = made => figures(withoutReward(made).scale);
    const all = [
      [() => "confidence, 1 per step", () => ({ name: "default" })],
      [() => `RWS, s_R = ${figures(own)}, 1 per step`, () => ({ name: "rws", reward_scale: own })],
      [made => `fixed factor ${mean(made)} (RWS\u2019s mean), 1 per step`, withoutReward],
    ];
    let last = null;
    for (const [name, rule] of all) {
      await breath();
      const made = stopped() ? null : await decoded(one(rule(last)), stopped);
      if (!made) return;
      rivals.push(scored(name(last), made.canvas));
      last = made;
      score();
    }
  }

  /** Say whether RWS and its mean factor wrote the same text, and what follows for their rewards. */
  function factorSaid([confidence, rws, fixed]) {
    if (!fixed) return "";
    if (String(rws.tokens) !== String(fixed.tokens)) return "RWS and the fixed factor wrote different texts.";
    if (String(rws.tokens) === String(confidence.tokens)) return "Confidence, RWS and the fixed factor wrote the same text.";
    const gain = rws.reward === confidence.reward ? "" : `: the ${rws.reward > confidence.reward ? "gain over" : "loss against"} confidence comes from the size of the factor`;
    return `RWS and the fixed factor wrote the same text${gain}.`;
  }

  byId("undo").addEventListener("click", () => {
    canvas = past.pop();
    at = null;
    paint();
  });
  byId("restart").addEventListener("click", () => {
    [canvas, past, at] = [Array(job.length).fill(engine.MASK), [], null];
    paint();
  });
  byId("stop-hundred").addEventListener("click", () => { busy += 1; });
  byId("hundred").addEventListener("click", async () => {
    const mine = busy += 1, stopped = () => mine !== busy;
    byId("stop-hundred").hidden = false;
    byId("hundred").disabled = true;
    if (rivals.length < 3) { // the strategies were not asked yet, or were cut short just now
      rivals = [];
      await strategies(mine);
    }
    const known = rivals.slice(0, 3);
    let best = null, likely = null, n = 0;
    orders = [];
    for (; n < 100 && !stopped(); n += 1) {
      const found = scored("", engine.inOrder(model, one({ name: "random-order", seed: n })));
      orders.push(found.reward);
      if (!best || found.reward > best.reward) best = found;
      if (!likely || found.prob > likely.prob) likely = found;
      byId("hundred").textContent = `${n + 1} of 100 random orders`;
      rivals = [...known, { ...best, name: `best of ${n + 1} random orders, by reward` }, ...(model.exact ? [{ ...likely, name: `best of ${n + 1} random orders, by log p` }] : [])];
      if (n % 5 === 4) score();
      await breath();
    }
    score();
    byId("hundred").textContent = usual;
    byId("hundred").disabled = false;
    byId("stop-hundred").hidden = true;
  });
  return restart;
}

/** The link, the Python and the trace of what is shown. Returns `show(job)`. */
function shareRun(model, shownRun, settings) {
  const copy = (id, text) => byId(id).addEventListener("click", async () => {
    const button = byId(id), before = button.textContent;
    let done = true;
    try {
      await navigator.clipboard.writeText(text());
    } catch {
      done = false;
    }
    button.textContent = done ? "Copied" : "Copying is blocked: select it";
    say(button.textContent);
    setTimeout(() => { button.textContent = before; }, 1600);
  });
  byId("local").hidden = location.protocol !== "file:";
  copy("copy-link", () => location.href);
  copy("copy-python", () => byId("python").textContent);
  byId("download").addEventListener("click", () => {
    const run = shownRun();
    if (!run) return;
    const address = URL.createObjectURL(traceFile.of(run, settings().prompt)), link = make("a", { href: address, download: "playground.parquet" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  });
  return job => {
    const { prompt, strategy, reward, seed } = settings(), text = value => JSON.stringify(value);
    const factor = job.rule.name === "temperature" ? `  # a factor: logits times ${job.rule.scale}` : "";
    byId("python").textContent = [
      '# Install, in the folder of the toolkit: pip install ".[decode]"',
      `from rws_decode import ${seed ? "Options, " : ""}Shape, decode, load_predictor, load_reward`, "",
      "run = decode(", `    load_predictor(${text(model.name)}),`, `    [${text(prompt)}],`, `    ${text(strategy)},${factor}`,
      `    Shape(length=${job.length}, steps=${job.steps}, block=${job.block}),`, `    reward=load_reward(${text(reward === "keywords" ? reward : job.reward.name)}),`,
      ...(seed ? [`    options=Options(seed=${seed}),`] : []), ")", "print(run[0].text)", "print(run[0].tokens.tolist(), run[0].commit_step.tolist())",
    ].join("\n");
  };
}
