"""A game solved by several processes at once, on one computer or many: what each does, and what they exchange.

`panels.py` cuts a component, `component.py` sweeps one panel of it, `parts.py` has what is solved already, `solve.py`
goes through the components, `deliver.py` hands them to a database; `processes.py` is all that knows of MPI.
"""
