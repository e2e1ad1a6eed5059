"""`madn serve`: where it listens, what it prints, how it ends."""

import json
import os
import re
import shutil
import signal
import socket
import urllib.request
from pathlib import Path

import pytest
from web_client import running

from madn.cli import main


@pytest.mark.skipif(os.name != "posix", reason="signals of other systems")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_the_server_says_where_it_is_and_ends_in_order(number: int, status: int, small_path: Path) -> None:
    with running(small_path, "--port", 0) as (process, said):
        assert re.fullmatch(r"http://127\.0\.0\.1:[0-9]+/", said["address"])
        assert said["databases"][0]["name"] == "small"
        with urllib.request.urlopen(f"{said['address']}api/position?board=0/0", timeout=10) as answer:
            assert json.load(answer)["board"] == "0/0"
        process.send_signal(number)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == status
    assert "Traceback" not in errors


def test_a_port_that_is_taken_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["serve", "--pieces", "2", "--port", str(taken.getsockname()[1])]) == 3
    assert re.fullmatch(r"madn: cannot listen on 127.0.0.1, port \d+: .*\n", capsys.readouterr().err)


@pytest.mark.parametrize("proxy", ["nobody", "10.0.0.1/8", "1.2.3"])
def test_a_proxy_is_an_address(proxy: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--proxy", proxy]) == 2
    assert "--proxy" in capsys.readouterr().err


def test_databases_of_the_same_name_are_told_apart(
    small_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: None)
    assert main(["serve", str(small_path), str(small_path), "--port", "0", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [database["name"] for database in said["databases"]] == ["small", "small-2"]


def test_a_name_that_cannot_be_printed_is_changed(
    small_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a\x1b[2J\udcffb"
    try:
        shutil.copytree(small_path, path)
    except (OSError, ValueError):
        pytest.skip("the file system refuses such names, too")
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: None)
    for more in ([], ["--json"]):
        assert main(["serve", str(path), "--port", "0", *more]) == 0
        assert "a_[2J_b" in capsys.readouterr().out
