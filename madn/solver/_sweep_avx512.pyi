from madn.solver._sweep import Sweeper as Sweeper
from madn.solver._sweep import parts_in_order as parts_in_order
