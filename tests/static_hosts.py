"""Hosts of static files for tests of the exported page."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar


class Ranged(SimpleHTTPRequestHandler):
    """A static host that knows ranges, as all but the simplest do; it remembers what was asked for."""

    asked: ClassVar[list[tuple[str, str | None]]] = []

    def do_GET(self) -> None:
        wanted = self.headers.get("range")
        Ranged.asked.append((self.path, wanted))
        if wanted is None:
            return super().do_GET()
        path = Path(self.translate_path(self.path))
        begin, end = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", wanted).groups())  # type: ignore[union-attr]
        part = path.read_bytes()[begin : end + 1]
        self.send_response(206)
        self.send_header("content-range", f"bytes {begin}-{begin + len(part) - 1}/{path.stat().st_size}")
        self.send_header("content-length", str(len(part)))
        self.end_headers()
        self.wfile.write(part)
        return None

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class Elsewhere(Ranged):
    """A host that lets pages of other hosts read its files."""

    def end_headers(self) -> None:
        self.send_header("access-control-allow-origin", "*")
        super().end_headers()


class Plain(SimpleHTTPRequestHandler):
    """A static host that sends whole files."""

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def hosted(directory: Path, handler: type[SimpleHTTPRequestHandler] = Ranged) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(directory))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
