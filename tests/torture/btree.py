"""Pages of an SQLite file that point at each other, made by hand. https://www.sqlite.org/fileformat2.html

Few pages can hold more rows than anybody can read: a page that lists another a hundred times, which lists another a
hundred times, and so on.
"""

import struct

INTERIOR, LEAF = 0x05, 0x0D  # of tables


def page_size(data: bytes) -> int:
    """The size of a page."""
    size: int = struct.unpack_from(">H", data, 16)[0]
    return 65536 if size == 1 else size


def endless(data: bytes, root: int, depth: int) -> bytes:
    """A file in which the table with this root page has about 140**depth times as many rows, all of them old ones."""
    size = page_size(data)
    pages = [bytearray(data[at : at + size]) for at in range(0, len(data), size)]
    offset = 100 if root == 1 else 0
    if root > len(pages) or pages[root - 1][offset] not in (INTERIOR, LEAF) or root == 1:
        return data
    pages.append(pages[root - 1])  # what the root was, moved to the end
    below = len(pages)
    for _ in range(depth - 1):
        pages.append(_listing(below, size))
        below = len(pages)
    pages[root - 1] = _listing(below, size)
    pages[0][28:32] = struct.pack(">I", len(pages))
    return b"".join(pages)


def circle(data: bytes, root: int) -> bytes:
    """A file in which a root page lists itself."""
    size = page_size(data)
    if root == 1 or root * size > len(data):
        return data
    return data[: (root - 1) * size] + bytes(_listing(root, size)) + data[root * size :]


def giant(data: bytes, pages: int) -> bytes:
    """A file whose header claims this many pages."""
    return data[:28] + struct.pack(">I", pages & 0xFFFFFFFF) + data[32:]


def _listing(child: int, size: int) -> bytearray:
    """An interior page that lists one child as often as it has room for."""
    count = (size - 12) // 7  # a pointer of 2 bytes, a cell of 5
    page = bytearray(size)
    start = size - 5 * count
    struct.pack_into(">BHHHBI", page, 0, INTERIOR, 0, count, start, 0, child)
    for number in range(count):
        at = start + 5 * number
        struct.pack_into(">H", page, 12 + 2 * number, at)
        struct.pack_into(">IB", page, at, child, number % 128)
    return page
