from madn._sweep import WIDTH as WIDTH
from madn._sweep import Component as Component
from madn._sweep import parts_in_order as parts_in_order
