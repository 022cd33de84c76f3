"""Run the units of a study on processes or a cluster, keep what they give by what it depends on, and read it back."""

import lazy_loader

# No stub lists them: results depend on the code that they reach by imports, and not on all that is here.
_NAMES = {
    "digests": "code_digest sources_behind",
    "executors": "Backend Workers in_process kept_open on_cluster processes",
    "parts": "part_name read_part write_manifest write_part",
    "results": "ResultsWarning read_failures read_results read_unit_rows",
    "runner": "Report run_units",
    "units": "Model Origin Unit batch_key origin_of unit_hash",
}
__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, submod_attrs={module: names.split() for module, names in _NAMES.items()}
)
