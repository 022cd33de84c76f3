"""An answer does not depend on what else is decoded with it, on which side the padding stands, or in what order."""

import pytest
import tiny_models
import torch
from examples import examples
from grouped import grouped
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import MASK, PAD, VOCABULARY, bert_classifier, llama_classifier, modernbert_predictor, word_tokenizer
from trace_files import trace_bytes
from transformers import RobertaConfig, RobertaForMaskedLM

import rws_decode as rws
from rws_decode import RWS, CallableReward, Confidence, Entropy, HFMaskPredictor, Options, Savings, Temperature, decode
from rws_decode.canvas.layout import lay_out

torch.manual_seed(0)
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
SIZES |= {"vocab_size": VOCABULARY, "pad_token_id": PAD, "mask_token_id": MASK, "max_position_embeddings": 64}
ROBERTA = RobertaForMaskedLM(RobertaConfig(**SIZES, initializer_range=0.6))
PREDICTORS = {
    "bert": tiny_models.bert_predictor(),
    "modernbert": modernbert_predictor(),
    "roberta": HFMaskPredictor(ROBERTA, name="tiny-roberta"),
    "llada": tiny_models.llada_predictor(),
}
STRATEGIES: dict[str, rws.Strategy] = {
    "default": Confidence(),
    "temperature": Temperature(8.0),
    "rws": RWS(8.0),
    "margin": rws.Margin(),
    "entropy": Entropy(),
    "random-order": rws.RandomOrder(2),
}
REWARD = CallableReward(lambda prompt, answer: float(len(set(answer.split()))), mean=4.0, std=1.5)
ids = st.lists(st.integers(6, VOCABULARY - 1), max_size=6)


@pytest.mark.parametrize("padding", ["right", "left"])
@pytest.mark.parametrize("model", PREDICTORS)
def test_padding_changes_no_logits_but_by_rounding(model: str, padding: str) -> None:
    predictor, prompts = PREDICTORS[model], [[7], [8, 9, 10, 11, 12], [6, 6]]
    with torch.inference_mode():
        canvas = lay_out(predictor, prompts, 6, padding)  # type: ignore[arg-type]
        together = predictor.logits(canvas.ids, canvas.attention_mask)
        for row, prompt in enumerate(prompts):
            lone = lay_out(predictor, [prompt], 6)
            alone = predictor.logits(lone.ids, None)[0, lone.answer[0]]
            torch.testing.assert_close(together[row, canvas.answer[row]], alone, rtol=1e-4, atol=2e-5)


@given(
    st.sampled_from(["bert", "modernbert", "roberta"]),
    st.sampled_from(sorted(STRATEGIES)),
    st.lists(ids, min_size=2, max_size=4),
    st.sampled_from(["right", "left"]),
    st.sampled_from([0.0, 0.9]),
    st.randoms(use_true_random=False),
)
@settings(max_examples=examples(20), deadline=None)
def test_alone_together_and_in_another_order_the_answer_is_the_same(
    model: str, name: str, prompts: list[list[int]], padding: str, temperature: float, random: object
) -> None:
    predictor, strategy = PREDICTORS[model], STRATEGIES[name]
    if strategy.needs_reward and predictor.decode_answer([]) is None:
        strategy = Temperature(3.0)
    options = {"length": 8, "steps": 5, "block": 8, "reward": REWARD, "sampling_temperature": temperature, "seed": 4}
    order = list(range(len(prompts)))
    random.shuffle(order)  # type: ignore[attr-defined]
    together = decode(predictor, prompts, strategy, **grouped(padding=padding, **options))  # type: ignore[arg-type]
    moved = decode(predictor, [prompts[i] for i in order], strategy, **grouped(**options))  # type: ignore[arg-type]
    for row, index in enumerate(order):
        (alone,) = decode(predictor, [prompts[index]], strategy, **grouped(**options))  # type: ignore[arg-type]
        if alone.near_ties.any() or alone.near_tokens.any():
            continue  # counted, not hidden
        for other in (together[index], moved[row]):
            assert other.tokens.tolist() == alone.tokens.tolist()
            assert other.commit_step.tolist() == alone.commit_step.tolist()


INVARIANT = Savings(batch_invariant=True)
REWARDS = {
    "classifier": rws.SequenceClassifierReward(bert_classifier(), word_tokenizer(), mean=0.0, std=0.3, name="tiny"),
    "causal": rws.CausalReward(llama_classifier(), word_tokenizer(), mean=0.0, std=0.3, name="tiny-causal"),
}
PROMPTS = ["the cat sat on the mat .", "a dog", "", "it was red and small", "a dog"]


@given(
    st.sampled_from(["bert", "modernbert", "llada"]),
    st.sampled_from(sorted(REWARDS)),
    st.sampled_from(["default", "rws:8", "entropy", "threshold:0.6+rws:8"]),
    st.lists(st.integers(0, len(PROMPTS) - 1), min_size=2, max_size=4),
    st.sampled_from([Options(), Options(sampling_temperature=0.8), Options(cfg=0.7, padding="left")]),
    st.sampled_from([INVARIANT, Savings(batch_invariant=True, certain=True, block_only=True, settled=True)]),
)
@settings(max_examples=examples(50), deadline=None)
def test_a_row_has_the_bytes_of_the_row_alone(
    model: str, reward: str, strategy: str, rows: list[int], options: Options, savings: Savings
) -> None:
    shape, arguments = rws.Shape(8, 4, 4), {"options": options, "savings": savings, "reward": REWARDS[reward]}
    prompts = [PROMPTS[row] for row in rows]
    together = decode(PREDICTORS[model], prompts, strategy, shape, **arguments)  # type: ignore[arg-type]
    for prompt, trace in zip(prompts, together, strict=True):
        (alone,) = decode(PREDICTORS[model], [prompt], strategy, shape, **arguments)  # type: ignore[arg-type]
        assert trace_bytes(alone) == trace_bytes(trace)
