"""Two processes in two network namespaces joined by a limited link: shows that hosts can solve together, and the cost.

    python benchmarks/cluster_link.py                     2 pieces, over 1 Gbit/s, 100 and 30 Mbit/s
    python benchmarks/cluster_link.py --rates 10gbit

Needs root, `ip`, `tc` and the MPICH of the extra madn[cluster]. The namespaces have unique names and are removed at
the end; nothing else in the network is touched. Each has its own host name, so that MPI uses the link and not shared
memory. Prints one JSON object: for each rate the seconds, the bytes on the link, the waiting of both processes, and
whether the block files are the same as those of one process.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ADDRESSES = ("10.77.0.1", "10.77.0.2")
DEVICE = "veth0"  # has the same name in both, and MPI is told to use it
MPI = {"MPIR_CVAR_CH4_NETMOD": "ucx", "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": DEVICE, "MPIR_CVAR_NOLOCAL": "1"}


def call(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


@contextmanager
def two_hosts(rate: str) -> Iterator[list[str]]:
    """Two namespaces with a link of this rate."""
    names = [f"madn{os.getpid()}-{number}" for number in range(2)]
    try:
        for name in names:
            call("ip", "netns", "add", name)
        call("ip", "link", "add", DEVICE, "netns", names[0], "type", "veth", "peer", DEVICE, "netns", names[1])
        for name, address in zip(names, ADDRESSES, strict=True):
            call("ip", "-n", name, "addr", "add", f"{address}/24", "dev", DEVICE)
            for device in ("lo", DEVICE):
                call("ip", "-n", name, "link", "set", device, "up")
            limit = ["tbf", "rate", rate, "burst", "256kb", "latency", "50ms"]
            call("ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", DEVICE, "root", *limit)
        time.sleep(1.0)  # until the link is up
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def launcher(folder: Path, names: list[str]) -> Path:
    """A program that starts a command on a host, as ssh does: in its namespace, under its name."""
    script = folder / "launcher"
    script.write_text(
        f"""#!/bin/sh
[ "$1" = -x ] && shift
case $1 in {ADDRESSES[0]}) name={names[0]};; *) name={names[1]};; esac
shift
exec ip netns exec $name unshare --uts --ipc --mount sh -c "hostname $name; $*"
"""
    )
    script.chmod(0o755)
    return script


def solve_over(rate: str, folder: Path, arguments: list[str]) -> dict[str, Any]:
    """Solve with a process on each host."""
    mpiexec = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or "mpiexec"
    with two_hosts(rate) as names:
        words = ["ip", "netns", "exec", names[0], mpiexec, "-launcher", "ssh"]
        words += ["-launcher-exec", str(launcher(folder, names)), "-hosts", ",".join(ADDRESSES), "-n", "2"]
        for name, value in MPI.items():
            words += ["-genv", name, value]
        words += [sys.executable, "-m", "madn", "solve", *arguments, "--cluster", "--threads", "1", "--json"]
        done = subprocess.run([*words, "--out", "two"], cwd=folder, capture_output=True, text=True, timeout=900)
        if done.returncode != 0:
            raise SystemExit(done.stdout + done.stderr)
        link = json.loads(call("ip", "-n", names[0], "-s", "-j", "link", "show", DEVICE))[0]["stats64"]
    found = json.loads(done.stdout)
    return {
        "rate": rate,
        "seconds": found["seconds"],
        "link_bytes": link["rx"]["bytes"] + link["tx"]["bytes"],
        "waiting": [part["waiting"] for part in found["processes"]],
        "computing": [part["computing"] for part in found["processes"]],
        "digest": digest(folder / "two"),
    }


def digest(database: Path) -> str:
    content = b"".join(path.read_bytes() for path in sorted(database.glob("*.madn")))
    return hashlib.sha256(content).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rates", nargs="+", default=["1gbit", "100mbit", "30mbit"])
    parser.add_argument("--pieces", default="2")
    parser.add_argument("--squares", default="40")
    options = parser.parse_args()
    arguments = ["--pieces", options.pieces, "--squares", options.squares]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        alone = [sys.executable, "-m", "madn", "solve", *arguments, "--cluster", "--threads", "1", "--out", "one"]
        subprocess.run(alone, cwd=folder, check=True, capture_output=True)
        runs = []
        for rate in options.rates:
            runs.append(solve_over(rate, folder, arguments))
            runs[-1]["same"] = runs[-1].pop("digest") == digest(folder / "one")
            print(f"{rate}: {runs[-1]['seconds']:.1f} s", file=sys.stderr)
    print(json.dumps({"pieces": options.pieces, "squares": options.squares, "runs": runs}, indent=1))


if __name__ == "__main__":
    main()
