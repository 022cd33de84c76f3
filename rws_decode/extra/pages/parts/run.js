/** Unpack a run: what each position held at each step, as `at(array, step, position)` reads it. */
function unpack(run) {
  const { steps, length } = run, cells = steps * length;
  const candidate = new Int32Array(cells).fill(-1), changed = new Uint8Array(cells);
  const value = new Float64Array(cells).fill(NaN), mark = new Uint8Array(cells), rank = new Int32Array(cells);
  for (let step = 0; step < steps; step += 1) {
    const row = step * length;
    if (step) candidate.copyWithin(row, row - length, row);
    pairs(run.candidates[step], (position, word) => {
      candidate[row + position] = word;
      changed[row + position] = 1;
    });
    pairs(run.values[step], (position, number) => { value[row + position] = Number(number); });
    run.near[step].forEach(position => { mark[row + position] = 1; });
    run.ties[step].forEach(position => { mark[row + position] = 2; });
    const known = [...Array(length).keys()].filter(position => !Number.isNaN(value[row + position]));
    known.sort((a, b) => value[row + b] - value[row + a] || a - b).forEach((p, place) => { rank[row + p] = place + 1; });
  }
  return { ...run, candidate, changed, value, mark, rank };
}

/** Call `use` with each pair of a flat list. */
function pairs(list, use) {
  for (let n = 0; n < list.length; n += 2) use(list[n], list[n + 1]);
}

/**
 * The commit of a position that a step shows: the last one, or one that a later step, `until`, masks again, or half a
 * step after `until` replaces. `step`: when it was, -1 for never; `word`: what it set.
 */
function commitAt(run, step, position) {
  const past = (run.revised[position] ?? []).find(([from, until]) => from <= step && step <= until);
  if (past) return { step: past[0], until: past[1], word: past[2] };
  return { step: run.commit[position], until: Infinity, word: run.tokens[position] };
}

/** Whether a position is still masked before a step. */
function masked(run, step, position) {
  const commit = commitAt(run, step, position).step;
  return commit < 0 || commit >= step;
}

/** Return what is known of a position at a step, in lines, the word first; less of several, equal ones to a `last`. */
function details(run, step, position, last = position) {
  const { step: commit, until, word: standing } = commitAt(run, step, position), where = `position ${position}, step ${step}`;
  if (last > position && step < run.steps && masked(run, step, position) && commit !== step) {
    return [shown(data.words[run.candidate[step * run.length + position]]), `positions ${position} to ${last}, step ${step}: masked`];
  }
  if (last > position || step >= run.steps || !masked(run, step, position)) {
    const commits = run.commit.map((_, place) => commitAt(run, step, place).step);
    const again = until < Infinity ? [until % 1 ? `replaced at step ${until + 0.5}` : `masked again at step ${until}`] : [];
    return [shown(data.words[standing]), placed(position, last, commits), ...again];
  }
  const cell = step * run.length + position, known = run.rank[cell];
  const word = run.candidate[cell] < 0 ? "candidate not kept" : shown(data.words[run.candidate[cell]]);
  const lines = [word, where + (commit === step ? ": committed now" : ": masked")];
  if (known) {
    const ranked = run.values[step].length / 2;
    lines.push(`${run.unit} ${figures(run.value[cell])}, rank ${known} of ${ranked} kept values`);
  } else lines.push("no value: another block, or not kept");
  if (run.mark[cell] === 2) lines.push("tie: level with the last one that is committed");
  if (run.mark[cell] === 1) lines.push("near-tie: within rounding of the cut, or the nearest to it");
  if (run.changed[cell] && step > 0) lines.push("the candidate changed at this step");
  return lines;
}
