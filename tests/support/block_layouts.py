"""Layouts of models that fill block after block, with entries of config.json in place of the usual: each is a case."""

from typing import Any

BLOCK_LAYOUTS: list[tuple[str, dict[str, Any]]] = [
    ("sdar", {}),
    ("sdar", {"block_size": 2}),
    ("sdar", {"block_size": 64}),
    ("fast-dllm-v2", {}),
    ("fast-dllm-v2", {"bd_size": 2, "tie_word_embeddings": False}),
    ("dream-reasoner", {}),
    ("dream-reasoner", {"block_size": 5, "tie_word_embeddings": False}),
    ("dream-reasoner", {"head_dim": None, "block_size": 2}),
    ("llada2", {}),
    ("llada2", {"block_size": 4, "first_k_dense_replace": 0, "num_shared_experts": 2}),
    ("llada2", {"block_size": 2, "num_experts": 12, "n_group": 3, "topk_group": 1, "partial_rotary_factor": 0.25}),
]
