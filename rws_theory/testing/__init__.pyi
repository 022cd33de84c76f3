from .logits import (
    from_gaps as from_gaps,
    integer_gap_pairs as integer_gap_pairs,
    logit_arrays as logit_arrays,
    logit_pairs as logit_pairs,
    logit_vectors as logit_vectors,
    near_tied_rows as near_tied_rows,
    near_ties as near_ties,
    selection_cases as selection_cases,
    wide_logits as wide_logits,
    wide_pairs as wide_pairs,
)
from .numbers import (
    commit_steps as commit_steps,
    dyadic as dyadic,
    log_uniform as log_uniform,
    reward_scales as reward_scales,
    rewards as rewards,
    scales as scales,
    wide_numbers as wide_numbers,
    wide_scales as wide_scales,
)
from .worlds import (
    additive_rewards as additive_rewards,
    canvases as canvases,
    corpora as corpora,
    models_with_canvas as models_with_canvas,
    random_chain as random_chain,
    random_table as random_table,
    tilted_inputs as tilted_inputs,
    wide_chains as wide_chains,
    wide_tables as wide_tables,
    wide_tilts as wide_tilts,
)
