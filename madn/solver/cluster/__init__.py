"""A game solved by several processes at once, on one computer or many: what each does, and what they exchange.

`panels.py` cuts a component into panels, and `component.py` sweeps one of them, in memory or streamed (`streamed.py`,
`late.py`). `parts.py` has what is solved already, and `exits.py` gets what a panel needs of that. `solve.py` goes
through the components, and `deliver.py` hands them to a database. Instead `proved.py` may prove them, with directed
sweeps (`directed.py`). Only `processes.py` knows MPI.
"""
