"""Intervals, tests, powers and measures: the public names of the modules here, each imported when it is first used.

What has the name of its module is imported from there: `from paper_figures.statistics.perplexity import perplexity`.
"""

import lazy_loader

# No stub lists them: results depend on the code that they reach by imports, and not on all that is here.
_NAMES = {
    "causal_scores": "AnswerScore answer_scores load_causal",
    "equivalence": "Equivalence least_difference tost",
    "intervals": "Interval bootstrap_interval clustered_interval exact_share mean_interval nearly_equal "
    "paired_differences ratio_interval share_interval spread_of",
    "paired_proportions": "net_share net_share_of_counts paired_share_difference restricted_loss",
    "sample_size": "possible_sizes prompts_needed sign_test_power",
    "significance": "holm holm_within paired_test",
    "win_rates": "paired_outcomes quintile_rates rate_of_counts rate_of_outcomes",
}
__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, submod_attrs={module: names.split() for module, names in _NAMES.items()}
)
