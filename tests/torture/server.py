"""A `madn serve` process for a case, and an honest client for it."""

import http.client
import signal
import time
from pathlib import Path
from typing import Any

from torture.case import BrokenError, Case
from torture.processes import Child, command, judged, strict_json

ANSWERS = {200, 304, 400, 404, 405, 408, 413, 414, 415, 421, 429, 431, 503}


class Server:
    """A server that listens on a free port of 127.0.0.1; `port` is None if it refused to start.

    Of a database that may be damaged it may say so: a 500, and one line in its log.
    """

    def __init__(
        self,
        case: Case,
        databases: list[str],
        *,
        fresh: bool = False,
        memory: int | None = None,
        damaged: bool = False,
    ) -> None:
        self.case, self.damaged = case, damaged
        args = ["serve", *databases, "--port", "0", "--json"]
        self.child: Child = command(case, args, fresh=fresh, memory=memory)
        self.port: int | None = None
        end = time.monotonic() + 60
        while self.port is None:
            text = (
                self.child.stem.with_suffix(".out").read_text() if self.child.stem.with_suffix(".out").exists() else ""
            )
            if text.rstrip().endswith("}") and text.startswith("{"):
                said = strict_json(self.child.what, text)
                self.port = int(said["address"].rstrip("/").rpartition(":")[2])
            elif self.child.poll(0.02):
                return
            elif time.monotonic() > end:
                self.child.send(signal.SIGKILL)
                raise BrokenError("hangs", f"{self.child.what} did not listen within 60 s")

    def get(
        self, path: str, timeout: float = 20.0, source: str = "127.0.0.1", body: bytes | None = None
    ) -> tuple[int, Any]:
        """Ask; the status, and the JSON of the answer (text of a page as it is)."""
        assert self.port is not None
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout, source_address=(source, 0))
        try:
            if body is None:
                connection.request("GET", path)
            else:
                connection.request("POST", path, body, {"content-type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
        except TimeoutError:
            raise BrokenError("hangs", f"{path}: no answer within {timeout:.0f} s") from None
        except (OSError, http.client.HTTPException) as error:
            raise BrokenError("other", f"{path}: {type(error).__name__}: {error}") from None
        finally:
            connection.close()
        said = answer.status == 500 and self.damaged and "".join(self.log().splitlines()[-1:]).startswith("fault: db")
        if answer.status not in ANSWERS and not said:
            raise BrokenError(
                "other", f"{path}: status {answer.status}: {text[:200]!r}; the log: {self.log()[-300:]!r}"
            )
        if (answer.getheader("content-type") or "").startswith("application/json"):
            return answer.status, strict_json(path, text.decode())
        return answer.status, text

    def log(self) -> str:
        """What the server wrote to standard error."""
        return self.child.stem.with_suffix(".err").read_text(errors="replace")

    def figure(self, name: str) -> int:
        """A figure of /proc/PID/status: VmRSS in KiB, Threads; 0 where there is none."""
        try:
            lines = Path(f"/proc/{self.child.pid}/status").read_text().splitlines()
        except OSError:
            return 0
        return next((int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), 0)

    def stop(self) -> None:
        """End it as Ctrl-C or a service manager does; it must end soon, with a good status and a clean log."""
        number = self.case.chosen((signal.SIGTERM, signal.SIGINT))
        self.child.send(number)
        ended = self.child.end(25)
        if ended.status not in {0, 130, 3}:
            raise BrokenError("other", f"{ended.what}: status {ended.status} after {number.name}: {ended.message}")
        judged(ended)
