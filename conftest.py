"""What cannot be imported here is not searched for doctests."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("triton") else ["rws_decode/extra/compact/triton_rows.py"]
collect_ignore += [] if find_spec("rdkit") else ["rws_decode/extra/sequences/chemistry.py"]
