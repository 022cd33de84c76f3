/** The network of the toy story language as this page offers it, and its reward model. */
async function loadModel() {
  const load = async packed => network.of(Object.fromEntries(Object.entries(await unpackArrays(packed)).map(([name, bits]) => [name, network.fromHalf(bits)])), data.heads);
  const net = await load(data.network), judge = await load(data.judge), { words } = data;
  const ids = new Map(words.map((word, id) => [word, id])), [PAD, UNK, CLS, SEP, MASK, EOS] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[EOS]"].map(name => ids.get(name));
  const special = new Set([PAD, UNK, CLS, SEP, MASK, EOS]), known = new Map();
  const frame = prompt => [CLS, ...prompt, SEP];
  const reward = {
    name: "mini", mean: data.reward.mean, std: data.reward.std, bounds: data.reward.bounds,
    scale: "Mean and SD are those of four answers to each of 256 prompts: true, corrupted, or written by this network.",
    score: (tokens, prompt) => judge.score([...frame(prompt), ...engine.beforeEnd(tokens, EOS).filter(token => !special.has(token)), EOS]),
  };
  return {
    name: data.model, words, mask: MASK, end: EOS, eps: 2 ** -23, exact: false, unit: "words", frame, longest: { answer: 64, prompt: 400 },
    textOf: tokens => tokens.filter(token => !special.has(token)).map(token => words[token]).join(" "),
    read(text) {
      const found = text.toLowerCase().split(/\p{White_Space}+/u).flatMap(word => word.split(/([.,:?])/)).filter(Boolean);
      return { ids: found.map(word => (special.has(ids.get(word)) ? UNK : ids.get(word) ?? UNK)), unknown: [...new Set(found.filter(word => !ids.has(word)))], words: found.length };
    },
    logits(prompt, canvas) {
      const before = frame(prompt), shownIds = [...before, ...canvas.map(token => (token < 0 ? MASK : token))], key = String(shownIds);
      if (!known.has(key)) {
        const places = [...canvas.keys()].filter(place => canvas[place] < 0);
        const rows = places.length ? net.logits(shownIds, places.map(place => before.length + place)) : [];
        for (const row of rows) row[PAD] = row[MASK] = -Infinity;
        known.set(key, new Map(places.map((place, n) => [place, rows[n]])));
        if (known.size > 200) known.delete(known.keys().next().value);
      }
      return known.get(key);
    },
    rewards: [["mini", "mini: a network"]],
    rewardNamed: name => (name === "mini" ? reward : null),
    unknownNote: named => `The model does not know ${named}: it reads [UNK] there.`,
  };
}
