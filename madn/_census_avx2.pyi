from madn._census import choose as choose
from madn._census import fill_captures as fill_captures
