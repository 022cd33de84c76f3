"""Intervals, tests, powers and measures: the public names of the modules here, each imported when it is first used."""

import lazy_loader

# No stub lists them: results depend on the code that they reach by imports, and not on all that is here.
_NAMES = {
    "causal_scores": "AnswerScore CausalScorer answer_scores load_causal",
    "distinct_n": "distinct_difference distinct_n",
    "drawn_ranking": "drawn_ranking_log_prob",
    "equivalence": "Equivalence least_difference tost",
    "intervals": "Interval bootstrap_interval clustered_interval exact_share mean_interval nearly_equal "
    "paired_bootstrap_interval paired_differences ratio_interval share_interval spread_of",
    "leaks": "LEAKS MEASURES leaks least_divergence sampler_values",
    "means": "Summary summarise summary_table",
    "order_ceiling": "order_ceiling share_of_room",
    "paired_proportions": "net_share net_share_of_counts paired_share_difference restricted_loss",
    "pass_at_k": "pass_at_k",
    "perplexity": "Perplexity perplexity windows",
    "resampling": "text_pairs",
    "sample_size": "possible_sizes prompts_needed sign_test_power",
    "sampler_divergence": "sampler_divergence",
    "significance": "holm holm_within paired_test",
    "win_rates": "group_of_ties paired_outcomes quintile_rates rate_of_counts rate_of_outcomes",
}
__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, submod_attrs={module: names.split() for module, names in _NAMES.items()}
)
