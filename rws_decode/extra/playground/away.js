/** Take the reward away: where two decodes diverge and why, and the same question over a set of prompts. */

/** Return a run's rule with a fixed factor in place of RWS, the mean of its factors. */
const withoutReward = run => ({ ...run.rule, name: "temperature", scale: run.records.reduce((sum, record) => sum + record.factor, 0) / run.steps });

/** Return the smallest and the largest factor of a run. */
function factorsOf(run) {
  const all = run.records.map(record => record.factor);
  return [Math.min(...all), Math.max(...all)];
}

/** Return whether the factor of a run never changed: then a fixed one is no other, and the reward is not tested. */
function even(run) {
  const [low, high] = factorsOf(run);
  return low === high;
}

/** Say what follows from that, and how a reward that does change can be had. */
function untested({ name }) {
  const rare = name.startsWith("keywords:") && !/\b(people|government)\b/.test(name);
  return `so this does not test it${rare ? ": choose words that the model writes, such as people or government" : ""}.`;
}

/** Return a range of factors in words. */
function rangeSaid([low, high]) {
  const [from, to] = [low, high].map(factor => figures(factor, 3));
  return from === to ? from : `${from} to ${to}`;
}

/** Count the steps of a run at which a fixed factor has a crossing between it and theirs; null if `stopped` says so. */
async function stepsCrossed(run, factor, breath, stopped) {
  let count = 0;
  for (let last = performance.now(), n = 0; n < run.steps; n += 1) {
    count += engine.crossed(run, run.records[n], factor);
    if (performance.now() - last < 30) continue;
    await breath();
    if (stopped()) return null;
    last = performance.now();
  }
  return count;
}

/** Return the first step at which two decodes commit different words or positions, -1 if none, and in how many words they differ. */
function divergence(one, other) {
  const committed = record => String(record.chosen.map(place => [place, record.candidate[place]]));
  return {
    step: one.records.findIndex((record, n) => committed(record) !== committed(other.records[n])),
    words: one.canvas.filter((token, place) => token !== other.canvas[place]).length,
  };
}

/** Say whether A, of RWS, and B, of its mean factor, differ, and why. crossed: the steps with a crossing between their factors. */
function verdict(one, other, crossed) {
  const { step, words } = divergence(one, other), range = rangeSaid(factorsOf(one)), fixed = figures(other.rule.scale);
  const went = `RWS\u2019s factor ${range.includes(" ") ? `went from ${range}` : `was ${range} at every step`}.`;
  const [lies, lie] = engine.ordered(one.rule) ? ["the two factors commit", "do the two factors commit"].map(said => `${said} different positions`)
    : ["a crossing lies", "does a crossing lie"].map(said => `${said} between its factor and the fixed factor ${fixed}`);
  const count = `At ${crossed} of ${one.steps} steps ${lies}.`;
  if (step < 0) {
    const why = even(one) ? `The reward was the same for every draft, ${untested(one.reward)}` : crossed ? `${count} Each time a second one turns it back.` : `At no step ${lie}, so the reward could not change the text.`;
    return `Both texts are the same. ${went} ${why}`;
  }
  const why = crossed ? ` ${went} ${count}` : "";
  if (!words) return `Both texts are the same. A and B diverge at step ${step}: the reward changed the order, not the text.${why}`;
  const [a, b] = [one, other].map(run => engine.rewardOf(run, run.canvas));
  return `The texts differ in ${words} of ${one.length} words. A and B diverge at step ${step}.${why} ${moreReward(a, b)}`;
}

/** Say which of two decodes has more reward. */
function moreReward(a, b) {
  if (a === b) return "Both have the same reward.";
  if (Math.abs(a - b) < 0.01) return `Both have practically the same reward: ${figures(a)} and ${figures(b)}.`;
  const winner = a > b ? "A (with the reward)" : "B (without it)";
  return `${winner} has more reward: ${figures(Math.max(a, b))} against ${figures(Math.min(a, b))}.`;
}

/** Say whether confidence decoding writes another text than a run, so whether the size of the factor mattered. */
function plainSaid(run, plain) {
  const { words } = divergence(run, plain);
  return `Confidence decoding (factor 1) writes ${words ? `another: ${words} of ${run.length} words differ` : "the same text, too"}.`;
}

/**
 * Count over a set of prompts, always the same, in how many the reward changes the text. settings(prompt): what is asked for now,
 * with RWS. describe(settings): they in words, null for what cannot be decoded. open(settings): show a prompt. Returns `follow()`, to be called when settings change.
 */
function promptCount({ jobOf, decoded, breath, settings, describe, open, problem }) {
  const usual = byId("fifty").textContent, host = byId("counted"), every = Math.max(1, data.prompts.length / 50);
  const prompts = Array.from({ length: Math.min(50, data.prompts.length) }, (_, n) => data.prompts[Math.floor(n * every)]);
  const stale = make("p", { hidden: "" }, "Settings have changed since: count again.");
  let counting = 0, counted = null; // what is shown was counted with these settings
  const follow = () => {
    const changed = counted !== null && counted !== describe(settings(""));
    stale.hidden = !changed;
    host.classList.toggle("stale", changed);
  };

  /**
   * Show what was found. gains: of the prompts so far, in SD; changed: those with another text; unmoved: how many had one factor
   * throughout; ended: no more will come.
   */
  function tell(gains, changed, unmoved, reward, ended) {
    const total = gains.length, same = total - changed.length, mean = gains.reduce((sum, gain) => sum + gain, 0) / total;
    const error = Math.sqrt(gains.reduce((sum, gain) => sum + (gain - mean) ** 2, 0) / (total - 1) / total);
    const signed = value => value.toFixed(3).replace("-", "\u2212"), lines = [];
    if (ended && total < prompts.length) lines.push(total ? `Stopped after ${total} of ${prompts.length} prompts. ` : "Stopped before the first prompt.");
    if (total) lines.push(`For ${same} of ${total} sample prompts RWS wrote the same text as its own mean factor held fixed (blue).`);
    if (changed.length) lines.push(` For ${changed.length} it wrote another text (orange)${ended ? ". Open one: " : "."}`);
    const buttons = ended ? changed.map(asked => {
      const button = make("button", { type: "button", title: asked.prompt }, `${asked.prompt.split(" ").slice(0, 3).join(" ")}\u2026`);
      button.addEventListener("click", () => open(asked));
      return button;
    }) : [];
    const gained = mean > 2 * error ? "more than 2 standard errors above zero, a gain" : mean < -2 * error ? "more than 2 standard errors below zero, a loss"
      : "within 2 standard errors of zero, no measurable gain";
    const gain = `${signed(mean)} \u00b1 ${signed(error)} SD (mean \u00b1 standard error, in SD of the reward)`;
    const average = total > 1 ? [make("p", {}, `Reward of RWS minus that of the fixed factor: ${gain}${ended ? `: ${gained}` : " so far"}.`)] : [];
    const idle = unmoved === total ? `The reward was the same for every draft, ${untested(reward)}` : `For ${unmoved} of ${total} the reward was the same for every draft: they do not test it.`;
    const bar = total ? [make("div", { class: "fifty", role: "img", "aria-label": `${same} of ${total} texts are the same` },
      ...[same, changed.length].map(n => make("span", { style: `width: ${100 * n / prompts.length}%` })))] : [];
    const parts = [make("p", {}, ...lines, ...buttons.flatMap(button => [button, " "])), ...(unmoved ? [make("p", {}, idle)] : []), ...(unmoved < total ? average : []), ...bar];
    host.replaceChildren(...parts, make("p", { class: "note" }, `Counted with ${counted}.`), stale);
    host.hidden = false;
    follow();
  }

  byId("stop-fifty").addEventListener("click", () => { counting += 1; });
  byId("fifty").addEventListener("click", async () => {
    const mine = counting += 1, stopped = () => mine !== counting, gains = [], changed = [];
    let unmoved = 0;
    try {
      const asked = settings(""), { prompt: _, ...job } = jobOf(asked), score = made => engine.normalised(job.reward, engine.rewardOf(made, made.canvas));
      counted = describe(asked);
      host.hidden = true;
      host.setAttribute("aria-busy", "true"); // it is read when it is complete
      byId("stop-fifty").hidden = false;
      byId("fifty").disabled = true;
      for (const prompt of prompts) {
        byId("fifty").textContent = `prompt ${gains.length + 1} of ${prompts.length}`;
        await breath();
        const own = { ...job, prompt: jobOf({ ...asked, prompt }).prompt }, one = stopped() ? null : await decoded(own, stopped);
        const other = one && await decoded({ ...own, rule: withoutReward(one) }, stopped);
        if (!other) break;
        gains.push(score(one) - score(other));
        unmoved += even(one);
        if (divergence(one, other).words) changed.push({ ...asked, prompt });
        tell(gains, changed, unmoved, job.reward, false);
      }
      host.removeAttribute("aria-busy");
      tell(gains, changed, unmoved, job.reward, true);
    } catch (error) {
      problem(error);
    }
    byId("fifty").textContent = usual;
    byId("stop-fifty").hidden = true;
    byId("fifty").disabled = false;
  });
  return follow;
}
