from madn.solver._sweep import WIDTH as WIDTH
from madn.solver._sweep import Component as Component
from madn.solver._sweep import parts_in_order as parts_in_order
