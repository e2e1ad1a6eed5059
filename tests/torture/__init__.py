"""Torture: programs that keep looking for what accidents and attackers find. docs/reliability.md says what they found.

    tools/test --torture [MINUTES] [SEED]

| module | tries |
|---|---|
| `kills.py` | signals at random moments, wrong commands in between, then the right command |
| `files.py` | damage to every file that is ever read back, then resuming or asking |
| `races.py` | close, replace and fork while others read; two solvers at one place |
| `forged.py` | catalogues and frames that somebody made up, against every command, Python and the server |
| `clients.py` | slow, silent and hostile HTTP clients beside an honest one |
| `numbers.py` | nasty numbers for every option and function, spoilt arguments of kernels |

A group is a function that takes a `Case`, which has a seed and an empty directory (`case.py`). It raises `BrokenError`
with the kind of promise that was broken. `__main__.py` chooses cases, `worker.py` runs them, `report.py` prints and
writes what came out. The process that runs cases never solves anything itself, because it forks: see `processes.py`.
"""
