"""The OpenAPI description of the interface, the page made from it, and the limits."""

import html
import json
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

import madn
from madn.players import PLAYERS
from madn.rules import DIE, Rules
from madn.web.answers import Served
from madn.why_words import LANGUAGES

BODY_BYTES = 32 << 10
BODY_SECONDS = 10
BOARDS = 500  # in one request
MOST_SEED = 2**53 - 1  # the largest whole number that every JSON reader keeps

Schema = dict[str, Any]

SIDE = "(b|[0-9]{1,2}(,[0-9]{1,2}){0,5})"
BOARD: Schema = {
    "type": "string",
    "pattern": f"^{SIDE}/{SIDE}$",
    "maxLength": 40,
    "examples": ["0/0", "3,17/0"],
    "description": "OWN/OTHER: the side to move comes first. Each side lists the squares of its pieces that are out of "
    "the box, ascending, counted from its own A-square; a side with none out is b.",
}
PROBABILITY: Schema = {
    "type": ["number", "null"],
    "minimum": 0,
    "maximum": 1,
    "description": "Probability from 0 to 1 that the side to move wins; null if unknown.",
}
SQUARE: Schema = {"type": ["integer", "null"], "minimum": 0, "description": "A square in the mover's numbers."}
COUNT: Schema = {"type": "integer", "minimum": 0}
ROLL: Schema = {"type": "integer", "minimum": 1, "maximum": DIE}
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number", "minimum": 0}


def record(optional: str = "", /, **fields: Schema) -> Schema:
    """The schema of an object with exactly these fields, one of which may be `optional`."""
    required = [name for name in fields if name != optional]
    return {"type": "object", "properties": fields, "required": required, "additionalProperties": False}


def listed(items: Schema, **more: Any) -> Schema:
    """The schema of a list."""
    return {"type": "array", "items": items, **more}


def named(name: str) -> Schema:
    """A reference to one of `SCHEMAS`."""
    return {"$ref": f"#/components/schemas/{name}"}


EXACT: Schema = {"type": "boolean", "description": "False for an estimate."}
SOURCES: dict[str, Schema] = {
    "exact": EXACT | {"description": "False if a number in the answer is an estimate."},
    "source": {
        "type": "string",
        "enum": ["database", "solved", "estimate"],
        "description": "Where the numbers come from: a database, a part of the game that the server has solved, or the "
        "estimator. An estimate sent with no-store is replaced by an exact answer within a few seconds.",
    },
    "error": {
        "type": ["number", "null"],
        "minimum": 0,
        "description": "The largest error that an exact value can have; for estimates, the root mean square error.",
    },
}
RULES = record(**{field.name: {"type": "boolean"} if field.type is bool else COUNT for field in fields(Rules)})
CELLS = listed(listed(COUNT, minItems=2, maxItems=2))
DRAWN = record(path=CELLS, box=CELLS)
MOVES = listed(named("Move"), minItems=1, description="All legal moves, best first.")
SCHEMAS: dict[str, Schema] = {
    "Error": record(message={"type": "string", "description": "What is wrong, in one line."}),
    "Move": record(
        **{
            "move": {"type": "string", "examples": ["12-17", "b-0", "12x17", "pass"]},
            "from": SQUARE | {"description": "The square it leaves; null for the box, and for a lost roll."},
            "to": SQUARE | {"description": "The square it ends on; null for a lost roll."},
            "captures": {"type": "boolean"},
            "win": PROBABILITY | {"description": "The mover's winning probability after the move."},
            "loss": PROBABILITY | {"description": "What the move loses compared with the best one, in probability."},
            "exact": EXACT,
            "board": BOARD | {"description": "The board that the next player to roll sees."},
        }
    ),
    "Roll": record(
        roll=ROLL,
        win=PROBABILITY | {"description": "The winning probability after the best move."},
        moves=MOVES,
    ),
    "Position": record(
        board=BOARD,
        win=PROBABILITY | {"description": "The winning probability of the side to move, before it rolls."},
        winner={
            "type": ["string", "null"],
            "enum": ["own", "other", None],
            "description": "Who has won; null while the game goes on.",
        },
        tries=COUNT | {"description": "How often the side to move may roll for a 6; the last roll counts."},
        **SOURCES,
        rolls={
            "type": ["array", "null"],
            "items": named("Roll"),
            "description": "The six rolls; empty in a finished game, null in a batch for a position that is not in "
            "the database.",
        },
    ),
    "Chosen": record(
        "why",
        board=BOARD,
        roll=ROLL,
        player=TEXT,
        seed=COUNT,
        move=TEXT | {"description": "The move that the player makes."},
        win=PROBABILITY | {"description": "The mover's winning probability after it."},
        loss=PROBABILITY | {"description": "What it loses compared with the best one."},
        **SOURCES,
        moves=MOVES,
        why=listed(
            TEXT,
            description="If asked for: how the best move differs from the player's (or from the second best if the "
            "player's is the best), in one or two sentences.",
        ),
    ),
    "Database": record(
        name=TEXT | {"description": "The value for the parameter db."},
        version=TEXT | {"description": "Changes whenever the content does."},
        rules=RULES,
        positions=COUNT,
        bytes=COUNT,
        values=TEXT | {"description": "How values are stored."},
        max_error=NUMBER | {"type": ["number", "null"], "description": "The largest error that storing added."},
        boards={
            "type": "object",
            "additionalProperties": record(board=TEXT, win=PROBABILITY),
            "description": "Named boards: the start, the best and the worst open position.",
        },
        exact={"type": "boolean", "description": "Whether every answer is exact: no estimates before the endgame."},
        opening=BOARD | {"description": "The board that a visitor to the page sees first."},
        players=listed(TEXT, description="Who can play this game."),
    ),
    "Game": record(
        name=TEXT | {"description": "The value for the parameter db."},
        rules=RULES,
    ),
    "Player": record(name=TEXT, description=TEXT),
    "Layout": record(width=COUNT, height=COUNT, bottom=DRAWN, top=DRAWN),
}

ERRORS = {
    400: "Not a position, not a roll, or an unknown parameter. The message says what is wrong.",
    404: "The position is not in this database, or there is no such database.",
    408: f"The body did not arrive within {BODY_SECONDS} seconds.",
    411: "A body without Content-Length.",
    413: f"More than {BODY_BYTES} bytes or more than {BOARDS} boards.",
    415: "The body is not application/json.",
    421: "The server does not answer requests to this host name.",
    429: "Too many positions per second from this address; Retry-After says when to try again.",
    431: "The head is longer than 16 KiB.",
    500: "An error of the server, such as a damaged database.",
    503: "Too many requests in progress, overall or from this address; Retry-After says when to try again.",
}


def parameter(name: str, description: str, schema: Schema, required: bool = False) -> Schema:
    """A parameter in the address."""
    return {"name": name, "in": "query", "required": required, "description": description, "schema": schema}


def content(schema: Schema) -> Schema:
    """A JSON body."""
    return {"application/json": {"schema": schema}}


SUMMARIES = {
    "position": "The winning probability of a position, and all moves for all six rolls, best first",
    "positions": f"As /api/position, for up to {BOARDS} boards",
    "move": "The move that a player makes with a roll, and all legal moves, best first",
    "players": "Who can choose moves",
    "databases": "What is open from the beginning",
    "games": "Which games can be asked about; those that are not open yet are opened at the first question",
    "game": "What is known about one game",
    "layout": "Where the squares of each side are drawn, as [column, row]",
    "health": "Whether the server answers",
}


def operation(name: str, answer: Schema, *parameters: Schema, body: Schema | None = None) -> dict[str, Schema]:
    """A request to `/api/NAME`, a POST if it has a body: its answer and the errors it can have."""
    kept = {"ETag": {"schema": TEXT}, "Cache-Control": {"schema": TEXT}}
    responses = {"200": {"description": "The answer.", "headers": kept, "content": content(answer)}}
    more = [*([404] if parameters else []), *([408, 415] if body else [])]
    for status in sorted({400, 411, 413, 421, 429, 431, 500, 503, *more}):
        responses[str(status)] = {"description": ERRORS[status], "content": content(named("Error"))}
    asked: Schema = {"operationId": name, "summary": SUMMARIES[name]}
    if parameters:
        asked["parameters"] = list(parameters)
    if body:
        asked["requestBody"] = {"required": True, "content": content(body)}
    return {f"/api/{name}": {"post" if body else "get": {**asked, "responses": responses}}}


def openapi(databases: Sequence[Served], games: Iterable[str] = ()) -> Schema:
    """The description, with the names of the databases that are served and of all games that can be asked about."""
    first = databases[0]
    names = list(dict.fromkeys([*(served.name for served in databases), *games]))
    db = parameter("db", f"The database; {first.name} by default.", {"enum": names})
    version = parameter(
        "version",
        "The version given by /api/databases or /api/game. An answer to a request with it never changes and may be "
        "cached forever.",
        {"enum": [served.version for served in databases]} if len(names) == len(databases) else TEXT,
    )
    board = parameter("board", "The position.", BOARD, required=True)
    roll = parameter("roll", "The roll.", ROLL, required=True)
    player = parameter("player", "Who chooses; optimal by default.", {"enum": list(PLAYERS)})
    seed = parameter(
        "seed", "For players that draw lots: the same seed gives the same move.", COUNT | {"maximum": MOST_SEED}
    )
    why = parameter("why", "The language in which to say what differs between moves.", {"enum": list(LANGUAGES)})
    health = record(status={"type": "string", "const": "ok"}, version=TEXT, databases=COUNT)
    batch = record(boards=listed(BOARD, minItems=1, maxItems=BOARDS))
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "madn",
            "version": madn.__version__,
            "description": "Winning probabilities and best moves of Mensch ärgere Dich nicht, exact or estimated.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "externalDocs": {"description": "The rules of the game", "url": "/rules.html"},
        "paths": {
            **operation("position", named("Position"), board, db, version),
            **operation("positions", record(positions=listed(named("Position"))), db, version, body=batch),
            **operation("move", named("Chosen"), board, roll, player, seed, why, db, version),
            **operation("players", record(players=listed(named("Player")))),
            **operation("databases", record(databases=listed(named("Database")))),
            **operation("games", record(games=listed(named("Game")))),
            **operation("game", named("Database"), db),
            **operation("layout", named("Layout"), db, version),
            **operation("health", health),
        },
        "components": {"schemas": SCHEMAS},
    }


def documentation(databases: Sequence[Served], games: Iterable[str] = ()) -> str:
    """The description as a page for people."""
    api = openapi(databases, games)
    served = databases[0]
    examples = {"/api/position": "?board=0/0", "/api/move": "?board=3,17/0&roll=4&player=fpoc&why=en"}
    parts = []
    for path, methods in api["paths"].items():
        for method, asked in methods.items():
            parts.append(f"<h2><code>{method.upper()} {path}</code></h2><p>{html.escape(asked['summary'])}.</p>")
            if method == "get":
                link = html.escape(path + examples.get(path, ""))
                parts.append(f'<p>Try <a href="{link}"><code>{link}</code></a></p>')
            rows = [
                (f"<code>{p['name']}</code>", html.escape(p["description"]) + ("" if p["required"] else " Optional."))
                for p in asked.get("parameters", [])
            ]
            if rows:
                parts.append(_table(("parameter", "meaning"), rows))
            if "requestBody" in asked:
                body = json.dumps({"boards": ["0/0", "3,17/0"]})
                parts.append(f"<p>The body is JSON:</p><pre>{html.escape(body)}</pre>")
            answer = asked["responses"]["200"]["content"]["application/json"]["schema"]
            parts.append(_table(("field of the answer", "meaning"), _fields(answer)))
    schemas = "".join(
        f'<h3 id="{name}">{name}</h3>{_table(("field", "meaning"), _fields(schema))}'
        for name, schema in SCHEMAS.items()
    )
    errors = _table(("status", "meaning"), [(str(status), html.escape(meaning)) for status, meaning in ERRORS.items()])
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>madn: the HTTP interface</title>
<link rel="icon" href="/icon.svg">
<link rel="stylesheet" href="/style.css">
</head>
<body>
<main class="document">
<p><a href="/">The board</a> · <a href="/rules.html">The rules</a></p>
<h1>The HTTP interface</h1>
<p>Programs can ask this server everything that the page asks. Every answer is JSON; unknown values are
<code>null</code>. For programs, <a href="/api/openapi.json">openapi.json</a> says the same. The default database is
<code>{html.escape(served.name)}</code>, version <code>{served.version}</code>. An answer to a request with this version
never changes and may be cached forever. Answers to <code>GET</code> have an <code>ETag</code>, except
<code>/api/health</code>.</p>
{"".join(parts)}
<h2>Objects in answers</h2>
{schemas}
<h2>Errors</h2>
<p>An error is <code>{{"message": "..."}}</code> with one of these statuses.</p>
{errors}
</main>
</body>
</html>
"""


def _table(heads: tuple[str, str], rows: Sequence[tuple[str, str]]) -> str:
    head = "".join(f"<th>{cell}</th>" for cell in heads)
    lines = "".join(f"<tr><td>{first}</td><td>{second}</td></tr>" for first, second in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


def _fields(schema: Schema) -> list[tuple[str, str]]:
    """The fields of a schema and what each one is."""
    if "$ref" in schema:
        schema = SCHEMAS[schema["$ref"].rpartition("/")[2]]
    return [(f"<code>{name}</code>", _kind(field)) for name, field in schema["properties"].items()]


def _kind(field: Schema) -> str:
    """What a field is, in words."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f'<a href="#{name}">{name}</a>'
    kind = field.get("type", "")
    words = " or ".join(kind) if isinstance(kind, list) else kind
    if "items" in field and "$ref" in field["items"]:
        words = f"{words} of {_kind(field['items'])}"
    return f"{words}. {html.escape(field['description'])}" if "description" in field else words
