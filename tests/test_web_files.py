"""The files of the page as the server sends them: all of them and no others, safely, in both languages."""

import re
from importlib import resources

import pytest
from starlette.testclient import TestClient
from web_client import asked

from madn.players import PLAYERS
from madn.rules import HOUSE_RULES
from madn.web import app as application
from madn.web import guard
from madn.web.answers import Served

STATIC = resources.files("madn") / "web" / "static"


def test_the_rules_are_linked_and_every_link_and_picture_of_theirs_is_there(client: TestClient) -> None:
    assert 'href="rules.html"' in client.get("/").text
    assert 'href="/rules.html"' in client.get("/api").text
    assert asked(client, "openapi.json")["externalDocs"]["url"] == "/rules.html"
    pages = {name: client.get(name).text for name in ("/rules.html", "/rules.de.html")}
    for name, text in pages.items():
        targets = re.findall('(?:href|src)="([^"]*)"', text)
        assert {"/", *pages} - {name} <= set(targets)
        assert text.count("<img ") > len(HOUSE_RULES)
        for target in targets:
            assert client.get(target).status_code == 200


def test_every_file_of_the_page_is_served(client: TestClient) -> None:
    for file in STATIC.iterdir():
        answer = client.get("/" if file.name == "index.html" else f"/{file.name}")
        assert answer.status_code == 200
        assert answer.content == file.read_bytes()
        assert answer.headers["content-type"] in application.TYPES.values()
        assert answer.headers["etag"]


@pytest.mark.parametrize(
    "path",
    [
        "/../app.py",
        "/%2e%2e/app.py",
        "/..%2fapp.py",
        "/static/style.css",
        "//etc/passwd",
        "/etc/passwd",
        "/style.css/",
        "/\\",
    ],
)
def test_no_path_leads_to_another_file(path: str, client: TestClient) -> None:
    assert client.get(path).status_code == 404


def test_no_request_opens_a_file(client: TestClient, databases: list[Served], monkeypatch: pytest.MonkeyPatch) -> None:
    for board in ("0/0", "3,17/0"):
        client.get(f"/api/position?board={board}")  # the blocks are read now

    def opened(*args: object, **more: object) -> int:
        raise AssertionError(f"{args} was opened")

    monkeypatch.setattr("os.open", opened)
    monkeypatch.setattr("io.open", opened)
    monkeypatch.setattr("builtins.open", opened)
    databases[0]._final.cache_clear()
    for path in ("/", "/main.js", "/api/position?board=0/0", "/api/move?board=3,17/0&roll=1&player=x.y", "/api/x/y"):
        assert client.get(path).status_code in {200, 400, 404}


def test_every_answer_has_the_headers_that_protect_a_browser(client: TestClient) -> None:
    for path in ("/", "/api", "/main.js", "/api/position?board=0/0", "/api/position", "/nothing"):
        headers = client.get(path).headers
        pages = guard.PAGE_SECURITY if headers["content-type"].startswith("text/html") else {}
        for name, value in (guard.SECURITY | pages).items():
            assert headers[name] == value
        assert "server" not in headers
    assert "x-frame-options" in client.get("/").headers
    policy = guard.SECURITY["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy


def test_nothing_is_inline_and_nothing_comes_from_elsewhere(client: TestClient) -> None:
    for page in (client.get("/").text, client.get("/api").text):
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", page)
        assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", page))
    for file in STATIC.iterdir():
        addresses = re.findall(r"https?://[\w./]+", file.read_text(encoding="utf-8"))
        assert set(addresses) <= {"http://www.w3.org/2000/svg"}


def test_both_languages_say_everything() -> None:
    texts = [(STATIC / f"{language}.js").read_text(encoding="utf-8") for language in ("en", "de")]
    keys = [re.findall(r'^  "?([\w.]+)"?: "', text, re.MULTILINE) for text in texts]
    assert keys[0] == keys[1]
    assert len(set(keys[0])) == len(keys[0])
    assert {f"character.{name}" for name in PLAYERS} <= set(keys[0])
    values = [re.findall(r'^  "?[\w.]+"?: "(.*)",$', text, re.MULTILINE) for text in texts]
    assert [len(found) for found in values] == [len(found) for found in keys]
    for one, other in zip(*values, strict=True):
        assert set(re.findall(r"\{\w+\}", one)) == set(re.findall(r"\{\w+\}", other))
    used = set()
    for file in STATIC.iterdir():
        source = file.read_text(encoding="utf-8")
        used |= set(
            re.findall(r'data-t="(\w+)"|data-label="(\w+)"|say\("(\w+)"|Impossible\("(\w+)"|tell\("(\w+)"', source)
        )
    assert {word for group in used for word in group if word} <= set(keys[0])
