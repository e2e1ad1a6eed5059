"""Puts load on the web server over loopback: positions per second, latencies, malformed requests, memory.

Starts `madn serve` with the two-piece game that comes with the package, as one process, and sends it requests over 64
connections from another process. Every round asks for different positions, drawn evenly from all of them, so that
nearly none comes from the cache of answers; `repeated` asks for a few positions again and again. Prints one JSON
object.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Any

from hardware import hardware

from madn import Board, Rules
from madn._core import Game

CONNECTIONS = 64
RULES = Rules(pieces=2)
SECONDS = 120  # the most that one round may take


class Connection(asyncio.Protocol):
    """One connection that is kept open and sends one request after the other."""

    def __init__(self) -> None:
        self.buffer = b""
        self.answer: asyncio.Future[int] | None = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, found, body = self.buffer.partition(b"\r\n\r\n")
        if not found:
            return
        lower = head.lower()
        length = int(lower.partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
        if len(body) >= length and self.answer and not self.answer.done():
            self.buffer = body[length:]
            self.answer.set_result(int(head[9:12]))

    def connection_lost(self, error: Exception | None) -> None:
        if self.answer and not self.answer.done():
            self.answer.set_result(0)

    def ask(self, request: bytes) -> "asyncio.Future[int]":
        """Send a request; the status of the answer, 0 if the connection is closed without one."""
        self.answer = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self.answer


def question(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


async def load(port: int, requests: Sequence[bytes]) -> tuple[float, list[float], Counter[int]]:
    """Send all requests from all connections: seconds, the latency of each in seconds, statuses."""
    loop = asyncio.get_running_loop()
    waiting = iter(requests)
    latencies: list[float] = []
    statuses: Counter[int] = Counter()

    async def work() -> None:
        connection: Connection | None = None
        for request in waiting:
            if connection is None or connection.transport.is_closing():
                _, connection = await loop.create_connection(Connection, "127.0.0.1", port)
            begin = perf_counter()
            status = await connection.ask(request)
            latencies.append(perf_counter() - begin)
            statuses[status] += 1
            if status in {0, 400, 413, 431}:  # after some of these the server closes the connection
                connection.transport.close()
                connection = None
        if connection:
            connection.transport.close()

    begin = perf_counter()
    async with asyncio.timeout(SECONDS):
        await asyncio.gather(*(work() for _ in range(CONNECTIONS)))
    return perf_counter() - begin, latencies, statuses


def boards(game: Game, count: int, seed: int) -> list[str]:
    ids = random.Random(seed).sample(range(game.positions), count)
    return [str(Board.from_masks(*game.unrank(number), RULES)) for number in ids]


def malformed(count: int, seed: int) -> list[bytes]:
    """Requests that are wrong in many ways: boards, rolls, bodies, methods, heads, bytes that are not HTTP at all."""
    die = random.Random(seed)

    def text(most: int) -> str:
        return "".join(chr(die.randrange(33, 127)) for _ in range(die.randrange(most)))

    def body(content: bytes, kind: str = "application/json") -> bytes:
        head = "POST /api/positions HTTP/1.1\r\nHost: localhost\r\n"
        head += f"Content-Type: {kind}\r\nContent-Length: {len(content)}\r\n\r\n"
        return head.encode() + content

    def number() -> int:
        return die.randrange(-5, 60)

    ways = [
        lambda: question(f"/api/position?board={number()},{number()}/{number()},{number()}"),
        lambda: question(f"/api/position?board={text(60).replace('#', '')}"),
        lambda: question(f"/api/position?{text(40).replace('#', '')}"),
        lambda: question(f"/api/move?board=0/0&roll={text(6).replace('#', '')}&player={text(9).replace('#', '')}"),
        lambda: question("/api/position?board=" + "%ff" * die.randrange(1, 200)),
        lambda: question("/api/position?board=" + "9," * die.randrange(1, 4000) + "/0"),
        lambda: question("/" + "../" * die.randrange(1, 9) + "etc/passwd"),
        lambda: question("/%2e%2e/" + text(30).replace("#", "")),
        lambda: body(json.dumps({"boards": [text(20)]}).encode()),
        lambda: body(die.randbytes(die.randrange(1, 300))),
        lambda: body(b"[" * die.randrange(1, 30000)),
        lambda: body(b'{"boards": ' + b"[" * die.randrange(1, 9000) + b"1" * die.randrange(1, 9000)),
        lambda: body(b" " * 40000),
        lambda: body(b"{}", text(20) or "x"),
        lambda: body(json.dumps({"boards": [number(), None, {}]}).encode()),
        lambda: question("/api/health").replace(b"GET", die.choice([b"PUT", b"DELETE", b"PATCH", b"TRACE"])),
        lambda: die.randbytes(die.randrange(8, 200)).replace(b"\r", b"").replace(b"\n", b"") + b"\r\n\r\n",
        lambda: b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * die.randrange(1, 30000) + b"\r\n\r\n",
    ]
    return [ways[at % len(ways)]() for at in range(count)]


def resident(process: int) -> int:
    """The memory of a process in bytes, as Linux counts it."""
    pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def processor(process: int) -> float:
    """The processor seconds that a process has used, as Linux counts them."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def figures(rounds: list[tuple[float, list[float], Counter[int]]]) -> dict[str, object]:
    """Medians over the rounds; errors are all answers that are not 200."""
    return {
        "requests": [len(latencies) for _, latencies, _ in rounds],
        "positions_per_second": round(median(len(latencies) / seconds for seconds, latencies, _ in rounds)),
        "p50_ms": round(1000 * median(median(latencies) for _, latencies, _ in rounds), 1),
        "p99_ms": round(1000 * median(quantiles(latencies, n=100)[98] for _, latencies, _ in rounds), 1),
        "max_ms": round(1000 * max(max(latencies) for _, latencies, _ in rounds), 1),
        "errors": sum(sum(statuses.values()) - statuses[200] for _, _, statuses in rounds),
    }


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="rounds to take the median of (default 5)")
    parser.add_argument("--requests", type=int, default=10_000, help="requests of a round (default 10,000)")
    given = parser.parse_args()
    game = Game(RULES)
    # A rate that this load never reaches: every request should be answered, not refused.
    command = [sys.executable, "-m", "madn", "serve", "--port", "0", "--rate", "1000000", "--json"]
    here = Path(__file__).parent  # not the root: madn must come from where it is installed
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=here) as server:
        try:
            assert server.stdout is not None
            text = ""
            while not text.endswith("\n}\n"):
                line = server.stdout.readline()
                if not line:
                    raise SystemExit("the server did not start")
                text += line
            port = int(json.loads(text)["address"].rstrip("/").rpartition(":")[2])

            def run(requests: Sequence[bytes]) -> tuple[float, list[float], Counter[int]]:
                return asyncio.run(load(port, requests))

            def positions(seed: int, count: int) -> list[bytes]:
                return [question(f"/api/position?board={board}") for board in boards(game, count, seed)]

            run(positions(0, given.requests))  # reads every block and fills the cache of answers
            memory = [resident(server.pid)]
            different, repeated, computed = [], [], []
            for number in range(1, given.rounds + 1):
                requests = positions(number, given.requests)
                before = processor(server.pid)
                different.append(run(requests))
                computed.append((processor(server.pid) - before) / len(requests))
                repeated.append(run(positions(0, 100) * (given.requests // 100)))
                memory.append(resident(server.pid))
            wrong = run(malformed(10_000, 1))
            memory.append(resident(server.pid))
            again = run(malformed(10_000, 2))
            memory.append(resident(server.pid))
            alive = run(positions(1, 1000))
            memory.append(resident(server.pid))
        finally:
            server.terminate()
            server.wait(30)
    report = {
        "benchmark": "serve",
        "hardware": hardware(),
        "workers": 1,
        "connections": CONNECTIONS,
        "rounds": given.rounds,
        "different": figures(different),
        "server_cpu_us_per_position": round(1e6 * median(computed)),
        "repeated": figures(repeated),
        "malformed": {
            "requests": len(wrong[1]) + len(again[1]),
            "statuses": {str(status): count for status, count in sorted((wrong[2] + again[2]).items())},
            "answers_500": wrong[2][500] + again[2][500],
            "afterwards_errors": sum(alive[2].values()) - alive[2][200],
        },
        "memory_mib": [round(size / 2**20, 1) for size in memory],
        "exit_status": server.returncode,
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
