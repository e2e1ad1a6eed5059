from madn._sweep import WIDTH as WIDTH
from madn._sweep import Component as Component
