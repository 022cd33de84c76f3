/** The 4-gram model as this page offers it: its rewards, and what it says of words that it does not know. */
async function loadModel() {
  const arrays = await unpackArrays(data.chain), model = chainModel.predictor(arrays, data.words, data.model), stored = data.rewards;
  return {
    ...model, unit: "words",
    rewards: [["era", "era: prefers words of later speeches"], ["keywords", "keywords"]],
    rewardNamed(name) {
      if (name === "era") return engine.era(model, stored.era);
      if (name === "keywords") return engine.keywords(model, stored.keywords.words, arrays.unigram);
      return name.startsWith("keywords:") ? engine.keywords(model, name.slice(9).split(","), arrays.unigram) : null;
    },
    unknownNote: (named, left) => `The model does not know ${named}. It reads what follows the last such word: ${left ? `${left} word${left > 1 ? "s" : ""}` : "nothing, so the text begins freely"}.`,
  };
}
