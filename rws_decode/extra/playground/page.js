/** The playground: what the reader asks for, what is decoded, and what is shown of it. */
async function playground() {
  const model = await loadModel(), { Refused } = engine;
  const rewardNames = model.rewards;
  const kinds = { temperature: ["Factor", 4], rws: ["Reward scale s_R", 8], "random-order": ["Seed", 0], spacing: ["Minimum spacing", 3] };
  const lengths = [8, 12, 16, 24, 32, 48, 64], paces = [1, 2, 3, 4, 8];
  let settings = { ...data.start }, run = null, twin = null, at = 0, turn = 0, playing = 0, factor = null, seen = null, deciding = [], away = false;
  let showA = () => {}, showB = () => {}, slow = 0;
  const breath = () => new Promise(kept => setTimeout(kept, 0));
  const minus = value => figures(value, 4), wordAt = (record, place) => shown(model.words[record.candidate[place]]);
  const cited = (record, place) => `\u201c${wordAt(record, place)}\u201d at ${place}`;

  // ---- Settings: controls, and the address's fragment.

  /** Return the settings that a fragment holds; a Refused for what is wrong with it. */
  function fromFragment(text) {
    const found = {};
    for (const part of text.replace(/^#/, "").split("&").filter(Boolean)) {
      const [name, ...rest] = part.split("="), raw = rest.join("=");
      let value;
      try {
        value = decodeURIComponent(name === "prompt" || name === "reward" ? raw.replace(/\+/g, " ") : raw);
      } catch {
        throw new Refused(`The address is broken: ${name.slice(0, 20)} holds a % that ends nowhere.`);
      }
      if (!["prompt", "length", "steps", "block", "strategy", "reward", "seed"].includes(name)) throw new Refused(`The address holds \u201c${name.slice(0, 30)}\u201d: prompt, length, steps, block, strategy, reward and seed are known.`);
      if (["length", "steps", "block", "seed"].includes(name)) {
        if (!/^\d{1,9}$/.test(value)) throw new Refused(`The address is broken: ${name} is \u201c${value.slice(0, 20)}\u201d, a whole number is needed.`);
        found[name] = Number(value);
      } else found[name] = value;
    }
    return found;
  }

  function toFragment({ prompt, length, steps, block, strategy, reward, seed }) {
    const parts = { prompt, length, steps, block, strategy, reward, seed: seed || undefined };
    return `#${Object.entries(parts).filter(([, value]) => value !== undefined).map(([name, value]) => `${name}=${encodeURIComponent(value).replace(/%3A/g, ":").replace(/%2C/g, ",")}`).join("&")}`;
  }

  /** Return the reward of a name; a Refused for one that is not here. */
  function rewardNamed(name) {
    const found = model.rewardNamed(name);
    if (!found) throw new Refused(`reward is \u201c${name.slice(0, 40)}\u201d: ${rewardNames.map(([value]) => value).join(" or ")} is needed here.`);
    return found;
  }

  /** Return what is to be decoded; a Refused for what cannot be. */
  function jobOf({ prompt, length, steps, block, strategy, reward, seed = 0 }) {
    const rule = engine.strategy(strategy, seed);
    if (length > model.longest.answer) throw new Refused(`length is ${length}: this page decodes at most ${model.longest.answer} words.`);
    const shape = engine.plan({ length, steps, block });
    if (prompt.length > 20000) throw new Refused(`The prompt has ${prompt.length.toLocaleString("en")} characters: this page reads at most 20,000. Shorten it.`);
    const read = model.read(prompt);
    if (read.words > model.longest.prompt) throw new Refused(`The prompt has ${read.words.toLocaleString("en")} words: this page reads at most ${model.longest.prompt.toLocaleString("en")}. Shorten it.`);
    if (/\[MASK:\d+\]/.test(prompt)) throw new Refused("The prompt holds gaps, [MASK:n]: they are for rws generate --infill, this page writes after the prompt.");
    return { prompt: read.ids, read, rule, reward: rewardNamed(reward), length, steps: shape.steps, block: shape.block };
  }

  function fillControls() {
    const { strategy } = settings, [name, number] = strategy.split("+")[0].split(":"), spacing = /\+spacing:(\d+)$/.exec(strategy);
    if (byId("prompt").value !== settings.prompt) byId("prompt").value = settings.prompt;
    const kind = spacing && name === "default" ? "spacing" : name;
    if ([...byId("strategy").options].some(option => option.value === kind)) byId("strategy").value = kind;
    setNumber(kind, kind === "spacing" ? Number(spacing[1]) : kind === "random-order" ? settings.seed ?? 0 : Number(number));
    const keywords = settings.reward.startsWith("keywords");
    byId("reward").replaceChildren(...rewardNames.map(([value, said]) => make("option", { value }, said)));
    byId("reward").value = keywords ? "keywords" : settings.reward;
    byId("keywords-field").hidden = !keywords;
    if (settings.reward.startsWith("keywords:") && document.activeElement !== byId("keywords")) byId("keywords").value = settings.reward.slice(9);
    choices("length", [...new Set([...lengths.filter(length => length <= model.longest.answer), Math.min(settings.length, model.longest.answer)])].sort((a, b) => a - b).map(n => [n, `${n} ${model.unit}`]), settings.length);
    const shape = safely(() => engine.plan(settings)), pace = shape && shape.length / shape.steps;
    const fits = paces.filter(n => n <= settings.length).map(n => [n, String(n)]);
    choices("pace", paces.includes(pace) ? fits : [...fits, ["own", shape ? `${figures(pace, 3)} (${shape.steps} steps)` : "as given"]], paces.includes(pace) ? pace : "own");
    const sizes = [...new Set([settings.length, 32, 16, 8, shape?.block ?? settings.length])].filter(size => settings.length % size === 0).sort((a, b) => b - a);
    choices("block", sizes.map(size => [size, size === settings.length ? "whole answer" : `blocks of ${size}`]), shape?.block ?? settings.length);
  }

  function choices(id, pairs, value) {
    byId(id).replaceChildren(...pairs.map(([key, said]) => make("option", { value: key }, said)));
    byId(id).value = value;
  }

  const safely = get => { try { return get(); } catch { return null; } };

  function setNumber(kind, value) {
    byId("number-field").hidden = !kinds[kind];
    if (!kinds[kind]) return;
    const whole = kind === "spacing" || kind === "random-order", slider = byId("number");
    byId("number-name").textContent = kinds[kind][0];
    dress(slider, whole ? { min: kind === "spacing" ? 2 : 0, max: kind === "spacing" ? 12 : 99, step: 1 } : { min: -4, max: 6, step: 0.25 }, []);
    slider.value = whole ? value : Math.log2(value);
    byId("number-said").textContent = figures(value, 3);
    slider.setAttribute("aria-valuetext", figures(value, 3));
  }

  /** Read the strategy's controls into the settings. fresh: another kind was chosen, which begins at its usual number. */
  function readStrategy(fresh) {
    const kind = byId("strategy").value, position = Number(byId("number").value);
    const value = fresh ? kinds[kind]?.[1] : kind === "spacing" || kind === "random-order" ? position : Number((2 ** position).toPrecision(3));
    settings.strategy = { temperature: `temperature:${value}`, rws: `rws:${value}`, spacing: `default+spacing:${value}` }[kind] ?? kind;
    if (kind === "random-order") settings.seed = value;
    else delete settings.seed;
    before = null; // the reader's choice stands
    ask();
  }

  // ---- Decoding, in slices, so that the page stays alive.

  /** Run a job to its end; null if `stopped` says so in between. */
  async function decoded(job, stopped, told = () => {}) {
    const made = engine.begin(model, job);
    for (let last = performance.now(); !engine.done(made);) {
      engine.step(made);
      if (performance.now() - last < 30) continue;
      told(made);
      await breath();
      if (stopped()) return null;
      last = performance.now();
    }
    return made;
  }

  function problem(error) {
    if (error && !(error instanceof Refused)) console.error(error);
    byId("problem").hidden = !error;
    byId("problem").textContent = error ? (error instanceof Refused ? error.message : "This page failed at what you asked for. Try another setting.") : "";
    byId("decoded").hidden = Boolean(error) && !run;
  }

  /** Decode what the settings ask for, and show it: true; false for what cannot be decoded, null if another came before its end. */
  async function ask() {
    const mine = turn += 1, stopped = () => mine !== turn;
    pause();
    byId("answer").removeAttribute("data-tokens");
    byId("answer").removeAttribute("data-commit-step");
    let job;
    try {
      fillControls();
      job = jobOf(settings);
    } catch (error) {
      byId("decoded").inert = true;
      problem(error);
      return false;
    }
    problem(null);
    if (job.rule.name !== "rws") setAway(false); // without a reward there is none to take away
    byId("decoded").inert = false;
    known(job.read);
    history.replaceState(null, "", toFragment({ ...settings, steps: job.steps }));
    const told = one => { byId("where").textContent = `decoding, step ${one.records.length} of ${one.steps}`; };
    byId("answer").setAttribute("aria-busy", "true");
    const made = await decoded(job, stopped, told);
    if (!made) return null;
    const other = away ? await decoded({ ...job, rule: withoutReward(made) }, stopped, told) : null;
    const crossed = other && await stepsCrossed(made, other.rule.scale, breath, stopped);
    const plain = other && !divergence(made, other).words ? await decoded({ ...job, rule: { ...job.rule, name: "default" } }, stopped, told) : null;
    if (stopped()) return null;
    byId("answer").removeAttribute("aria-busy");
    [run, twin, factor, seen] = [made, other, null, null];
    byId("decoded").hidden = false;
    showA = runText(run, byId("answer"));
    if (twin) showB = runText(twin, byId("answer-b"));
    dress(byId("answer"), { "data-tokens": JSON.stringify(run.canvas), "data-commit-step": JSON.stringify(run.commitStep) }, []);
    byId("runs").classList.toggle("two", Boolean(twin));
    byId("twin").hidden = !twin;
    byId("name-a").textContent = twin ? `A: ${titleOf(run.rule)}` : titleOf(run.rule);
    byId("name-b").textContent = twin ? `B: fixed factor ${minus(twin.rule.scale)}, the mean of A\u2019s` : "";
    byId("step").max = run.steps;
    about(job);
    byId("used-said").hidden = run.rule.name !== "rws";
    byId("used").textContent = twin ? "from RWS\u2019s factor at this step to the fixed one" : `the factors that RWS used on this prompt, ${rangeSaid(factorsOf(run))}`;
    byId("decides-said").hidden = !twin;
    board(job);
    share(job);
    tellDifference(crossed, plain);
    follow();
    go(Math.min(at, run.steps));
    return true;
  }

  let waiting = 0;
  function later(milliseconds) {
    clearTimeout(waiting);
    waiting = setTimeout(ask, milliseconds);
  }

  function titleOf(rule) {
    const own = {
      default: "Confidence", temperature: `Fixed factor ${minus(rule.scale)}`, rws: `RWS, s_R = ${minus(rule.reward_scale)}`,
      "random-order": `Random order, seed ${rule.seed}`, "left-to-right": "Left to right",
    }[rule.name];
    return rule.spacing > 1 ? `${own}, minimum spacing ${rule.spacing}` : own;
  }

  function about(job) {
    const own = {
      default: "Confidence decoding: the factor is 1, and the most confident positions are committed first.",
      temperature: "All logits are multiplied by the same factor at every step. No reward is read.",
      rws: "The factor of a step is s_R \u221a(\u03c3(r) + \u03b5), where r is the reward of the draft, normalised, \u03c3 the logistic function, and \u03b5 = 0.00001. "
        + `So it lies between 0 and s_R = ${figures(job.rule.reward_scale)}; on this prompt it was ${rangeSaid(factorsOf(run))}.`,
      "random-order": "Positions are committed in a random order. Factors change nothing here.",
      "left-to-right": "Positions are committed from left to right. Factors change nothing here.",
    }[job.rule.name];
    const spacing = job.rule.spacing > 1 ? ` Positions of one step are at least ${job.rule.spacing} apart, as far as that is possible.` : "";
    byId("about").textContent = own + spacing + (job.rule.name === "rws" ? "" : " The reward is shown beside the text and does not change it.");
  }

  function known({ unknown, words, ids, ignored = [] }) {
    const named = all => all.slice(0, 6).map(word => `\u201c${word.length > 30 ? `${word.slice(0, 30)}\u2026` : word}\u201d`).join(", ") + (all.length > 6 ? ` and ${all.length - 6} more` : "");
    const notes = unknown.length ? [model.unknownNote(named(unknown), ids.length, words)] : [];
    if (ignored.length) notes.push(`It ignores ${named(ignored)}: it reads letters a to z, digits and . , ; : ? !`);
    byId("known").textContent = notes.join(" ") || (words ? byId("known").dataset.usual : "The prompt is empty: the text begins freely.");
    knownGrows();
  }

  // ---- Steps.

  function go(step) {
    at = clamp(step, 0, run.steps);
    byId("step").value = at;
    const where = at === run.steps ? `end, after ${run.steps} steps` : `step ${at} (0 to ${run.steps - 1})`;
    byId("where").textContent = where;
    byId("step").setAttribute("aria-valuetext", where);
    factor = seen = null;
    byId("first").classList.toggle("gone", !frequentGuesses(run.records[at]));
    byId("fixed-said").hidden = byId("differs-said").hidden = !twin;
    showA(at, twin);
    if (twin) showB(at, run);
    const said = sentence(run);
    byId("said-a").textContent = said;
    byId("said-b").textContent = twin ? sentence(twin) : "";
    if (!playing) say(said);
    why();
  }

  /** Return whether nothing is committed yet and most positions have the same few guesses, the 4-gram model's frequent words. */
  function frequentGuesses(record) {
    if (!model.exact || !record || record.before.some(token => token !== engine.MASK)) return false;
    const counts = new Map();
    for (const token of record.candidate) counts.set(token, (counts.get(token) ?? 0) + 1);
    return [...counts.values()].sort((a, b) => b - a).slice(0, 3).reduce((sum, count) => sum + count, 0) > record.candidate.length / 2;
  }

  function sentence(one) {
    const record = one.records[at];
    if (!record) {
      const raw = engine.rewardOf(one, one.canvas), prob = model.exact ? ` Log-probability of the text: ${minus(model.logProb(one.prompt, one.canvas))} nats.` : "";
      return `Done. Reward ${one.reward.name.split(":")[0]} of the text: ${minus(raw)}.${prob}${closeCalls(one)}`;
    }
    const named = record.chosen.slice(0, 4).map(place => cited(record, place)).join(", ") + (record.chosen.length > 4 ? ` and ${record.chosen.length - 4} more` : "");
    return `Step ${at} commits ${named}. Factor ${minus(record.factor)}.${record.ties ? " A tie: the leftmost goes." : record.near ? " A near-tie: rounding could choose another position." : ""}`;
  }

  function closeCalls(one) {
    const near = one.records.filter(record => record.near).map(record => record.step);
    return near.length ? ` Near-ties, which rounding could turn: step${near.length > 1 ? "s" : ""} ${near.join(", ")}.` : "";
  }

  function pause() {
    clearInterval(playing);
    playing = 0;
    byId("play").textContent = "Play";
  }

  function toggle() {
    if (!run) return;
    if (playing) {
      pause();
      return go(at);
    }
    if (at === run.steps) go(0);
    intoSight();
    byId("play").textContent = "Pause";
    playing = setInterval(() => {
      if (at + 1 >= run.steps) pause();
      go(at + 1);
    }, clamp(14000 / run.steps, 250, 900));
  }

  /**
   * Scroll the steps and what they show into sight, no further than needed: a finger that was on Play is then above the end
   * of the text, on none of the buttons below it.
   */
  function intoSight() {
    const first = twin || origin ? byId("differ") : byId("runs"), { height } = document.querySelector(".bar").getBoundingClientRect();
    const above = first.getBoundingClientRect().top - height - 8, below = byId("runs").getBoundingClientRect().bottom - innerHeight;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    scrollBy({ top: Math.min(above, Math.max(0, below)), behavior: calm ? "auto" : "smooth" });
  }

  const move = step => () => { if (run) { pause(); go(step()); } };
  byId("step").addEventListener("input", move(() => Number(byId("step").value)));
  byId("play").addEventListener("click", toggle);
  byId("back").addEventListener("click", move(() => at - 1));
  byId("forward").addEventListener("click", move(() => at + 1));
  onKeys({ " ": toggle, ArrowLeft: move(() => at - 1), ArrowRight: move(() => at + 1), Home: move(() => 0), End: move(() => run.steps) });

  // ---- Why: the picture of the step, the line that is dragged, the draft.

  const drags = byId("factor"), scale = 40, factorAt = value => 2 ** (value / scale - 4);
  const chart = whyChart(byId("chart"), drag);
  drags.addEventListener("input", () => drag(factorAt(Number(drags.value))));

  function drag(to) {
    if (playing) {
      pause();
      go(at);
    }
    setFactor(to);
  }

  byId("own").addEventListener("click", () => setFactor(null));
  byId("nearest").addEventListener("click", async () => {
    const button = byId("nearest"), one = run, usual = button.textContent;
    let best = null;
    pause();
    button.disabled = true;
    for (const record of one.records) {
      button.textContent = `looking at step ${record.step} of ${one.steps}`;
      await breath();
      if (run !== one) break;
      for (const { factor: there } of engine.turns(one, record, curvesOf(one, record).curves)) {
        const far = Math.abs(Math.log(there / record.factor));
        if (!best || far < best.far) best = { far, there, step: record.step };
      }
    }
    button.textContent = usual;
    button.disabled = engine.blind(run.rule);
    if (run !== one) return;
    if (best) go(best.step);
    const nearest = best && "Of all steps this one has the crossing nearest to its factor";
    byId("set").textContent = !best ? "No step has a crossing between 1/16 and 64."
      : twin ? `${nearest}. ${decidedSaid() || besideSaid(best.there)}` : `${nearest}, ${minus(one.records[best.step].factor)}: at ${minus(best.there)}. Drag the line across it.`;
    say(byId("set").textContent);
  });

  let origin = null; // what was shown before a factor was tried, and the settings then
  byId("fix").addEventListener("click", async () => {
    const first = origin ?? { run, settings: { ...settings }, away };
    settings.strategy = `temperature:${Number((factor ?? run.records[at].factor).toPrecision(4))}${run.rule.spacing > 1 ? `+spacing:${run.rule.spacing}` : ""}`;
    delete settings.seed;
    origin = { ...first, asked: JSON.stringify(settings) };
    at = Infinity; // the end, where the text is whole
    if (await ask()) intoSight();
  });

  /** Say how the text of a factor that was tried compares with the text before, and offer the way back. */
  function tellTried() {
    const { words } = divergence(origin.run, run), name = origin.run.rule.name === "rws" ? "RWS" : titleOf(origin.run.rule).replace(/^./, first => first.toLowerCase());
    const back = make("button", { type: "button" }, `Back to ${name}`);
    back.addEventListener("click", async () => {
      settings = { ...origin.settings };
      setAway(origin.away);
      if (await ask()) intoSight();
    });
    const text = words ? `another text than ${name} (${words} of ${run.length} words differ)` : `the same text as ${name}`;
    byId("differ").replaceChildren(`${titleOf(run.rule)} wrote ${text}. `, back);
  }

  function why() {
    const record = run.records[at];
    for (const id of ["factor", "own", "fix"]) byId(id).disabled = !record;
    byId("nearest").disabled = engine.blind(run.rule);
    drawDraft(record);
    if (playing && slow > 120) return; // the curves wait until it stands still
    const begun = performance.now();
    drawCurves(record ?? run.records.at(-1));
    slow = performance.now() - begun;
    if (record) return setFactor(null);
    seen = null; // at the end the curves of the last step stand, and nothing is dragged
    byId("set").textContent = "All positions are committed. These are the curves of the last step: go back to drag the line.";
    byId("changes").replaceChildren();
    byId("changes").classList.remove("more");
    byId("changes-said").textContent = "";
    tellFactor(run.records.at(-1).factor);
  }

  function curvesOf(one, record) {
    const found = engine.look(one, record.before);
    return { found, curves: new Map(record.places.map(place => [place, engine.curve(found.rows.get(place))])) };
  }

  function drawCurves(record) {
    const { found, curves } = curvesOf(run, record);
    seen = found;
    const changes = engine.turns(run, record, curves), ends = twin && [record.factor, twin.rule.scale].sort((a, b) => a - b);
    const decides = there => Boolean(ends) && ends[0] < there && there < ends[1];
    deciding = changes.filter(change => decides(change.factor));
    chart.show(curves, changes, record.factor, record.chosen, place => model.words[record.candidate[place]], twin?.rule.scale, ends ?? (run.rule.name === "rws" ? factorsOf(run) : null), decides);
    const named = place => `position ${place} (\u201c${wordAt(record, place)}\u201d)`;
    byId("changes").replaceChildren(...changes.map(({ factor: r, out, into }) => make("li", { class: decides(r) ? "decides" : "" }, `going up past ${figures(r, 4)}, ${named(into)} replaces ${named(out)}`)));
    const none = engine.blind(run.rule) || record.places.length === record.chosen.length ? "" : "No factor from 1/16 to 64 changes what this step commits.";
    const more = byId("changes").scrollHeight > byId("changes").clientHeight;
    byId("changes").classList.toggle("more", more);
    byId("changes-said").textContent = changes.length ? `${changes.length} crossing${changes.length > 1 ? "s" : ""}${more ? ", scroll for all" : ""}:` : none;
  }

  /** Say which crossings lie between RWS's factor and the fixed one at this step, and what they decide; empty if there are none. */
  function decidedSaid() {
    if (!deciding.length || !seen) return "";
    const record = run.records[at], [one, ...more] = deciding, goes = ({ into, out }) => `position ${out} goes first, above it position ${into}.`;
    const lies = more.length ? `${deciding.length} crossings lie between.` : `the crossing ${minus(one.factor)} lies between.`;
    const each = more.length ? deciding.map(change => `Below ${minus(change.factor)} ${goes(change)}`).join(" ") : `Below it ${goes(one)}`;
    const same = String(engine.choose(run, seen, at, twin.rule.scale, record.before).chosen) === String(record.chosen);
    return `RWS ${minus(record.factor)}, fixed ${minus(twin.rule.scale)}: ${lies} ${each}${same ? " Together they change nothing." : ""}`;
  }

  /** Say that the nearest crossing of this step, and so every one, is not between the two factors. */
  function besideSaid(there) {
    const record = run.records[at], drafts = String(record.before) === String(twin.records[at].before) ? "both commit the same here" : "on A\u2019s draft both would commit the same";
    return `The nearest crossing, ${minus(there)}, is not between RWS\u2019s ${minus(record.factor)} and the fixed ${minus(twin.rule.scale)}, so ${drafts}. `
      + `A factor just ${there > record.factor ? "above" : "below"} ${minus(there)} would not.`;
  }

  /** Move the line to a factor, null for the step's own, and show what would be committed there. */
  function setFactor(to) {
    const record = run?.records[at];
    if (!record || !seen) return;
    factor = to;
    const here = to ?? record.factor, { chosen } = to === null ? record : engine.choose(run, seen, at, here, record.before);
    tellFactor(here);
    chart.set(here, chosen);
    showA(at, twin, chosen);
    const decided = to === null ? decidedSaid() : "";
    byId("said-a").textContent = to === null ? [sentence(run), decided].filter(Boolean).join(" ") : `With the line at factor ${figures(here)}. Press \u201cBack to the factor of the step\u201d to undo.`;
    const off = here < engine.GRID[0] || here > engine.GRID.at(-1) ? " It lies outside the chart." : "";
    const same = String(chosen) === String(record.chosen), named = chosen.slice(0, 5).map(place => cited(record, place)).join(", ") + (chosen.length > 5 ? ` and ${chosen.length - 5} more` : "");
    const verdict = engine.blind(run.rule) ? "This order does not look at confidence: no factor changes it."
      : to === null ? decided || "This is the factor of the step." : same ? "The step committed the same." : "Not what the step committed: the line has passed a crossing.";
    byId("set").textContent = `At factor ${figures(here)} the step commits ${named}. ${verdict}${off}`;
    if (to !== null) say(byId("set").textContent);
  }

  function tellFactor(here) {
    drags.value = Math.round((Math.log2(here) + 4) * scale);
    drags.setAttribute("aria-valuetext", figures(here));
    byId("factor-said").textContent = figures(here);
  }

  function drawDraft(record) {
    const tokens = record ? record.candidate : run.canvas, raw = engine.rewardOf(run, tokens), r = engine.normalised(run.reward, raw);
    byId("draft").textContent = model.textOf(engine.beforeEnd(tokens, model.end));
    const scored = `Reward ${run.reward.name.split(":")[0]}: ${minus(raw)}. Normalised, in SD from the mean: r = ${minus(r)}. ${run.reward.scale}`;
    const read = run.rule.name === "rws" && record ? ` RWS makes it the factor ${minus(run.rule.reward_scale)} \u00b7 \u221a(\u03c3(${minus(r)}) + \u03b5) = ${minus(record.factor)}.` : " This strategy does not read it.";
    byId("worth").textContent = scored + (record ? read : "");
  }

  // ---- Take the reward away.

  let before = null; // the strategy that RWS stands in for while the reward is taken away

  function setAway(to) {
    [away, before] = [to, null];
    byId("away").classList.toggle("on", away);
    byId("away").textContent = away ? "Put the reward back" : "Take the reward away";
  }

  byId("away").addEventListener("click", async () => {
    const button = byId("away"), { top } = button.getBoundingClientRect(), own = before;
    setAway(!away);
    if (away && !settings.strategy.startsWith("rws")) [before, settings.strategy] = [settings.strategy, "rws:8"];
    else if (!away && own) settings.strategy = own;
    if (!await ask()) return;
    if (away) intoSight();
    else scrollBy(0, button.getBoundingClientRect().top - top); // what goes above does not move the button
  });

  function tellDifference(crossed, plain) {
    if (origin?.asked !== JSON.stringify(settings)) origin = null;
    byId("differ").hidden = !twin && !origin;
    if (origin) return tellTried();
    if (!twin) return;
    const { step } = divergence(run, twin), there = make("button", { type: "button" }, `Go to step ${step}`);
    there.addEventListener("click", () => { pause(); go(step); });
    byId("differ").replaceChildren(`${before ? "Only RWS reads the reward, so the strategy is RWS now. " : ""}${verdict(run, twin, crossed)} ${plain ? `${plainSaid(run, plain)} ` : ""}`, ...(step < 0 ? [] : [there]));
  }

  const follow = promptCount({
    jobOf, decoded, breath, problem,
    settings: prompt => ({ ...settings, prompt, strategy: settings.strategy.startsWith("rws") ? settings.strategy : "rws:8" }),
    describe: asked => safely(() => {
      const { rule, reward, length, steps, block } = jobOf(asked);
      return `${titleOf(rule)}; reward ${reward.name}; ${length} ${model.unit} in ${steps} steps${block < length ? `, in blocks of ${block}` : ""}`;
    }),
    async open(asked) {
      settings = { ...asked };
      setAway(true);
      at = 0;
      if (await ask()) intoSight();
    },
  });

  // ---- Controls.

  const board = chooseBoard(model, decoded, breath);
  const share = shareRun(model, () => run, () => settings);
  byId("first").hidden = !model.exact;
  const knownGrows = onlyGrows(byId("known"));
  byId("known").dataset.usual = byId("known").textContent;
  completions(model, byId("prompt"), byId("completions"), half => {
    if (half) return clearTimeout(waiting); // a word that is being typed is not decoded
    settings.prompt = byId("prompt").value.replace(/[\ud800-\udfff]/gu, "\ufffd"); // half a character is no part of an address
    at = 0;
    later(250);
  });
  byId("ask").addEventListener("submit", event => event.preventDefault());
  byId("strategy").addEventListener("change", () => readStrategy(true));
  byId("number").addEventListener("input", () => {
    readStrategyLater();
  });
  const readStrategyLater = () => {
    const kind = byId("strategy").value, position = Number(byId("number").value);
    byId("number-said").textContent = figures(kind === "spacing" || kind === "random-order" ? position : Number((2 ** position).toPrecision(3)), 3);
    clearTimeout(readStrategyLater.waiting);
    readStrategyLater.waiting = setTimeout(() => readStrategy(false), 120);
  };
  byId("reward").addEventListener("change", () => {
    settings.reward = byId("reward").value === "keywords" ? `keywords:${byId("keywords").value}` : byId("reward").value;
    ask();
  });
  byId("keywords").addEventListener("input", () => {
    settings.reward = `keywords:${byId("keywords").value}`;
    later(400);
  });
  byId("length").addEventListener("change", () => resize({ length: Number(byId("length").value) }));
  byId("pace").addEventListener("change", () => resize({}));
  byId("block").addEventListener("change", () => resize({ block: Number(byId("block").value) }));
  function resize({ length = settings.length, block }) {
    const pace = Number(byId("pace").value) || 1, size = block ?? (length === settings.length ? settings.block : undefined);
    const own = size ?? engine.usualBlock(length), blocks = length / own;
    Object.assign(settings, { length, block: size, steps: Math.max(blocks, Math.ceil(own / pace) * blocks) });
    at = 0;
    ask();
  }
  byId("another").addEventListener("click", () => {
    settings.prompt = data.prompts[Math.floor(Math.random() * data.prompts.length)];
    at = 0;
    ask();
  });

  /** Begin with what the address says; where it says nothing that can be read, with the usual, and say why. */
  async function begin() {
    try {
      settings = { ...data.start, ...(location.hash.length > 1 ? { steps: undefined, block: undefined, ...fromFragment(location.hash) } : {}) };
    } catch (error) {
      settings = { ...data.start };
      if (await ask()) problem(error);
      return;
    }
    [at, before] = [0, null];
    if (await ask() !== false || run) return;
    const said = byId("problem").textContent; // the address asks for what cannot be decoded
    settings = { ...data.start };
    if (await ask()) problem(new Refused(said));
  }
  if (matchMedia("(max-width: 600px)").matches) byId("settings").open = false;
  addEventListener("hashchange", begin);
  await begin();
}

playground().catch(error => {
  console.error(error);
  byId("problem").hidden = false;
  byId("problem").textContent = "This page could not start: it needs a browser of 2023 or newer.";
});
