"""The HTTP interface is as its description says: OpenAPI, the page for programs, and docs/web.md."""

import json
from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import HealthCheck, settings
from starlette.testclient import TestClient
from web_client import asked

import madn
from madn.web.answers import Served
from madn.web.app import make_app
from madn.web.description import openapi

schema = schemathesis.openapi.from_asgi(
    "/api/openapi.json", make_app([Served("two-pieces", madn.open_database())], rate=10**9)
)


@schema.parametrize()
@settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_the_server_is_as_its_description_says(case: Any) -> None:
    """Questions made from the description, right and wrong ones, get the statuses and the fields it promises.

    That every text of the right form is a position is not promised: one check less.
    """
    case.call_and_validate(excluded_checks=[schemathesis.checks.positive_data_acceptance])


def test_the_answer_in_the_document_is_the_real_one(client: TestClient) -> None:
    document = Path(__file__).resolve().parent.parent / "docs" / "web.md"
    printed = json.loads(document.read_text(encoding="utf-8").split("```json\n")[1].split("```")[0])
    found = asked(client, "position", board="3,17/0")
    (shown,) = printed["rolls"]
    found["rolls"] = [roll for roll in found["rolls"] if roll["roll"] == shown["roll"]]
    assert printed == found


def test_everything_that_can_be_asked_is_described(app: Any, databases: list[Served]) -> None:
    paths = {route.path for route in app.routes if route.path.startswith("/api/")}
    assert paths - {"/api/openapi.json"} == set(openapi(databases)["paths"])
    page = TestClient(app).get("/api").text
    for path in openapi(databases)["paths"]:
        assert f" {path}</code>" in page
