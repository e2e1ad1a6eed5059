"""Damage to files, as disks, crashes and people do it: every function takes bytes and gives other bytes."""

import random
import re
from collections.abc import Callable

Damage = Callable[[random.Random, bytes, bytes], bytes]


def flip_bit(rng: random.Random, data: bytes, _: bytes) -> bytes:
    """One bit."""
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def change_bytes(rng: random.Random, data: bytes, _: bytes) -> bytes:
    """One to three bytes, anywhere."""
    changed = bytearray(data)
    for _number in range(rng.randint(1, 3)):
        changed[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(changed)


def change_digit(rng: random.Random, data: bytes, _: bytes) -> bytes:
    """One digit of a text: it is still a number."""
    digits = [found.start() for found in re.finditer(rb"[0-9]", data[: 1 << 20])]
    if not digits:
        return change_bytes(rng, data, _)
    at = rng.choice(digits)
    return data[:at] + rng.choice(b"0123456789").to_bytes() + data[at + 1 :]


def swap_words(rng: random.Random, data: bytes, _: bytes) -> bytes:
    """Two words of 1 to 8 bytes that change places."""
    width = rng.choice((1, 2, 4, 8))
    if len(data) < 2 * width:
        return change_bytes(rng, data, _)
    a, b = sorted(width * place for place in rng.sample(range(len(data) // width), 2))
    return data[:a] + data[b : b + width] + data[a + width : b] + data[a : a + width] + data[b + width :]


def swap_lines(rng: random.Random, data: bytes, _: bytes) -> bytes:
    """Two lines of a text that change places, or one that is there twice."""
    lines = data.splitlines(keepends=True)
    if len(lines) < 2 or len(lines) > 1 << 16:
        return swap_words(rng, data, _)
    a, b = rng.sample(range(len(lines)), 2)
    lines[a], lines[b] = lines[b], lines[a] if rng.random() < 0.5 else lines[b]
    return b"".join(lines)


def zero(rng: random.Random, data: bytes, _: bytes) -> bytes:
    """A stretch of zeros, as of a sector that never reached the disk."""
    at, count = rng.randrange(len(data)), rng.choice((1, 8, 512, 4096))
    return data[:at] + bytes(len(data[at : at + count])) + data[at + count :]


def cut(rng: random.Random, data: bytes, _: bytes) -> bytes:
    """The end is missing."""
    return data[: rng.randrange(len(data))]


def extend(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Something follows."""
    return data + rng.choice(
        (bytes(rng.randint(1, 5000)), rng.randbytes(rng.randint(1, 100)), data[-100:], other[:500])
    )


def splice(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """A stretch of another file lies over a place of this one."""
    start, place = rng.randrange(max(len(other), 1)), rng.randrange(len(data))
    piece = other[start : start + rng.randint(1, 2000)]
    return data[:place] + piece + data[place + len(piece) :]


def copy(_rng: random.Random, _data: bytes, other: bytes) -> bytes:
    """Another file in the place of this one."""
    return other


DAMAGES: tuple[Damage, ...] = (
    flip_bit,
    flip_bit,
    change_bytes,
    change_digit,
    change_digit,
    swap_words,
    swap_lines,
    zero,
    cut,
    extend,
    splice,
    copy,
)


def damaged(rng: random.Random, data: bytes, other: bytes) -> tuple[str, bytes]:
    """Some damage to a file, and its name; `other` is the content of another file."""
    damage = rng.choice(DAMAGES if data else (extend, copy))
    return damage.__name__, damage(rng, data, other)
