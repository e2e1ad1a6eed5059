"""A game solved by several processes at once, on one computer or many: what each does, and what they exchange.

`panels.py` cuts a component, `component.py` sweeps one panel of it, in memory or streamed (`streamed.py`, `late.py`),
`parts.py` has what is solved already and `exits.py` what a panel needs of that, `solve.py` goes through the components,
`deliver.py` hands them to a database; `processes.py` is all that knows of MPI.
"""
