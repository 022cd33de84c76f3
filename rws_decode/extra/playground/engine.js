/**
 * The decode loop, the strategies, the rewards of the 4-gram model, and the crossings of two confidences, float64.
 * The counterpart of rws_decode (step/, strategies/, canvas/schedule.py, rewards/world.py) and rws_theory.crossings.
 * No DOM in here. A predictor is an object with `logits(prompt, canvas)`, a reward one with `score(tokens, prompt)`.
 */
const engine = (() => {
  "use strict";
  const MASK = -1, EPS = 1e-5, SHOWN = [2 ** -4, 2 ** 6]; // the factors that a picture shows

  /** What a reader did wrong, in one line. */
  class Refused extends Error {}

  // ---- The plan: how many positions each step commits, and in which block (canvas/schedule.py, settings.py).

  function usualBlock(length) {
    for (let block = 32; block >= 8; block -= 1) if (length % block === 0) return block;
    return length;
  }

  function plan({ length, steps, block }) {
    const whole = (name, value, most) => {
      if (!Number.isInteger(value) || value < 1 || value > most) throw new Refused(`${name} is ${value}: a whole number from 1 to ${most} is needed.`);
    };
    whole("length", length, 1024);
    const size = block ?? usualBlock(length);
    whole("block", size, length);
    if (length % size) throw new Refused(`block is ${size}: it must divide the length, ${length}.`);
    const blocks = length / size, all = steps ?? blocks * Math.ceil(size / 2);
    whole("steps", all, length);
    if (all % blocks) throw new Refused(`steps is ${all}: a multiple of ${blocks}, the number of blocks, is needed.`);
    const each = Math.floor(size / (all / blocks)), rest = size % (all / blocks), steps_ = [];
    for (let start = 0; start < length; start += size) {
      for (let n = 0; n < all / blocks; n += 1) steps_.push({ start, stop: start + size, commits: each + (n < rest) });
    }
    return { length, steps: all, block: size, plan: steps_ };
  }

  // ---- Strategies: what the text "rws:8" or "default+spacing:3" names (strategies/table.py).

  const KINDS = { default: null, temperature: "scale", rws: "reward_scale", "random-order": null, "left-to-right": null };

  function strategy(text, seed = 0) {
    const [head, ...more] = text.split("+"), [name, number, ...odd] = head.split(":");
    if (!Object.hasOwn(KINDS, name) || odd.length) throw new Refused(`strategy is \u201c${text.slice(0, 40)}\u201d: one of ${Object.keys(KINDS).join(", ")} is needed here.`);
    const rule = { name, seed, spacing: 1 };
    if (KINDS[name]) {
      const value = number === undefined || number.trim() === "" ? NaN : Number(number);
      if (!(value > 0 && value < 1e150)) throw new Refused(`strategy is \u201c${text.slice(0, 40)}\u201d: a positive number is needed, as in ${name}:4.`);
      rule[KINDS[name]] = value;
    } else if (number !== undefined) throw new Refused(`strategy is \u201c${text.slice(0, 40)}\u201d: ${name} takes no number.`);
    for (const part of more) {
      const spacing = /^spacing:(\d{1,4})$/.exec(part);
      if (!spacing || Number(spacing[1]) < 1) throw new Refused(`strategy is \u201c${text.slice(0, 40)}\u201d: after the plus, spacing:3 or the like is needed.`);
      rule.spacing = Number(spacing[1]);
    }
    if (!Number.isSafeInteger(seed) || seed < 0 || seed >= 2 ** 32) throw new Refused(`seed is ${seed}: a whole number from 0 is needed.`);
    return rule;
  }

  const blind = rule => rule.name === "random-order" || rule.name === "left-to-right"; // its order is no matter of confidence
  const ordered = rule => blind(rule) || rule.spacing > 1;

  function factorOf(rule, reward) {
    if (rule.factor !== undefined) return rule.factor; // one that the reader drags
    if (rule.name === "temperature") return rule.scale;
    if (rule.name !== "rws") return 1;
    return rule.reward_scale * Math.sqrt(1 / (1 + Math.exp(-reward)) + EPS);
  }

  /** Return the first `count` numbers of numpy.random.default_rng(seed).random: PCG64, seeded by SeedSequence. */
  function randoms(seed, count) {
    const times = Math.imul, pool = [], out = [];
    let hash = 0x43b0d7e5;
    const mixed = value => {
      let v = (value ^ hash) >>> 0;
      hash = times(hash, 0x931e8875) >>> 0;
      v = times(v, hash) >>> 0;
      return (v ^ (v >>> 16)) >>> 0;
    };
    for (let i = 0; i < 4; i += 1) pool.push(mixed(i ? 0 : seed));
    for (let from = 0; from < 4; from += 1) {
      for (let to = 0; to < 4; to += 1) {
        if (from === to) continue;
        const v = (times(0xca01f9dd, pool[to]) - times(0x4973f715, mixed(pool[from]))) >>> 0;
        pool[to] = (v ^ (v >>> 16)) >>> 0;
      }
    }
    hash = 0x8b51f9dd;
    for (let i = 0; i < 8; i += 1) {
      let v = (pool[i % 4] ^ hash) >>> 0;
      hash = times(hash, 0x58f38ded) >>> 0;
      v = times(v, hash) >>> 0;
      out.push(BigInt((v ^ (v >>> 16)) >>> 0));
    }
    const word = n => out[2 * n] | (out[2 * n + 1] << 32n), big = (1n << 128n) - 1n;
    const increment = (((word(2) << 64n | word(3)) << 1n) | 1n) & big, multiplier = 0x2360ed051fc65da44385df649fccf645n;
    const advance = state => (state * multiplier + increment) & big;
    let state = advance((advance(0n) + (word(0) << 64n | word(1))) & big);
    return Array.from({ length: count }, () => {
      state = advance(state);
      const both = (state >> 64n) ^ (state & (1n << 64n) - 1n), turn = state >> 122n;
      const turned = (both >> turn | both << (64n - turn) & (1n << 64n) - 1n) & (1n << 64n) - 1n;
      return Number(turned >> 11n) * 2 ** -53;
    });
  }

  // ---- Confidence (step/select.py): log-odds of the best token at a factor, which never saturate.

  /** Return a row's best token, the first of equals, its lead over the next, and the row's largest finite number. */
  function best(row) {
    let token = 0, second = -Infinity, most = 0;
    for (let v = 1; v < row.length; v += 1) {
      if (row[v] > row[token]) {
        second = row[token];
        token = v;
      } else if (row[v] > second) second = row[v];
    }
    for (let v = 0; v < row.length; v += 1) if (row[v] > -Infinity && Math.abs(row[v]) > most) most = Math.abs(row[v]);
    return { token, second, lead: row[token] - second, most };
  }

  /** Return the log-odds of the best token of a row at a factor; what is below e^-60 of the next best adds nothing. */
  function logOdds(row, { token, second }, factor) {
    const top = row[token], anchor = (second - top) * factor;
    if (second === -Infinity) return Infinity;
    let sum = 0;
    for (let v = 0; v < row.length; v += 1) {
      const exponent = (row[v] - top) * factor - anchor;
      if (exponent > -60 && v !== token) sum += Math.exp(exponent);
    }
    return -(Math.log(sum) + anchor);
  }

  /** Return the k places of largest value, the leftmost of equals first. */
  function topOf(places, value, k) {
    return [...places].sort((a, b) => value(b) - value(a) || a - b).slice(0, k).sort((a, b) => a - b);
  }

  /** Return 0 for the places that go, less for the others: those of largest value at least `spacing` from each other. */
  function spaced(places, value, k, spacing) {
    const chosen = [], lead = new Map(places.map(place => [place, -Infinity])), near = new Map(places.map(place => [place, spacing]));
    for (let n = 0; n < k; n += 1) {
      const left = places.filter(place => !chosen.includes(place)), most = Math.max(...left.map(place => near.get(place)));
      const far = left.filter(place => near.get(place) === most), [pick] = topOf(far, value, 1);
      chosen.push(pick);
      for (const place of far) lead.set(place, Math.max(lead.get(place), value(place) - value(pick) || 0));
      for (const place of places) near.set(place, Math.min(near.get(place), Math.abs(place - pick)));
    }
    return new Map(places.map(place => [place, chosen.includes(place) ? 0 : Math.min(lead.get(place), -2.2250738585072014e-308)]));
  }

  // ---- Rewards (rewards/world.py): sums over the words before the end of text.

  function beforeEnd(tokens, end) {
    const at = end === null ? -1 : tokens.indexOf(end);
    return at < 0 ? tokens : tokens.slice(0, at);
  }

  function era(model, { scores, mean, std }) {
    return { name: "era", mean, std, bounds: null, score: tokens => beforeEnd(tokens, model.end).reduce((sum, word) => sum + scores[word], 0) };
  }

  function keywords(model, phrases, unigram) {
    const rows = phrases.map(phrase => {
      const { ids, unknown } = model.read(phrase);
      if (unknown.length || !ids.length) throw new Refused(`The model does not know the keyword \u201c${phrase.trim().slice(0, 40)}\u201d: choose words that complete as you type.`);
      return ids;
    }).filter((row, n, all) => all.findIndex(other => String(other) === String(row)) === n);
    if (rows.length > 12) throw new Refused(`These are ${rows.length} keywords: at most 12 fit here.`);
    const seen = rows.map(row => 1 - (1 - row.reduce((product, word) => product * unigram[word], 1)) ** Math.max(0, 33 - row.length));
    return {
      name: `keywords:${rows.map(row => model.textOf(row)).join(",")}`, bounds: [0, rows.length],
      mean: seen.reduce((sum, p) => sum + p, 0), std: Math.sqrt(seen.reduce((sum, p) => sum + p * (1 - p), 0)),
      score: tokens => {
        const text = beforeEnd(tokens, model.end);
        return rows.filter(row => text.some((_, at) => row.every((word, n) => text[at + n] === word))).length;
      },
    };
  }

  const normalised = (reward, raw) => (raw - reward.mean) / reward.std;

  // ---- The loop (step/step.py): complete, score, scale, commit.

  /** Return a decode before its first step. job: prompt (ids), rule, reward or null, and a plan's length, steps, block. */
  function begin(model, job) {
    const shape = plan(job);
    return {
      model, prompt: job.prompt, rule: job.rule, reward: job.reward, ...shape, canvas: Array(shape.length).fill(MASK),
      commitStep: Array(shape.length).fill(-1), records: [], known: new Map(),
      order: job.rule.name === "random-order" ? randoms(job.rule.seed, shape.length) : null,
    };
  }

  const done = run => run.records.length === run.steps;

  /** Return the rows of a run's masked positions before its next step, or before one that it has done, with their best tokens. */
  function look(run, canvas = run.canvas) {
    const rows = run.model.logits(run.prompt, canvas), candidate = canvas.slice(), bests = new Map();
    for (const [position, row] of rows) {
      bests.set(position, best(row));
      candidate[position] = bests.get(position).token;
    }
    return { rows, candidate, bests };
  }

  /** Return what a step would commit at a factor: log-odds of the block's masked positions, values, and the chosen. */
  function choose(run, seen, number, factor, canvas = run.canvas) {
    const { start, stop, commits } = run.plan[number];
    const places = [...canvas.keys()].filter(place => place >= start && place < stop && canvas[place] === MASK);
    const odds = new Map(places.map(place => [place, logOdds(seen.rows.get(place), seen.bests.get(place), factor)]));
    let value = odds;
    if (run.rule.name === "left-to-right") value = new Map(places.map(place => [place, 0 - place]));
    if (run.order) value = new Map(places.map(place => [place, run.order[place]]));
    if (run.rule.spacing > 1) {
      const own = value;
      value = spaced(places, place => own.get(place), commits, run.rule.spacing);
    }
    return { places, odds, value, chosen: topOf(places, place => value.get(place), commits), ...cutOf(run, seen, places, odds, value, commits, factor) };
  }

  /** Count the positions level with the last that goes, and those that rounding could move across the cut (rounding.py). */
  function cutOf(run, seen, places, odds, value, commits, factor) {
    const chosen = topOf(places, place => value.get(place), commits), rest = places.filter(place => !chosen.includes(place));
    const least = Math.min(...chosen.map(place => value.get(place))), ties = rest.filter(place => value.get(place) === least).length;
    if (!rest.length) return { ties, near: 0 };
    const sensitive = run.rule.spacing > 1 || !ordered(run.rule) ? 2 : 0;
    const reach = place => {
      const error = errorOf(run.model, seen.bests.get(place)) * factor * sensitive;
      return ordered(run.rule) ? error : error + 2 ** -52 * (1 + Math.abs(odds.get(place)) || 0);
    };
    const floor = Math.min(...chosen.map(place => value.get(place) - reach(place))), roof = Math.max(...rest.map(place => value.get(place) + reach(place)));
    const near = chosen.filter(place => value.get(place) - reach(place) <= roof).length + rest.filter(place => value.get(place) + reach(place) >= floor).length;
    return { ties, near: floor <= roof ? near : 0 };
  }

  /** Return by how much a row of logits may differ from Python's: 64 units of rounding of its largest number. */
  const errorOf = (model, found) => 64 * model.eps * found.most;

  /** Return the raw reward of an answer, scored once for each text. */
  function rewardOf(run, tokens, reward = run.reward) {
    const key = `${reward.name}|${beforeEnd(tokens, run.model.end)}`;
    if (!run.known.has(key)) run.known.set(key, reward.score(tokens, run.prompt));
    return run.known.get(key);
  }

  /** Take a step of a run; return its record. */
  function step(run) {
    const number = run.records.length, before = run.canvas.slice();
    const seen = look(run); // Step 1: every masked position gets its best token
    const asks = run.rule.name === "rws" && run.rule.factor === undefined;
    let raw = null, use = 0;
    if (asks) { // Step 2: the reward of the completed draft
      const had = run.known.size;
      raw = rewardOf(run, seen.candidate);
      use = run.known.size > had ? 1 : 2;
    }
    const factor = factorOf(run.rule, raw === null ? null : normalised(run.reward, raw)); // Step 3
    const choice = choose(run, seen, number, factor); // Step 4
    const plain = factor === 1 && !ordered(run.rule) ? choice.chosen
      : topOf(choice.places, place => logOdds(seen.rows.get(place), seen.bests.get(place), 1), run.plan[number].commits);
    const unsure = [...seen.bests].filter(([place, found]) => found.lead <= 2 * errorOf(run.model, found) && (asks || choice.chosen.includes(place))).length;
    for (const place of choice.chosen) {
      run.canvas[place] = seen.candidate[place];
      run.commitStep[place] = number;
    }
    const record = {
      step: number, before, candidate: seen.candidate, factor, raw, normalised: raw === null ? null : normalised(run.reward, raw), use,
      places: choice.places, odds: choice.odds, value: choice.value, chosen: choice.chosen, unscaled: plain, ties: choice.ties, near: choice.near, unsure,
    };
    run.records.push(record);
    return record;
  }

  /** Run all steps; return the run. */
  function decode(model, job) {
    const run = begin(model, job);
    while (!done(run)) step(run);
    return run;
  }

  /** Return the tokens that a random order gives, as `decode` does, without what else a step would look at. */
  function inOrder(model, job) {
    const { canvas, order, plan: steps } = begin(model, job);
    if (!model.row) return decode(model, job).canvas;
    for (const { start, stop, commits } of steps) {
      const places = topOf([...canvas.keys()].filter(place => place >= start && place < stop && canvas[place] === MASK), place => order[place], commits);
      places.map(place => best(model.row(job.prompt, canvas, place)).token).forEach((token, n) => { canvas[places[n]] = token; });
    }
    return canvas;
  }

  // ---- Crossings (rws_theory.crossings): factors at which two positions are equally confident.

  /** Return the gaps of a row below its largest number, ascending, the largest itself left out. */
  function gapsOf(row) {
    const sorted = Float64Array.from(row).sort(), top = sorted.at(-1), gaps = new Float64Array(sorted.length - 1);
    for (let n = 0; n < gaps.length; n += 1) gaps[n] = top - sorted[sorted.length - 2 - n];
    return gaps;
  }

  /** Return the log-odds of a row at a factor, and their slope. They are concave in the factor (docs/theory.md). */
  function pointOf(gaps, r) {
    let sum = 0, moment = 0;
    for (let n = gaps.length - 1; n > 0; n -= 1) {
      const gap = gaps[n] - gaps[0], power = Math.exp(-r * gap);
      sum += power;
      if (power > 0) moment += power * gap; // a gap may be infinite
    }
    const rest = Math.log1p(sum);
    return { value: r * gaps[0] - rest, rest, slope: gaps[0] + moment / (1 + sum) };
  }

  const oddsOfGaps = (gaps, r) => pointOf(gaps, r).value;

  const GRID = Array.from({ length: 81 }, (_, n) => SHOWN[0] * 2 ** (n / 8));

  /** Return the log-odds of a row at the factors of GRID, and their slopes. By squaring: exp(-2 r u) = exp(-r u)^2. */
  function curve(row) {
    const gaps = gapsOf(row), [values, rests, slopes, sums, moments] = Array.from({ length: 5 }, () => new Float64Array(GRID.length));
    for (let n = gaps.length - 1; n > 0; n -= 1) {
      const gap = gaps[n] - gaps[0];
      for (let first = 0; first < 8; first += 1) {
        let power = Math.exp(-GRID[first] * gap);
        for (let at = first; at < GRID.length && power > 1e-30; at += 8) {
          sums[at] += power;
          moments[at] += power * gap;
          power *= power;
        }
      }
    }
    for (let at = 0; at < GRID.length; at += 1) {
      rests[at] = Math.log1p(sums[at]);
      values[at] = GRID[at] * gaps[0] - rests[at];
      slopes[at] = gaps[0] + moments[at] / (1 + sums[at]);
    }
    return { gaps, values, rests, slopes };
  }

  /** Return the same at the factors of a short grid. */
  function pointsOf(row, grid) {
    const gaps = gapsOf(row), points = grid.map(r => pointOf(gaps, r));
    return { gaps, values: points.map(point => point.value), rests: points.map(point => point.rest), slopes: points.map(point => point.slope) };
  }

  /**
   * Return the factors within a grid at which two positions are equally confident, ascending, from their curves.
   * An interval is left where it holds none, as tangents and chords bound concave curves, or where the difference of the
   * curves is monotone; else it is halved, up to `budget.left` times: two curves that all but coincide take more.
   */
  function crossings(a, b, budget = { left: 1000 }, grid = GRID) {
    const points = [], lead = a.gaps[0] - b.gaps[0];
    if (!Number.isFinite(a.gaps[0]) || !Number.isFinite(b.gaps[0])) return points; // one token is certain at every factor
    const end = (r, x, y) => ({ r, x, y, d: r * lead - (x.rest - y.rest), noise: 2 ** -46 * (r * Math.abs(lead) + x.rest + y.rest) + 1e-26 });
    const between = r => end(r, pointOf(a.gaps, r), pointOf(b.gaps, r)), sure = one => Math.abs(one.d) > one.noise;
    const stored = (one, n) => ({ value: one.values[n], rest: one.rests[n], slope: one.slopes[n] });
    let last = null; // where the sign was last beyond rounding
    const search = (from, to) => {
      const middle = Math.sqrt(from.r * to.r), tight = middle <= from.r || middle >= to.r || (!sure(from) && !sure(to));
      const monotone = to.x.slope > from.y.slope || from.x.slope < to.y.slope; // slopes fall along a concave curve
      const none = from.d * to.d > 0 && (from.d > 0 ? clearance(from, to, "x", "y") : clearance(from, to, "y", "x")) > from.noise;
      if (!tight && !monotone && !none && budget.left > 0) {
        budget.left -= 1;
        const half = between(middle);
        search(from, half);
        search(half, to);
      } else if (sure(to)) {
        if (last && Math.sign(last.d) !== Math.sign(to.d)) points.push(zero(r => between(r).d, last.r, to.r));
        last = to;
      }
    };
    const ends = grid.map((r, n) => end(r, stored(a, n), stored(b, n)));
    if (sure(ends[0])) [last] = ends;
    for (let n = 0; n + 1 < ends.length; n += 1) search(ends[n], ends[n + 1]);
    return points;
  }

  /** Return the least distance between the chord of a concave curve and the two tangents of another one below it. */
  function clearance(from, to, above, below) {
    const width = to.r - from.r, low = [from[below], to[below]], high = [from[above], to[above]];
    const bend = low[0].slope - low[1].slope, t = bend > 0 ? (low[1].value - low[0].value - low[1].slope * width) / bend : 0;
    const x = Math.min(width, Math.max(0, t)), chord = high[0].value + (high[1].value - high[0].value) * x / width;
    return Math.min(Math.abs(from.d), Math.abs(to.d), chord - (low[0].value + low[0].slope * x));
  }

  /** Return a zero of a function between two points where its signs differ (Chandrupatla 1997). */
  function zero(at, low, high) {
    let [a, b] = [low, high], [fa, fb] = [at(a), at(b)], c = a, fc = fa, share = 0.5;
    if (fa * fb >= 0) return fa === 0 ? a : b;
    for (let n = 0; n < 100; n += 1) {
      const x = a + share * (b - a), f = at(x);
      if (Math.sign(f) === Math.sign(fa)) [c, fc] = [a, fa];
      else [c, fc, b, fb] = [b, fb, a, fa];
      [a, fa] = [x, f];
      const root = Math.abs(fa) < Math.abs(fb) ? a : b, least = 2 ** -51 * Math.abs(root) / Math.abs(b - a);
      if (least > 0.5 || fa === 0) return root;
      const xi = (a - b) / (c - b), phi = (fa - fb) / (fc - fb), smooth = 1 - Math.sqrt(1 - xi) < phi && phi < Math.sqrt(xi);
      share = smooth ? fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb) : 0.5;
      share = Math.min(1 - least, Math.max(least, share));
    }
    return a;
  }

  /** Return the factors at which the k most confident places change: each with who leaves and who enters. curves: by place. */
  function changes(curves, places, k, grid = GRID) {
    if (k >= places.length) return [];
    const tops = grid.map((_, n) => topOf(places, place => curves.get(place).values[n], k)), ever = new Set(tops.flat());
    const chosen = new Set(tops[0]), meetings = [], found = [], budget = { left: 1000 };
    for (const a of ever) {
      for (const b of places) {
        if (a === b || (ever.has(b) && b < a)) continue; // each pair once
        for (const factor of crossings(curves.get(a), curves.get(b), budget, grid)) meetings.push({ factor, a, b });
      }
    }
    for (const { factor, a, b } of meetings.sort((x, y) => x.factor - y.factor)) {
      if (chosen.has(a) === chosen.has(b)) continue; // the chosen set stays
      const [out, into] = chosen.has(a) ? [a, b] : [b, a];
      chosen.delete(out);
      chosen.add(into);
      found.push({ factor, out, into });
    }
    return found;
  }

  /** Return a curve at a share, 0 to 1, of the way between two factors of GRID: the cubic through its values and slopes. */
  function inside({ values, slopes }, n, t) {
    const width = GRID[n + 1] - GRID[n], [a, b] = [values[n], values[n + 1]];
    if (!Number.isFinite(a)) return a; // one token is certain at every factor
    return a + t * t * (3 - 2 * t) * (b - a) + width * t * (1 - t) * ((1 - t) * slopes[n] - t * slopes[n + 1]);
  }

  /** Return the factors at which what a step commits changes, as `changes` does, of any strategy; with a spacing to 1e-4 or so. */
  function turns(run, record, curves) {
    const { places, chosen: { length: k } } = record, found = [];
    if (blind(run.rule)) return found;
    if (run.rule.spacing === 1) return changes(curves, places, k);
    const chosen = (n, t) => {
      const lead = spaced(places, place => inside(curves.get(place), n, t), k, run.rule.spacing);
      return topOf(places, place => lead.get(place), k);
    };
    for (let n = 0; n + 1 < GRID.length; n += 1) {
      const [before, after] = [chosen(n, 0), chosen(n, 1)];
      if (String(before) === String(after)) continue;
      let [low, high] = [0, 1];
      for (let halved = 0; halved < 12; halved += 1) {
        const middle = (low + high) / 2;
        if (String(chosen(n, middle)) === String(before)) low = middle;
        else high = middle;
      }
      const factor = GRID[n] + high * (GRID[n + 1] - GRID[n]), out = before.filter(place => !after.includes(place));
      after.filter(place => !before.includes(place)).forEach((into, at) => found.push({ factor, out: out[at], into }));
    }
    return found;
  }

  /** Return whether a crossing lies between a step's factor and another one; with a spacing, whether they commit different positions. */
  function crossed(run, record, factor) {
    const seen = look(run, record.before);
    if (ordered(run.rule)) return String(choose(run, seen, record.step, factor, record.before).chosen) !== String(record.chosen);
    if (factor === record.factor) return false;
    const grid = [Math.min(factor, record.factor), Math.max(factor, record.factor)];
    return changes(new Map(record.places.map(place => [place, pointsOf(seen.rows.get(place), grid)])), record.places, record.chosen.length, grid).length > 0;
  }

  return {
    MASK, GRID, Refused, plan, usualBlock, strategy, blind, ordered, randoms, best, logOdds, topOf, era, keywords, normalised, begin, done, look, choose, rewardOf,
    step, decode, inOrder, beforeEnd, curve, crossings, changes, turns, crossed, oddsOfGaps, gapsOf, factorOf,
  };
})();
