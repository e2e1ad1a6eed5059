"""`madn play`: a game in the terminal, between a person and any player."""

import random
import sys
import textwrap
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from madn.board import Board, Move
from madn.cli.asking import player_source, say_what_optimal_plays
from madn.cli.options import check_output_file, database_option, rules_options
from madn.cli.output import columns, json_option, painted, plural, print_json
from madn.drawing import BLACK, RED
from madn.errors import MissingBlockError
from madn.ranges import checked_seed
from madn.rules import DIE, Rules

if TYPE_CHECKING:
    from madn.advisor import Advisor
    from madn.database import MoveValue
    from madn.players import Player
    from madn.record import Record

Side = Literal["first", "second"]
HUMAN = "human"
HELP = [
    ("1, 2, ...", "play the move with this number; or type the move, such as 3-7"),
    ("Enter", "play the move if there is only one"),
    ("auto", "play such moves without asking; type it again to be asked"),
    ("hint", "show what each move is worth"),
    ("undo", "go back to your last choice, with the same roll"),
    ("board", "draw the board again and explain its symbols"),
    ("save FILE", "write the game so far to a file"),
    ("quit", "stop"),
]


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

    A moves first and plays against B; 'human' is you, anything else a player (see madn players) or a rule file.
    Type the number of a move to play it; if there is only one, press Enter. 'hint' shows the chance of winning
    after each move, 'undo' takes back your last choice (the rolls stay the same), and 'help' lists everything
    you can type.

    Example: madn play human optimal --out game.txt
    """
    from madn.players import find_player
    from madn.record import Record, write_record

    if out is not None:
        check_output_file(out, "--out")
    with player_source(db, rules) as source:
        players = [None if name == HUMAN else find_player(name, rules, source) for name in (first, second)]
        say_what_optimal_plays(Board.start(rules), *players)
        seed = random.SystemRandom().randrange(2**32) if seed is None else checked_seed(seed)
        session = Session(Record(Board.start(rules), first, second), players, source, seed, as_json)
        record = session.run()
    if out is not None:
        write_record(record, out)
        session.say(f"The game record is in {out}")
    if as_json:
        head = {"rules": asdict(rules), "result": record.result, "plies": len(record.plies), "seed": seed}
        print_json({**head, "record": str(record)})


@dataclass
class Session:
    """A game in progress: shows it, asks the person (a player that is None), lets the others move.

    A person against a player is Red and at the bottom of the board, and all squares have the person's numbers.
    In other games the first player is Red, and a side's moves have its own numbers.
    """

    record: "Record"
    players: "list[Player | None]"
    source: "Advisor"
    seed: int
    quiet: bool
    auto: bool = False

    def __post_init__(self) -> None:
        self._die = random.Random(self.seed)
        self._rolls: list[int] = []
        self._alone = self.players.count(None) == 1
        self._red = "second" if self._alone and self.players[1] is None else "first"

    def say(self, text: str = "") -> None:
        """Print for the person: to standard error if standard output is for JSON."""
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
        """Play until the game is over or the person quits."""
        self._introduce()
        while self.record.winner is None:
            player = self.players[self.record.mover == "second"]
            if player is None:
                if not self._persons_turn():
                    break
            else:
                rolls = self.rolls()
                self._move(rolls, player.choose(self.record.board, rolls[-1], self._lots()))
        winner = self.record.winner
        result = "The game is unfinished"
        if winner is not None:
            result = f"{self._name(winner)} {'have' if self._is_you(winner) else 'has'} won"
        self.say(f"\n{self.picture()}\n\n{result}: {plural(len(self.record.plies), 'roll')}, seed {self.seed}.")
        return self.record

    def _introduce(self) -> None:
        """Say who is who, where the pieces go, and what can be typed."""
        if self._alone:
            player = next(player for player in self.players if player is not None)
            order = "You move first" if self.players[0] is None else f"{player.name} moves first"
            self.say(f"You are Red (R) and {player.name} is Black (B). {order}.")
            self.say(textwrap.fill(f"{player.name}: {player.description}", 79))
        else:
            self.say(f"{self._name('first')} moves first, {self._name('second')} second.")
        if None in self.players:
            rules = self.record.rules
            finish = f"{rules.squares} to {rules.goal - 1}" if rules.pieces > 1 else f"{rules.squares}"
            self.say(f"Your pieces come out on 0, go round to {rules.squares - 1} and finish on {finish}.")
            self.say("Type the number of a move (Enter if there is only one), hint, undo, help or quit.")

    def _is_you(self, side: Side) -> bool:
        return self._alone and side == self._red

    def _name(self, side: Side) -> str:
        """What a side is called: you, the name of a player, or its colour where there are two persons or none."""
        player, colour = self.players[side == "second"], (RED if side == self._red else BLACK).name
        if self._alone:
            return "You" if player is None else player.name
        return colour if player is None else f"{player.name} ({colour})"

    def _lots(self) -> random.Random:
        """Random numbers for players that choose at random; an undo does not change them."""
        return random.Random(f"{self.seed} {len(self.record.plies)}")

    def _move(self, rolls: list[int], move: Move, asked: bool = False) -> None:
        """Play a move and print it; if it was `asked` for, the roll has been shown already."""
        who, rules = self.record.mover, self.record.rules
        self.record = self.record.played(rolls[-1], move)
        said = _reported(move, rules) if self._alone and not self._is_you(who) else _described(move, rules)
        self.say(f"{self._name(who)} {'played' if asked else f'rolled {_listed(rolls)}:'} {said}.")

    def picture(self) -> str:
        """The squares in colour, Red at the bottom, without the lines below the board."""
        return self._drawing().partition("\n\n")[0]

    def _drawing(self) -> str:
        """The board in colour, Red at the bottom: in the numbers of the person, or else of the side to move."""
        board = self.record.board
        turned = self.record.mover != self._red
        if self._alone and turned:
            board, turned = Board(board.other, board.own, board.rules), False
        return painted(board.ascii(flip=turned))

    def _persons_turn(self) -> bool:
        """Ask for a move until there is one; False if the person wants to stop."""
        board, rolls = self.record.board, self.rolls()
        roll, moves = rolls[-1], board.legal_moves(rolls[-1])
        if moves == (Move.PASS,) or (self.auto and len(moves) == 1):
            self._move(rolls, moves[0])
            return True
        self._show_turn(rolls, moves)
        while True:
            answer = self._ask()
            word = None if answer is None else answer.lower()
            if answer is None or word == "quit":
                return False
            if not answer and len(moves) == 1:
                self._move(rolls, moves[0], asked=True)
                return True
            if word in {"help", "?"}:
                self.say(columns(HELP))
            elif word == "hint":
                self._hint(board, roll)
            elif word == "board":
                self.say(self._drawing())
            elif word == "auto":
                self.auto = not self.auto
                self.say(f"If there is only one move, {'it is played for you' if self.auto else 'Enter plays it'}.")
                if self.auto and len(moves) == 1:
                    self._move(rolls, moves[0], asked=True)
                    return True
            elif answer.split()[:1] == ["save"]:
                self._save(answer[4:].strip())
            elif word == "undo":
                if self._undo():
                    return True
                self.say("There is no choice to take back.")
            elif (move := _understood(answer, moves)) is not None:
                self._move(rolls, move, asked=True)
                return True
            else:
                self.say(_misunderstood(answer, moves))

    def _show_turn(self, rolls: list[int], moves: tuple[Move, ...]) -> None:
        """The board, the roll, and the moves."""
        board, rules = self.record.board, self.record.rules
        rolled = f"{self._name(self.record.mover)} rolled {click.style(_listed(rolls), bold=True)}"
        self.say(f"\n{self.picture()}\n")
        if len(moves) == 1:
            duty = moves[0].start == 0 and 1 < len(board.own) < rules.pieces
            why = " (square 0 must be cleared)" if duty else ""
            self.say(f"{rolled}. The only move is {_described(moves[0], rules)}{why}: press Enter.")
        else:
            listed = [(number, move, _remark(move, rules)) for number, move in enumerate(moves, 1)]
            self.say(f"{rolled}. Which move?\n{columns(listed, right=[0])}")

    def _ask(self) -> str | None:
        """What the person types; None at the end of the input."""
        click.echo("> ", nl=False, err=self.quiet)
        line = sys.stdin.readline()
        return line.strip() if line else None

    def _hint(self, board: Board, roll: int) -> None:
        try:
            best, *others = self.source.moves(board, roll)
        except MissingBlockError as error:
            self.say(textwrap.fill(str(error), 79, break_long_words=False, break_on_hyphens=False))
            return
        numbers = {move: number for number, move in enumerate(board.legal_moves(roll), 1)}
        rows = [(numbers[best.move], best.move, _chance(best), "best")]
        rows += [(numbers[m.move], m.move, _chance(m), _less(best.win, m.win)) for m in others]
        self.say(columns(rows, right=[0, 2]))

    def _undo(self) -> bool:
        """Go back to the person's last choice between moves."""
        record = self.record
        while record.plies:
            ply, record = record.plies[-1], record.undone()
            if self.players[record.mover == "second"] is None and len(record.board.legal_moves(ply.roll)) > 1:
                self.record = record
                self.say(f"Back to roll {len(record.plies) + 1} of the game.")
                return True
        return False

    def _save(self, name: str) -> None:
        from madn.record import write_record

        if not name:
            self.say("save needs a file name")
            return
        try:
            write_record(self.record, name)
            self.say(f"The record so far is in {name}")
        except (OSError, ValueError) as error:  # ValueError: a null character in the name
            self.say(f"{name!r} cannot be written: {getattr(error, 'strerror', error)}")


def _listed(rolls: list[int]) -> str:
    return ", ".join(map(str, rolls))


def _remark(move: Move, rules: Rules) -> str:
    """What is special about a move."""
    remarks = []
    if move.start is None:
        remarks.append("out of the box")
    if move.captures:
        remarks.append("captures")
    if move.end is not None and move.end >= rules.squares:
        remarks.append("in the finish zone" if (move.start or 0) >= rules.squares else "into the finish zone")
    return ", ".join(remarks)


def _described(move: Move, rules: Rules) -> str:
    """A move in the mover's own numbers."""
    remark = _remark(move, rules)
    return "no move" if move == Move.PASS else f"{move} ({remark})" if remark else str(move)


def _reported(move: Move, rules: Rules) -> str:
    """A move of the other side in words, with main-field squares in the listener's numbers."""
    if move.end is None:
        return "no move"
    start = None if move.start is None or move.start >= rules.squares else rules.opposite(move.start)
    if move.end >= rules.squares:
        return "moves on in its finish zone" if start is None else f"from {start} into its finish zone"
    way = f"from {start}" if start is not None else "out of its box"
    return f"{way} to {rules.opposite(move.end)}{', capturing your piece' if move.captures else ''}"


def _chance(move: "MoveValue") -> str:
    about = "" if move.exact else "about "
    return "" if move.win is None else f"wins {about}{100 * move.win:.1f} %"


def _less(best: float | None, win: float | None) -> str:
    """What a move costs, in percentage points."""
    return "" if best is None or win is None else f"{100 * (best - win):.1f} less"


def _understood(answer: str, moves: tuple[Move, ...]) -> Move | None:
    """The move that the person means, by its number or as it is written; a capture may have - instead of x."""
    if answer.isascii() and answer.isdigit():
        return moves[int(answer) - 1] if 1 <= int(answer) <= len(moves) else None
    return next((move for move in moves if answer in {str(move), str(move).replace("x", "-")}), None)


def _misunderstood(answer: str, moves: tuple[Move, ...]) -> str:
    """What can be typed instead."""
    if len(moves) == 1:
        ask = f"Press Enter to play {moves[0]}"
    else:
        ask = f"Type a number from 1 to {len(moves)}, or one of {', '.join(map(str, moves))}"
    if not answer:
        return f"{ask}; help lists the other commands."
    return f"{answer[:40]!r} is not a move here. {ask}, or help."
