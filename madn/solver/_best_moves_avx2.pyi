from madn.solver._best_moves import choose as choose
from madn.solver._best_moves import fill_captures as fill_captures
