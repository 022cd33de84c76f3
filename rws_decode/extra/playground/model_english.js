/** The 4-gram model as this page offers it: its rewards, and what it says of words that it does not know. */
async function loadModel() {
  const arrays = await unpackArrays(data.chain), model = chainModel.predictor(arrays, data.words, data.model), stored = data.rewards;
  return {
    ...model, unit: "words",
    rewards: [["era", "era: modern words"], ["keywords", "keywords"]],
    rewardNamed(name) {
      const shift = "a text of another length shifts r.";
      if (name === "era") {
        return { ...engine.era(model, stored.era), scale: `Words of later speeches add to it, words of earlier ones subtract. Mean and SD are those of texts of 32 words, sampled from this model: ${shift}` };
      }
      if (name !== "keywords" && !name.startsWith("keywords:")) return null;
      const phrases = name === "keywords" ? stored.keywords.words : name.slice(9).split(",");
      return { ...engine.keywords(model, phrases, arrays.unigram), scale: `Mean and SD are those of 32 words, sampled one by one at their frequency: ${shift}` };
    },
    unknownNote: (named, left) => `The model does not know ${named}. It reads what follows the last such word: ${left ? `${left} word${left > 1 ? "s" : ""}` : "nothing, so the text begins freely"}.`,
  };
}
