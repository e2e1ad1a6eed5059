"""One connection: how long a client may take, how much it may send, and who makes room when all connections are taken.

A slow client takes up its connection and nothing else: time limits end it, and it is the first to go if others need it.
"""

import asyncio
import contextlib
import os
import socket
import struct
import time
from collections import Counter
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from madn.web.answers import encoded
from madn.web.description import BODY_BYTES
from madn.web.guard import RAW, network

CONNECTIONS = 1024
HEAD_BYTES = 16 << 10
KEEP_SECONDS = 30  # to send the next head, and to take an answer
LEAVE_SECONDS = 2  # to read why a connection ends
LEAVE_BYTES = 1 << 20  # that are read and discarded meanwhile
END_SECONDS = 2  # to finish when the server ends
RESET = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
REFUSALS = {
    400: "this is not an HTTP/1.1 request",
    411: "a body needs a content-length; chunks are not read",
    413: f"a request has at most {BODY_BYTES} bytes",
    431: f"the head of a request has at most {HEAD_BYTES} bytes",
}


class Requests(h11.Connection):
    """The requests of a connection. A request that is too long is refused by its head, before its body is read.

    `since` is when the last head was complete, or when the connection was made; `status` says why no more are read.
    """

    def __init__(self) -> None:
        super().__init__(h11.SERVER, HEAD_BYTES)
        self.since = time.monotonic()
        self.status = 400

    def next_event(self) -> Any:
        """The next event, as h11 reads it; RemoteProtocolError also for a request that must not be read."""
        before = len(self._receive_buffer)
        try:
            event = super().next_event()
            if type(event) is h11.Request:
                self.since = time.monotonic()
                # h11 looks at the length only while a head is incomplete.
                if before - len(self._receive_buffer) > HEAD_BYTES:
                    raise h11.RemoteProtocolError("head too long", 431)
                for name, value in event.headers:
                    if name == b"transfer-encoding":  # chunks of one byte would block the server for a long time
                        raise h11.RemoteProtocolError("chunks", 411)
                    if name == b"content-length" and int(value) > BODY_BYTES:
                        raise h11.RemoteProtocolError("body too long", 413)
        except h11.RemoteProtocolError as error:
            self.status = error.error_status_hint
            raise
        return event


class Connection(H11Protocol):
    """A connection with limits.

    uvicorn closes a connection that is silent after an answer, but would wait forever for the rest of a head, or for a
    client that does not take its answer.
    """

    conn: Requests
    network: str
    spare: int | None = None  # how many more bytes to discard; None while bytes are read
    sending: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock, and make room if all connections are taken."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)  # one answer at a time waits to be taken
        self.conn = Requests()
        self.network = network(self.client[0] if self.client else "")
        self.timeout_keep_alive_task = self.loop.call_later(KEEP_SECONDS, self.timeout_keep_alive_handler)
        if len(self.connections) > CONNECTIONS:
            self._make_room()

    def _make_room(self) -> None:
        """End a connection of the client that has the most: the one whose last request was longest ago."""
        connections = cast("set[Connection]", self.connections)
        held = Counter(connection.network for connection in connections)
        most = max(held.values())
        last = min(
            (connection for connection in connections if held[connection.network] == most and connection is not self),
            key=lambda connection: connection.conn.since,
            default=self,
        )
        connections.discard(last)
        last.drop()

    def drop(self) -> None:
        """End the connection at once; the system also discards what the client has not taken."""
        with contextlib.suppress(OSError):  # the socket may be closed
            self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clocks."""
        self._unset_keepalive_if_required()
        self._taken()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on; only a complete head stops the clock."""
        if self.spare is None:
            self.conn.receive_data(data)
            self.handle_events()
            return
        self.spare -= len(data)
        if self.spare < 0:
            self.drop()

    def timeout_keep_alive_handler(self) -> None:
        """Close the connection: no head came in time."""
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()

    def pause_writing(self) -> None:
        """Wait until the client has taken all that was sent; it has to do so in time."""
        super().pause_writing()
        self.sending = self.loop.call_later(KEEP_SECONDS, self.drop)

    def resume_writing(self) -> None:
        """Go on: the client has taken it."""
        self._taken()
        super().resume_writing()

    def _taken(self) -> None:
        if self.sending is not None:
            self.sending.cancel()
            self.sending = None

    def send_400_response(self, msg: str) -> None:
        """Say why nothing more is read. Closing at once would lose this answer if more bytes are on their way."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.drop()
            return
        status = self.conn.status if self.conn.status in REFUSALS else 400
        body = encoded({"message": REFUSALS[status]})
        own = {b"content-type": b"application/json", b"content-length": b"%d" % len(body), b"connection": b"close"}
        lines = [b"HTTP/1.1 %d %s" % (status, STATUS_PHRASES[status])]
        lines += [b"%s: %s" % header for header in (*own.items(), *RAW)]
        self.transport.write(b"\r\n".join((*lines, b"", body)))
        with contextlib.suppress(OSError):  # the client may be gone
            self.transport.write_eof()
        self.spare = LEAVE_BYTES
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(LEAVE_SECONDS, self.drop)

    def shutdown(self) -> None:
        """End with the server: finish the answer that is being sent, if the client takes it."""
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
        else:
            self.cycle.keep_alive = False
        self.loop.call_later(END_SECONDS, self.drop)
