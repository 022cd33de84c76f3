/**
 * The 4-gram model: exact conditionals by forward-backward over the arcs of its backoff chain, float64.
 * The counterpart of rws_theory/worlds (backoff.py, stored.py, lattice.py, ngram.py); docs/theory.md, section 14.
 * No DOM in here.
 */
const chainModel = (() => {
  "use strict";
  const MASK = -1;

  /** Return the chain of the packed arrays of world.npz: `stored.unpack`, operation for operation. */
  function unpack(arrays) {
    const top = Object.keys(arrays).filter(name => name.startsWith("arcs_")).length;
    const unigram = arrays.unigram, V = unigram.length;
    const leads = [], firsts = [0, V], levels = [];
    for (let length = 2; length <= top; length += 1) {
      leads.push(arrays[`states_${length}`]);
      firsts.push(firsts.at(-1) + leads.at(-1).length);
    }
    const root = firsts[top];
    for (let length = 1; length <= top; length += 1) {
      const arcs = arrays[`arcs_${length}`], word = arrays[`word_${length}`], share = Float64Array.from(arrays[`share_${length}`]);
      const count = arcs.length, size = word.length, begin = new Int32Array(count + 1), kept = new Float64Array(count);
      const source = new Int32Array(size), suffix = new Int32Array(count).fill(root);
      for (let state = 0; state < count; state += 1) {
        begin[state + 1] = begin[state] + arcs[state];
        let sum = 0;
        for (let arc = begin[state]; arc < begin[state + 1]; arc += 1) {
          sum += share[arc];
          source[arc] = state;
        }
        kept[state] = 1 - sum;
      }
      const full = new Float64Array(size), target = new Int32Array(size), lower = new Int32Array(size);
      const low = new Float64Array(size), lowTarget = new Int32Array(size); // what the suffix gives, and where it leads
      const down = levels.at(-1), lead = leads[length - 2];
      for (let state = 0; length > 1 && state < count; state += 1) {
        suffix[state] = length === 2 ? down.word[lead[state]] : levels.at(-2).target[down.lower[lead[state]]];
      }
      for (let arc = 0; arc < size; arc += 1) {
        lower[arc] = length === 1 ? word[arc] : arcOf(down, suffix[source[arc]] - down.first, word[arc]);
        low[arc] = length === 1 ? unigram[word[arc]] : down.full[lower[arc]];
        lowTarget[arc] = target[arc] = length === 1 ? word[arc] : down.target[lower[arc]];
        full[arc] = share[arc] + kept[source[arc]] * low[arc];
      }
      (leads[length - 1] ?? []).forEach((arc, number) => { target[arc] = firsts[length] + number; });
      levels.push({ first: firsts[length - 1], count, suffix, kept, begin, word, share, full, target, lower, source, low, lowTarget });
    }
    const last = new Int32Array(root);
    for (let word = 0; word < V; word += 1) last[word] = word;
    leads.forEach((lead, at) => lead.forEach((arc, number) => { last[firsts[at + 1] + number] = levels[at].word[arc]; }));
    return { unigram, V, root, order: top + 1, levels, last, ...operators(levels, root), ends: statesByWord(last, V) };
  }

  /** Return the arc of a word at a state of a level, -1 if it has none: words ascend. */
  function arcOf(level, state, word) {
    let low = level.begin[state], high = level.begin[state + 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (level.word[middle] < word) low = middle + 1;
      else high = middle;
    }
    return low < level.begin[state + 1] && level.word[low] === word ? low : -1;
  }

  /** Return the transitions beside backing off, by their source and by their target: `lattice.passes_of`. */
  function operators(levels, root) {
    const from = [], to = [], value = [];
    for (const level of levels) {
      for (let arc = 0; arc < level.word.length; arc += 1) {
        const source = level.first + level.source[arc], longer = level.target[arc] !== level.lowTarget[arc];
        from.push(source);
        to.push(level.target[arc]);
        value.push(longer ? level.full[arc] : level.share[arc]);
        if (!longer) continue;
        from.push(source);
        to.push(level.lowTarget[arc]);
        value.push(-(level.low[arc] * level.kept[level.source[arc]]));
      }
    }
    const sorted = (key, other) => {
      const begin = new Int32Array(root + 1), index = new Int32Array(key.length), entry = new Float64Array(key.length);
      key.forEach(state => { begin[state + 1] += 1; });
      for (let state = 0; state < root; state += 1) begin[state + 1] += begin[state];
      const next = begin.slice();
      key.forEach((state, n) => {
        index[next[state]] = other[n];
        entry[next[state]] = value[n];
        next[state] += 1;
      });
      return { begin, index, entry };
    };
    return { bySource: sorted(from, to), byTarget: sorted(to, from) };
  }

  function statesByWord(last, V) {
    const ends = Array.from({ length: V }, () => []);
    last.forEach((word, state) => ends[word].push(state));
    return ends;
  }

  /**
   * Return a matrix times a vector: `columns` by what is multiplied, for a vector of few numbers, or `rows` by what
   * results, for one of many, which is faster then.
   */
  function product(columns, rows, vector) {
    const states = vector.length, result = new Float64Array(states);
    let some = 0;
    for (let state = 0; state < states; state += 1) if (vector[state] !== 0) some += 1;
    if (some * 4 < states) {
      const { begin, index, entry } = columns;
      for (let state = 0; state < states; state += 1) {
        const mass = vector[state], end = mass === 0 ? 0 : begin[state + 1];
        for (let n = begin[state]; n < end; n += 1) result[index[n]] += mass * entry[n];
      }
      return result;
    }
    const { begin, index, entry } = rows;
    for (let state = 0, n = 0; state < states; state += 1) {
      let sum = 0;
      for (const end = begin[state + 1]; n < end; n += 1) sum += vector[index[n]] * entry[n];
      result[state] = sum;
    }
    return result;
  }

  /** Return the mass of all states one word later. rootMass: that of the empty text. */
  function forward(chain, mass, rootMass) {
    const total = mass.slice();
    for (const { first, count, suffix, kept } of chain.levels.slice(1).reverse()) {
      for (let state = 0; state < count; state += 1) {
        if (total[first + state] !== 0) total[suffix[state]] += kept[state] * total[first + state];
      }
    }
    const result = product(chain.bySource, chain.byTarget, total);
    let rest = rootMass;
    for (let word = 0; word < chain.V; word += 1) rest += chain.levels[0].kept[word] * total[word];
    for (let word = 0; word < chain.V; word += 1) result[word] += chain.unigram[word] * rest;
    return result;
  }

  /** Return for every state the mean of a value over the states one word later. */
  function back(chain, value) {
    const result = product(chain.byTarget, chain.bySource, value);
    let below = 0;
    for (let word = 0; word < chain.V; word += 1) below += chain.unigram[word] * value[word];
    chain.levels.forEach(({ first, count, suffix, kept }, number) => {
      for (let state = 0; state < count; state += 1) {
        result[first + state] += kept[state] * (number ? result[suffix[state]] : below);
      }
    });
    return result;
  }

  /** Keep of a message only the states that end with a word; its largest number becomes 1. */
  function keep(chain, message, word) {
    const kept = new Float64Array(message.length);
    let most = 0;
    for (const state of chain.ends[word]) most = Math.max(most, message[state]);
    for (const state of chain.ends[word]) kept[state] = message[state] / most;
    return kept;
  }

  /** Return the logarithm of each word's share of a mass, times what follows from it if anything does. */
  function byWord({ V, root, last }, mass, after) {
    const row = new Float64Array(V);
    let sum = 0;
    for (let state = 0; state < root; state += 1) row[last[state]] += after ? mass[state] * after[state] : mass[state];
    for (let word = 0; word < V; word += 1) sum += row[word];
    for (let word = 0; word < V; word += 1) row[word] = Math.log(row[word] / sum);
    return row;
  }

  /**
   * Return log P(word | all that is shown), a Float64Array [V] for each masked place of a text after a state, else null.
   * before: what the last call left here; messages from the left up to the first word that changed, and from the right
   * down to the last one, are not computed again. only: the one place that is asked for.
   */
  function posteriors(chain, text, start, before = {}, only = null) {
    const same = before.start === start && before.text?.length === text.length;
    const first = same ? text.findIndex((token, i) => token !== before.text[i]) : 0;
    const changed = same ? text.findLastIndex((token, i) => token !== before.text[i]) : text.length;
    let last = text.length - 1;
    while (last >= 0 && text[last] === MASK) last -= 1;
    const ahead = [], backs = [];
    let value = new Float64Array(chain.root).fill(1);
    for (let i = last; i > (only ?? 0); i -= 1) {
      const shown = () => (text[i] === MASK ? value : keep(chain, value, text[i]));
      backs[i - 1] = value = (same && i - 1 >= changed && before.backs[i - 1]) || back(chain, shown());
    }
    let mass = new Float64Array(chain.root);
    if (start !== chain.root) mass[start] = 1;
    const rows = text.slice(0, only === null ? text.length : only + 1).map((token, i) => {
      mass = ahead[i] = (same && (first < 0 || i <= first) && before.ahead[i]) || forward(chain, mass, i === 0 && start === chain.root ? 1 : 0);
      if (token !== MASK) {
        mass = keep(chain, mass, token);
        return null;
      }
      return only === null || i === only ? byWord(chain, mass, backs[i]) : null;
    });
    Object.assign(before, { start, text: text.slice(), ahead, backs });
    return rows;
  }

  /** Return P(word | state) and the next state. */
  function follow(chain, state, word) {
    let kept = 1, at = state;
    while (at !== chain.root) {
      const level = chain.levels.findLast(each => each.first <= at), row = at - level.first, arc = arcOf(level, row, word);
      if (arc >= 0) return [kept * level.full[arc], level.target[arc]];
      kept *= level.kept[row];
      at = level.suffix[row];
    }
    return [kept * chain.unigram[word], word];
  }

  /** Return the state after a text. */
  function after(chain, text) {
    return text.slice(-(chain.order - 1)).reduce((state, word) => follow(chain, state, word)[1], chain.root);
  }

  /** Return the parts of a canvas that determine their own conditionals: three shown words in a row end one. */
  function parts(chain, canvas) {
    const found = [], cut = chain.order - 1;
    let begin = -1, end = -1;
    canvas.forEach((token, position) => {
      if (token !== MASK) return;
      if (begin >= 0 && position - end > cut) {
        found.push([begin, end + 1 + cut]);
        begin = -1;
      }
      if (begin < 0) begin = position;
      end = position;
    });
    return begin < 0 ? found : [...found, [begin, Math.min(end + 1 + cut, canvas.length)]];
  }

  /** A mask predictor, as `engine` asks it: `logits`, `logProb` and the words. `parts` that a commit leaves alone are kept. */
  function predictor(arrays, words, name) {
    const chain = unpack(arrays), known = new Map(), before = {}, alone = new Map(), kept = 3000; // rows of 24 kB
    let rows = 0;
    const ids = new Map(words.map((word, id) => [word, id]));
    return {
      name, chain, words, mask: words.length, end: ids.get("<end>") ?? null, eps: 2 ** -52, exact: true, idOf: word => ids.get(word) ?? -1,
      splitter: /[a-z]+(?:'[a-z]+)*|\p{Nd}+(?:st|nd|rd|th)(?![\p{L}\p{N}_])|\p{Nd}[\p{Nd},.]*\p{Nd}|\p{Nd}|[.,;:?!]/gu,
      longest: { answer: 64, prompt: 2000 },
      textOf: tokens => tokens.reduce((text, id) => {
        if (words[id] === "<end>" || words[id] === undefined) return text;
        return text && !/^[.,;:?!]$/.test(words[id]) ? `${text} ${words[id]}` : text + words[id];
      }, ""),
      /** Return the words of a text as ids, after the last one that is unknown, the unknown ones, and signs that are no words. */
      read(text) {
        const plain = text.replace(/[\u2019\u2018\u02bc]/g, "'").toLowerCase(), found = plain.match(this.splitter) ?? [];
        const all = found.map(word => ids.get(word) ?? -1), unknown = [...new Set(found.filter((_, n) => all[n] < 0))];
        return { ids: all.slice(all.lastIndexOf(-1) + 1), unknown, words: found.length, ignored: plain.replace(this.splitter, " ").match(/[\p{L}\p{N}\p{So}]+/gu) ?? [] };
      },
      /** Return log-probabilities, a row for each masked place of the answer by its position. canvas: MASK where masked. */
      logits(prompt, canvas) {
        const result = new Map();
        for (const [begin, end] of parts(chain, canvas)) {
          const start = after(chain, [...prompt.slice(-3), ...canvas.slice(0, begin)]), text = canvas.slice(begin, end);
          const key = `${start}:${text}`;
          let part = known.get(key);
          if (part) known.delete(key);
          else rows += (part = posteriors(chain, text, start, before)).filter(Boolean).length;
          known.set(key, part);
          part.forEach((row, n) => row && result.set(begin + n, row));
        }
        for (const [key, part] of known) { // the longest unused go first
          if (rows <= kept) break;
          rows -= part.filter(Boolean).length;
          known.delete(key);
        }
        return result;
      },
      /** Return the row of one masked place alone, for orders that do not look at the others. */
      row(prompt, canvas, place) {
        const [begin, end] = parts(chain, canvas).find(([from, to]) => from <= place && place < to);
        if (!alone.has(begin)) alone.set(begin, {});
        const start = after(chain, [...prompt.slice(-3), ...canvas.slice(0, begin)]);
        return posteriors(chain, canvas.slice(begin, end), start, alone.get(begin), place - begin)[place - begin];
      },
      /** Return log p(answer | prompt), nats. */
      logProb(prompt, answer) {
        let state = after(chain, prompt), total = 0;
        for (const word of answer) {
          const [probability, next] = follow(chain, state, word);
          total += Math.log(probability);
          state = next;
        }
        return total;
      },
    };
  }

  return { predictor, unpack, posteriors, after, forward, back, byWord };
})();
