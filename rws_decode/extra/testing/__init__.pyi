from .checkpoints import (
    tiny_checkpoint as tiny_checkpoint,
    tiny_checkpoints as tiny_checkpoints,
)
from .exact import (
    TableReward as TableReward,
    exact_predictor as exact_predictor,
    tabulated_predictor as tabulated_predictor,
    token_reward as token_reward,
)
from .networks import (
    EOS as EOS,
    WORDS as WORDS,
    llama as llama,
    word_tokenizer as word_tokenizer,
    bert_classifier as bert_classifier,
    write_weights as write_weights,
)
from .published_rewards import (
    REWARD_MODELS as REWARD_MODELS,
    published_tokenizer as published_tokenizer,
    published_vocabulary as published_vocabulary,
)
