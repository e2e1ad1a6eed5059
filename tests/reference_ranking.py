"""The numbering of positions in plain Python, written from the thesis (section 4.1.2) and nothing else.

Slow and meant to be read beside the text: combinations are bit strings t with t(n-1) at the left, IDs are
Python integers of any size. The compiled `madn._core.Game` must agree with it everywhere.
"""

from math import comb

from madn import Rules

Profile = tuple[int, int, int, int]  # (p1, f1, p2, f2): out of the box and in the finish zone, of both sides


def encode_combination(t: str) -> int:
    """Formula (4.3), the recursion: the rank of a bit string among those of its length with as many ones."""
    k = t.count("1")
    if k == 0:
        return 0
    if t[0] == "0":
        return encode_combination(t[1:])
    return comb(len(t) - 1, k) + encode_combination(t[1:])


def encode_combination_by_sum(t: str) -> int:
    """Formula (4.4): the same as a sum over the positions of the ones, n_1 < n_2 < ... < n_k."""
    positions = sorted(len(t) - 1 - place for place, bit in enumerate(t) if bit == "1")
    return sum(comb(n_i, i) for i, n_i in enumerate(positions, start=1))


def decode_combination(n: int, k: int, z: int) -> str:
    """Algorithm 6: the bit string of length n with k ones that has rank z."""
    t = ["0"] * n
    length = n
    while k > 0:
        n_max = max(m for m in range(n) if z >= comb(m, k))
        t[length - 1 - n_max] = "1"
        z -= comb(n_max, k)
        n, k = n_max, k - 1
    return "".join(t)


class ReferenceRanking:
    """The bijection between positions and 0 to `positions - 1`; the interface of `madn._core.Game`."""

    def __init__(self, rules: Rules) -> None:
        self.P, self.S = rules.pieces, rules.squares
        self.base: dict[Profile, int] = {}  # b(A): the first ID of each profile, in ascending order
        self.positions = 0
        side = [(p, f) for p in range(self.P + 1) for f in range(p + 1)]
        for profile in [(*one, *two) for one in side for two in side]:
            if self.size(profile):
                self.base[profile] = self.positions
                self.positions += self.size(profile)

    def size(self, profile: Profile) -> int:
        """Formula (4.1), with the misprint in its last factor put right: f2, not f1 twice."""
        p1, f1, p2, f2 = profile
        if f1 == f2 == self.P:
            return 0
        m1 = p1 - f1
        return comb(self.S, m1) * comb(self.P, f1) * comb(self.S - m1, p2 - f2) * comb(self.P, f2)

    def group_sizes(self, profile: Profile) -> tuple[int, int, int]:
        """a_f, a_ff and a_ffm: positions left once the first, second and third arrangement is known."""
        p1, f1, _, f2 = profile
        a_f = self.size(profile) // comb(self.P, f1)
        a_ff = a_f // comb(self.P, f2)
        return a_f, a_ff, a_ff // comb(self.S, p1 - f1)

    def profiles(self) -> list[Profile]:
        return list(self.base)

    def first(self, p1: int, f1: int, p2: int, f2: int) -> int:
        if (p1, f1, p2, f2) not in self.base:
            raise ValueError(f"no profile {(p1, f1, p2, f2)}")
        return self.base[p1, f1, p2, f2]

    def profile(self, z: int) -> Profile:
        """Line 2 of Algorithm 4: the profile with the largest base that is not above z."""
        if not 0 <= z < self.positions:
            raise ValueError(f"{z} is no ID")
        return max((base, profile) for profile, base in self.base.items() if base <= z)[1]

    def string(self, mask: int, squares: list[int]) -> str:
        """The arrangement of a side on these squares; the square nearest to the box is the leftmost bit."""
        return "".join("1" if mask >> square & 1 else "0" for square in squares)

    def mask(self, t: str, squares: list[int]) -> int:
        return sum(1 << square for bit, square in zip(t, squares, strict=True) if bit == "1")

    def main_squares(self) -> list[int]:
        return list(range(self.S))

    def finish_squares(self) -> list[int]:
        return list(range(self.S, self.S + self.P))

    def free_squares(self, own: int) -> list[int]:
        """The main field in the other side's numbers, without the squares the own pieces stand on."""
        taken = {(square + self.S // 2) % self.S for square in self.main_squares() if own >> square & 1}
        return [square for square in self.main_squares() if square not in taken]

    def rank(self, own: int, other: int) -> int:
        """The formula for e(p), with f1 and f2 in the order in which Algorithm 4 takes them out again."""
        main, finish, free = self.main_squares(), self.finish_squares(), self.free_squares(own)
        f1, f2 = self.string(own, finish), self.string(other, finish)
        m1, m2 = self.string(own, main), self.string(other, free)
        if self.mask(m1, main) | self.mask(f1, finish) != own:
            raise ValueError(f"own {own:#x} leaves the board")
        if self.mask(m2, free) | self.mask(f2, finish) != other:
            raise ValueError(f"other {other:#x} leaves the board or stands on a square of own {own:#x}")
        profile = (own.bit_count(), f1.count("1"), other.bit_count(), f2.count("1"))
        a_f, a_ff, a_ffm = self.group_sizes(profile)
        return (
            self.first(*profile)
            + a_f * encode_combination(f1)
            + a_ff * encode_combination(f2)
            + a_ffm * encode_combination(m1)
            + encode_combination(m2)
        )

    def unrank(self, z: int) -> tuple[int, int]:
        """Algorithm 4."""
        p1, f1, p2, f2 = profile = self.profile(z)
        a_f, a_ff, a_ffm = self.group_sizes(profile)
        o = z - self.base[profile]
        id_f1, o = divmod(o, a_f)
        id_f2, o = divmod(o, a_ff)
        id_m1, id_m2 = divmod(o, a_ffm)
        main, finish = self.main_squares(), self.finish_squares()
        own_main = self.mask(decode_combination(self.S, p1 - f1, id_m1), main)
        free = self.free_squares(own_main)
        other_main = self.mask(decode_combination(len(free), p2 - f2, id_m2), free)
        own_finish = self.mask(decode_combination(self.P, f1, id_f1), finish)
        other_finish = self.mask(decode_combination(self.P, f2, id_f2), finish)
        return own_main | own_finish, other_main | other_finish
