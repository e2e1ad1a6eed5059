"""The processes of a cluster and how they communicate: over MPI, or not at all if there is only one.

MPI calls the number of a process its rank; that word has another meaning here. A process that waits looks again after a
moment, and leaves its processor to others in between, so there may be more processes than processors.
"""

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn.errors import MissingExtraError, OtherProcessError

EDGES, CAPTURES, TILES = 1, 2, 3  # kinds of messages
SHORTEST, LONGEST = 2e-5, 1e-3  # seconds between two looks
KEPT = 1 << 28  # bytes of edges that may be in transit before a process waits for the next one to take them
MISSING = 3  # exit status without mpi4py
NUMBERS = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")  # how launchers tell a process its number


class Processes:
    """A single process: it talks to nobody, and what all processes say is what it says itself."""

    number = 0
    count = 1
    neighbours = 1  # processes on this computer

    def __init__(self) -> None:
        self.sent = 0  # bytes
        self.waited = 0.0  # seconds

    def send(self, to: int, kind: int, values: NDArray[Any]) -> None:
        """Send an array, which must not change any more."""
        raise RuntimeError(f"there is no process {to}")

    def expect(self, source: int, kind: int, values: NDArray[Any]) -> Callable[[], bool]:
        """Begin to receive the next message of a kind into an array; return a test of whether it has arrived."""
        raise RuntimeError(f"there is no process {source}")

    def receive(self, source: int, kind: int, values: NDArray[Any]) -> None:
        """Wait for the next message of a kind."""
        self.wait(self.expect(source, kind, values))

    def finish_sending(self) -> None:
        """Wait until all that was sent has left."""

    def everyone(self, value: Any) -> list[Any]:
        """What each process says; all must say something."""
        return [value]

    def first(self, value: Any) -> Any:
        """What process 0 says."""
        return self.everyone(value)[0]

    def abort(self, status: int) -> None:
        """End all processes at once, with this status, if there are others."""

    def wait(self, arrived: Callable[[], bool]) -> None:
        """Wait until a message has arrived."""
        began, pause = time.perf_counter(), SHORTEST
        while not arrived():
            time.sleep(pause)
            pause = min(LONGEST, 1.5 * pause)
        self.waited += time.perf_counter() - began


class MpiProcesses(Processes):
    """The processes that `mpiexec` started."""

    def __init__(self) -> None:
        super().__init__()
        from mpi4py import MPI

        self.mpi, self.world = MPI, MPI.COMM_WORLD
        self.number, self.count = self.world.Get_rank(), self.world.Get_size()
        here = self.world.Split_type(MPI.COMM_TYPE_SHARED)
        self.neighbours = here.Get_size()
        here.Free()
        self._leaving: list[tuple[Any, int, NDArray[Any]]] = []

    def send(self, to: int, kind: int, values: NDArray[Any]) -> None:
        """Send an array.

        A process that is far ahead of the next one waits for it here. Nobody waits here for a process before it, so
        there is always one that can go on.
        """
        has_room = self._has_room()  # forgets what has left
        if kind == EDGES and not has_room:
            self.wait(self._has_room)
        self._leaving.append((self.world.Isend(_bytes(values), to, kind), kind, values))
        self.sent += values.nbytes

    def _has_room(self) -> bool:
        self._leaving = [message for message in self._leaving if not message[0].Test()]
        return sum(values.nbytes for _, kind, values in self._leaving if kind == EDGES) <= KEPT

    def expect(self, source: int, kind: int, values: NDArray[Any]) -> Callable[[], bool]:
        """Begin to receive a message."""
        request = self.world.Irecv(_bytes(values), source, kind)
        return lambda: bool(request.Test())

    def finish_sending(self) -> None:
        """Wait until all that was sent has left."""

        def left() -> bool:
            self._has_room()
            return not self._leaving

        self.wait(left)

    def everyone(self, value: Any) -> list[Any]:
        """Gather what all processes say, once all have come here."""
        self.wait(self.world.Ibarrier().Test)
        said: list[Any] = self.world.allgather(value)
        return said

    def abort(self, status: int) -> None:
        """End all processes."""
        self.world.Abort(status)


def _bytes(values: NDArray[Any]) -> NDArray[np.uint8]:
    if not values.flags.c_contiguous:
        raise ValueError("only contiguous arrays are sent and received")
    return values.reshape(-1).view(np.uint8)


def mpi_processes() -> Processes:
    """The processes that were started together; raises `MissingExtraError` without mpi4py, in one of them."""
    try:
        return MpiProcesses()
    except (ImportError, RuntimeError) as error:  # mpi4py, or the library that it looks for, is missing
        if number_by_launcher() > 0:
            raise said_elsewhere(MISSING) from None
        reason = str(error).splitlines()[0]
        raise MissingExtraError(
            f"a cluster needs mpi4py and an MPI library; pip install 'madn[cluster]' installs both: {reason}"
        ) from None


def said_elsewhere(status: int) -> OtherProcessError:
    """The error of a process that ends with this status because another one says what is wrong."""
    error = OtherProcessError("another process of the cluster says what is wrong")
    error.status = status
    return error


def launched() -> bool:
    """Whether this process was started as one of several."""
    return any(name in os.environ for name in NUMBERS)


def number_by_launcher() -> int:
    """The number of this process according to its launcher, without MPI; 0 if it gives none."""
    return next((int(os.environ[name]) for name in NUMBERS if os.environ.get(name, "").isdigit()), 0)
