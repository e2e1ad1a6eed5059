"""Players: what they choose, the compiled twin, rule files, players of one's own."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import boards, rolls, rules

import madn
from madn import Board, Move, Rules
from madn._players import FEATURES as COMPILED_FEATURES
from madn._players import RULES, CompiledPlayer
from madn.errors import IllegalMoveError, InvalidPlayerError, MadnError, RulesMismatchError
from madn.features import FEATURES
from madn.match import compiled
from madn.players import (
    MOST_RULES,
    PLAYERS,
    FunctionPlayer,
    OptimalPlayer,
    Rule,
    RulePlayer,
    find_player,
    parse_player,
    points,
    read_player,
)

TWO = Rules(pieces=2)
names = st.sampled_from(list(FEATURES))
scores = st.integers(-99, 99).filter(bool)
rule_lists = st.lists(
    st.builds(Rule, names, st.booleans()) | st.builds(Rule, names, st.just(False), scores), max_size=6
).map(tuple)
words = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12)
rule_players = st.builds(RulePlayer, words, words, rule_lists, st.booleans()).filter(lambda p: p.rules or p.draws)


def chosen(name: str, board: str, roll: int, pieces: int = 4) -> list[str]:
    return [str(move) for move in PLAYERS[name].choices(Board.parse(board, Rules(pieces=pieces)), roll)]


def test_the_players_of_the_contract_are_there() -> None:
    assert {"optimal", "random", "fpoc", "fpnpoc"} < set(PLAYERS)
    assert len(PLAYERS) >= 7
    for name, player in PLAYERS.items():
        assert player.name == name
        assert player.description.endswith(".")
        assert player.description.count(".") == 1


# A board of four pieces: 5, 12 and 30 of the mover, the other side on 14, 17 and 35 in the mover's numbers.
CROWD = "5,12,13,30/15,34,37"


@pytest.mark.parametrize(
    ("name", "board", "roll", "moves"),
    [
        ("random", CROWD, 2, ["5-7", "12x14", "13-15", "30-32"]),
        ("fpoc", CROWD, 2, ["12x14"]),
        ("fpoc", CROWD, 3, ["30-33"]),
        ("fpoc", CROWD, 5, ["30x35"]),  # 12x17 captures too; the piece furthest along does it
        ("fpnpoc", CROWD, 6, ["5-11"]),  # 12-18, 13-19 and 30-36 all pass somebody
        ("fpnpoc", CROWD, 3, ["30-33"]),
        ("runner", CROWD, 2, ["30-32"]),
        ("hunter", CROWD, 5, ["12x17"]),  # that piece had come further (37) than the one on 35 (15)
        ("together", "5,12,13,30/20", 1, ["5-6"]),
        ("careful", "5,12,13,30/20", 6, ["5-11"]),
        ("fpoc", "b/0", 3, ["pass"]),
        ("fpoc", "b/0", 6, ["b-0"]),
    ],
)
def test_players_choose_what_they_say(name: str, board: str, roll: int, moves: list[str]) -> None:
    assert chosen(name, board, roll) == moves


def test_optimal_takes_the_best_move_of_its_database() -> None:
    board = Board.parse("3,17/0", TWO)
    with madn.open_database() as db:
        for roll in range(1, 7):
            assert PLAYERS["optimal"].choose(board, roll) == db.best_move(board, roll)
        with pytest.raises(RulesMismatchError, match="player optimal plays 2 pieces"):
            OptimalPlayer(db).choose(Board.start(), 3)


def test_draws_come_from_the_die_that_is_given() -> None:
    board = Board.parse(CROWD)
    one, two = ([PLAYERS["random"].choose(board, 2, random.Random(7)) for _ in range(20)] for _ in range(2))
    die = random.Random(7)
    assert one == two
    assert len({PLAYERS["random"].choose(board, 2, die) for _ in range(100)}) == 4


@pytest.mark.parametrize("name", PLAYERS)
def test_a_finished_game_has_no_choice(name: str) -> None:
    with pytest.raises(IllegalMoveError, match="over"):
        PLAYERS[name].choose(Board.parse("40,41/0", TWO), 3)


@given(rule_players, boards(finished=False), rolls)
def test_a_player_takes_legal_moves_and_its_rules_decide(player: RulePlayer, board: Board, roll: int) -> None:
    legal = board.legal_moves(roll)
    taken = player.choices(board, roll)
    assert taken
    assert [move for move in legal if move in taken] == list(taken)
    if len(legal) > 1 and player.rules:
        first = player.steps[0]
        assert {points(first, board, move) for move in taken} == {max(points(first, board, move) for move in legal)}
    assert player.draws or len(taken) == 1


@given(rule_players, boards(rules(), finished=False), rolls)
def test_the_compiled_player_takes_the_same_moves(player: RulePlayer, board: Board, roll: int) -> None:
    policy = compiled(player, board.rules)
    assert policy is not None
    taken = [move for move in player.choices(board, roll) if move != Move.PASS]
    ends = [(-1 if move.start is None else move.start, move.end) for move in taken]
    assert policy.choices(*board.masks, roll) == ends


@given(st.sampled_from(list(FEATURES)), st.booleans(), boards(rules(), finished=False), rolls)
def test_each_feature_alone_is_the_same_compiled(feature: str, avoid: bool, board: Board, roll: int) -> None:
    test_the_compiled_player_takes_the_same_moves.hypothesis.inner_test(  # type: ignore[attr-defined]
        RulePlayer("one", "One.", (Rule(feature, avoid),), True), board, roll
    )


def test_the_compiled_code_knows_all_features() -> None:
    assert len(FEATURES) == COMPILED_FEATURES
    assert MOST_RULES == RULES


@pytest.fixture(scope="module")
def best_player() -> CompiledPlayer:
    policy = compiled(PLAYERS["optimal"], TWO)
    assert policy is not None
    return policy


@given(board=boards(TWO, finished=False), roll=rolls)
def test_the_compiled_optimal_player_takes_the_same_moves(best_player: CompiledPlayer, board: Board, roll: int) -> None:
    best = PLAYERS["optimal"].choose(board, roll)
    start = -1 if best.start is None else best.start
    assert best_player.choices(*board.masks, roll) == ([] if best == Move.PASS else [(start, best.end)])


# rule files


@given(rule_players)
def test_a_rule_file_is_read_as_it_was_written(player: RulePlayer) -> None:
    assert parse_player(str(player)) == player
    assert str(parse_player(str(player))) == str(player)


def test_a_rule_file_may_have_comments_and_spaces(tmp_path: Path) -> None:
    path = tmp_path / "mine.rules"
    path.write_text("# mine\n\nname: mine\n description:  It hunts. \n prefer   loot # first\navoid danger\nrandom\n")
    assert read_player(path) == RulePlayer("mine", "It hunts.", (Rule("loot"), Rule("danger", True)), True)
    assert find_player(str(path), TWO).name == "mine"


HEAD = "name: x\ndescription: X.\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "prefer captures\n", "f.rules, line 3: there is no feature 'captures'; the features are capture, "),
        (HEAD + "capture\n", "f.rules, line 3: 'capture' is not a rule"),
        (HEAD + "prefer capture loot\n", "line 3: .* is not a rule"),
        (HEAD + "random\nprefer capture\n", "line 4: nothing can come after 'random'"),
        (HEAD + "name: y\n", "line 3: a second name"),
        ("name: two words\n", "line 1: write one word"),
        ("name:\n", "line 1: write one word"),
        ("prefer capture\nname: x\n", "line 2: the name must come before the rules"),
        ("name: x\nprefer capture\n", "f.rules: there is no line 'description: ...'"),
        (HEAD, "f.rules: there are no rules"),
        ("", "there is no line 'name: ...'"),
        (HEAD + "prefer front\n" * 33, "line 35: more than 32 rules"),
        (HEAD + "+5 captures\n", "line 3: there is no feature 'captures'"),
        (HEAD + "+0 capture\n", "line 3: '\\+0 capture' is not a rule"),
        (HEAD + "-100 capture\n", "line 3: '-100 capture' is not a rule"),
        (HEAD + "5 capture\n", "line 3: '5 capture' is not a rule; write .*'\\+5 FEATURE'"),
    ],
)
def test_a_broken_rule_file_says_where_and_why(text: str, message: str) -> None:
    with pytest.raises(InvalidPlayerError, match=message):
        parse_player(text, "f.rules")


@settings(max_examples=50)
@given(st.text(max_size=60))
def test_any_text_is_a_player_or_an_error_of_one_line(text: str) -> None:
    message = ""
    try:
        parse_player(text)
    except MadnError as error:
        message = str(error)
    assert "\n" not in message


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "binary.rules").write_bytes(b"\xff\xfe")
    for name in ("none.rules", "binary.rules", "."):
        with pytest.raises(InvalidPlayerError, match=name):
            read_player(tmp_path / name)


def test_unknown_players_are_named_with_the_known_ones() -> None:
    with pytest.raises(InvalidPlayerError, match="no player 'chess'; the players are optimal, estimate, random"):
        find_player("chess", TWO)
    with madn.open_database() as db:
        with pytest.raises(RulesMismatchError, match="to play 4 pieces, 40 squares, but its database holds 2 pieces"):
            find_player("optimal", Rules(), db)
        assert isinstance(find_player("optimal", TWO, db), OptimalPlayer)


# players of one's own


def test_a_function_is_a_player() -> None:
    last = FunctionPlayer("last", "Moves the last piece.", lambda board, roll, moves: moves[0])
    board = Board.parse(CROWD)
    assert str(last.choose(board, 1)) == "5-6"
    both = FunctionPlayer("both", "Draws from two.", lambda board, roll, moves: moves[:2])
    assert len(both.choices(board, 1)) == 2


@pytest.mark.parametrize("answer", [Move(1, 2), (), [Move.PASS]])
def test_a_function_that_chooses_nonsense_is_told_so(answer: object) -> None:
    wrong = FunctionPlayer("wrong", "Is wrong.", lambda board, roll, moves: answer)  # type: ignore[arg-type,return-value]
    with pytest.raises(
        InvalidPlayerError, match=r"wrong chose .* on '5,12,13,30/15,34,37' with a 1; legal: 5-6, 13x14, 30-31"
    ):
        wrong.choices(Board.parse("5,12,13,30/15,34,37"), 1)


def test_boards_and_moves_may_be_texts() -> None:
    assert PLAYERS["fpoc"].choose("3,17/0", 4) == Move(17, 21)  # of the standard game
    assert PLAYERS["optimal"].choose("12,41,42,43/0", 4) == Move(12, 16)  # of the standard game, too
    with madn.open_database() as db:
        assert OptimalPlayer(db).choose("3,17/0", 4) == Move(3, 7)  # of its database
    player = FunctionPlayer("last", "Moves the last piece.", lambda board, roll, moves: str(moves[0]))
    assert player.choose("3,17/0", 4) == Move(3, 7)
    several = FunctionPlayer("any", "Draws.", lambda board, roll, moves: [str(move) for move in moves])
    assert several.choices(Board.parse("3,17/0"), 4) == (Move(3, 7), Move(17, 21))
    with pytest.raises(InvalidPlayerError, match="odd chose 'up' on '3,17/0' with a 4; legal: 3-7, 17-21"):
        FunctionPlayer("odd", "Says nonsense.", lambda *_: "up").choose("3,17/0", 4)
