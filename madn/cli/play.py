"""`madn play`: a game in the terminal, a person against any player."""

import random
import sys
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

import madn
from madn.board import Board, Move, as_board
from madn.cli.options import check_output_file, database_option, rules_options
from madn.cli.output import columns, json_option, painted, percent, print_json
from madn.ranges import checked_seed
from madn.rules import DIE, Rules

if TYPE_CHECKING:
    from madn.database import Database
    from madn.players import Player
    from madn.record import Record

HUMAN = "human"
HELP = "a number or a move to play it; hint, undo, board, save FILE, quit"


@click.command()
@click.argument("first", metavar="[A]", default=HUMAN)
@click.argument("second", metavar="[B]", default="fpoc")
@rules_options
@click.option("--seed", type=int, help="Seed of the dice.  [default: a new one]")
@click.option("--out", type=click.Path(path_type=Path), help="File to write the game record to.")
@database_option
@json_option
def play(
    first: str, second: str, rules: Rules, seed: int | None, out: Path | None, db: str | None, as_json: bool
) -> None:
    """Play a game in the terminal.

    A moves first and plays against B; 'human' is you, anything else a player (madn players) or a rule file.
    Type a number or a move to play it; 'hint' shows the chance of winning after each move (if there is a database
    of the game), 'undo' takes back your last move (the rolls stay the same), 'save FILE' writes the record, 'quit'
    stops.

    Example: madn play human fpoc --pieces 2 --out game.txt
    """
    from madn.players import find_player
    from madn.record import Record, write_record

    if out is not None:
        check_output_file(out, "--out")
    with ExitStack() as stack:
        given = None if db is None else stack.enter_context(madn.open_database(db))
        if given is not None:
            as_board(Board.start(rules), given.rules, f"{db} holds")
        opened = given or stack.enter_context(madn.open_database())
        database = opened if opened.rules == rules else None
        players = [None if name == HUMAN else find_player(name, rules, given) for name in (first, second)]
        seed = random.SystemRandom().randrange(2**32) if seed is None else checked_seed(seed)
        session = Session(Record(Board.start(rules), first, second), players, database, seed, as_json)
        record = session.run()
    if out is not None:
        write_record(record, out)
        session.say(f"The game record is in {out}")
    if as_json:
        head = {"rules": asdict(rules), "result": record.result, "plies": len(record.plies), "seed": seed}
        print_json({**head, "record": str(record)})


@dataclass
class Session:
    """A game that is being played: shows it, asks the person (a player that is None), lets the others move."""

    record: "Record"
    players: "list[Player | None]"
    database: "Database | None"
    seed: int
    quiet: bool

    def __post_init__(self) -> None:
        self._die = random.Random(self.seed)
        self._rolls: list[int] = []

    def say(self, text: str = "") -> None:
        """Print for the person: to standard error where standard output is for JSON."""
        click.echo(text, err=self.quiet)

    def rolls(self) -> list[int]:
        """The rolls of the next ply: one, or tries for a 6, the last of which counts. An undo does not change them."""
        number = len(self.record.plies)
        while len(self._rolls) <= number:
            self._rolls.append(self._die.randint(1, DIE))
        rolls, more = [self._rolls[number]], random.Random(f"{self.seed} {number} tries")
        while rolls[-1] != DIE and len(rolls) < self.record.board.tries:
            rolls.append(more.randint(1, DIE))
        return rolls

    def run(self) -> "Record":
        """Play until the game is over or the person has had enough."""
        if None in self.players:
            self.say(f"{self.record.first} moves first, {self.record.second} second. Commands: {HELP}.")
        while self.record.winner is None:
            player = self.players[self.record.mover == "second"]
            if player is None:
                if not self._persons_turn():
                    break
            else:
                rolls = self.rolls()
                self._move(rolls, player.choose(self.record.board, rolls[-1], self._lots()))
        self.say("\n" + self.picture() if self.record.plies else "")
        self.say(f"{self.record.result}, {len(self.record.plies)} moves, seed {self.seed}")
        return self.record

    def _lots(self) -> random.Random:
        """Random numbers for players that draw lots; an undo does not change them."""
        return random.Random(f"{self.seed} {len(self.record.plies)}")

    def _move(self, rolls: list[int], move: Move) -> None:
        who = self.record.mover
        self.record = self.record.played(rolls[-1], move)
        self.say(f"{len(self.record.plies)} {who} rolls {_listed(rolls)}: {move}")

    def picture(self) -> str:
        """The board in colour, the person (or the first player) always at the bottom."""
        bottom = "second" if self.players[0] is not None and self.players[1] is None else "first"
        return painted(self.record.board.ascii(flip=self.record.mover != bottom))

    def _persons_turn(self) -> bool:
        """Ask for a move until there is one; False if the person wants to stop."""
        board, rolls = self.record.board, self.rolls()
        roll, moves = rolls[-1], board.legal_moves(rolls[-1])
        self.say("\n" + self.picture())
        self.say(f"\nYou rolled {click.style(_listed(rolls), bold=True)}.")
        if moves == (Move.PASS,):
            self.say("No legal move: the turn is lost.")
        self.say(columns([(number, move) for number, move in enumerate(moves, 1)], right=[0]))
        while True:
            answer = self._ask()
            if answer is None or answer == "quit":
                return False
            if answer in {"help", "?", ""}:
                self.say(HELP)
            elif answer == "hint":
                self._hint(board, roll)
            elif answer == "board":
                self.say(self.picture())
            elif answer.startswith("save"):
                self._save(answer[4:].strip())
            elif answer == "undo":
                if self._undo():
                    return True
                self.say("There is nothing to take back.")
            else:
                if (move := _understood(answer, moves)) is not None:
                    self._move(rolls, move)
                    return True
                listed = ", ".join(map(str, moves))
                self.say(f"{answer[:40]!r} is neither a command nor a legal move; legal: {listed}")

    def _ask(self) -> str | None:
        """What the person types; None at the end of the input."""
        click.echo("> ", nl=False, err=self.quiet)
        line = sys.stdin.readline()
        return line.strip() if line else None

    def _hint(self, board: Board, roll: int) -> None:
        if self.database is None:
            solve = f"madn solve {self.record.rules.options}"
            self.say(f"There is no database of this game: make one with `{solve}` and name it with --db.")
            return
        best = self.database.moves(board, roll)
        self.say(columns([(m.move, "" if m.win is None else percent(m.win)) for m in best], right=[1]))

    def _undo(self) -> bool:
        """Go back to the person's last decision before this one."""
        record = self.record
        while record.plies:
            record = record.undone()
            if self.players[record.mover == "second"] is None:
                self.record = record
                self.say(f"Back to before move {len(record.plies) + 1}.")
                return True
        return False

    def _save(self, name: str) -> None:
        from madn.record import write_record

        if not name:
            self.say("save needs the name of a file")
            return
        try:
            write_record(self.record, name)
            self.say(f"The record so far is in {name}")
        except (OSError, ValueError) as error:  # ValueError: a null character in the name
            self.say(f"{name!r} cannot be written: {getattr(error, 'strerror', error)}")


def _listed(rolls: list[int]) -> str:
    return ", ".join(map(str, rolls))


def _understood(answer: str, moves: tuple[Move, ...]) -> Move | None:
    """The move that the person means: by its number, or as it is written, the x of a capture may be left out."""
    if answer.isascii() and answer.isdigit():
        return moves[int(answer) - 1] if 1 <= int(answer) <= len(moves) else None
    return next((move for move in moves if answer in {str(move), str(move).replace("x", "-")}), None)
