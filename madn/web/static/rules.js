// What the game is: legal moves, the board after a move, what a turn is. The twin of madn/board.py and madn/rules.py.
//
// A board is { own, other }: the squares of the side to move and of the other side, ascending, each in its own numbers.
// A move is { from, to, captures }: null is the box, and for `to` a lost roll.

export const DIE = 6;
export const ROLLS = [1, 2, 3, 4, 5, 6];
const TRIES = 3;

export const rollsAgain = (roll) => roll === DIE;
export const opposite = (square, rules) => (square + rules.squares / 2) % rules.squares;
export const finished = (side, rules) => side.length === rules.pieces && side[0] >= rules.squares;
export const writeBoard = ({ own, other }) => [own, other].map((side) => side.join(",") || "b").join("/");

// The board of a text that is known to be right: position.js checks what people write.
export function readBoard(text) {
  const [own, other] = text.split("/").map((side) => (side === "b" ? [] : side.split(",").map(Number)));
  return { own, other };
}

export function writeMove({ from, to, captures }) {
  return to === null ? "pass" : `${from ?? "b"}${captures ? "x" : "-"}${to}`;
}

// "own", "other", or null while the game goes on.
export function winner({ own, other }, rules) {
  return finished(own, rules) ? "own" : finished(other, rules) ? "other" : null;
}

// All legal moves by ascending start; one lost roll if there is none, and nothing at all in a finished game.
export function legalMoves(board, roll, rules) {
  if (winner(board, rules)) return [];
  const { own } = board;
  const boxed = own.length < rules.pieces;
  if (boxed && roll === DIE && own[0] !== 0) return [moveOf(board, null, 0, rules)];
  let free = own.filter((square) => mayGo(own, square, square + roll, rules));
  if (boxed && free[0] === 0) free = [0]; // the A-square must be cleared for the pieces in the box
  let moves = free.map((square) => moveOf(board, square, square + roll, rules));
  if (rules.must_capture && moves.some((move) => move.captures)) moves = moves.filter((move) => move.captures);
  return moves.length ? moves : [{ from: null, to: null, captures: false }];
}

function mayGo(own, from, to, rules) {
  if (to >= rules.squares + rules.pieces || own.includes(to)) return false;
  return !(rules.no_jumping && own.some((square) => from < square && square < to && square >= rules.squares));
}

function moveOf({ other }, from, to, rules) {
  return { from, to, captures: to < rules.squares && other.includes(opposite(to, rules)) };
}

// The squares of both sides after a move, the mover still first.
export function moved({ own, other }, move, rules) {
  if (move.to === null) return { own, other };
  const left = own.filter((square) => square !== move.from);
  const taken = move.captures ? opposite(move.to, rules) : null;
  return { own: [...left, move.to].sort((a, b) => a - b), other: other.filter((square) => square !== taken) };
}

// The board that the next player to roll sees.
export function after(board, move, roll, rules) {
  const { own, other } = moved(board, move, rules);
  return rollsAgain(roll) ? { own, other } : { own: other, other: own };
}

// How often the side to move may roll for a 6; the last roll counts.
export function triesOf(board, rules) {
  if (!rules.three_rolls || winner(board, rules)) return 1;
  const playable = (roll) => legalMoves(board, roll, rules)[0].to !== null;
  return ROLLS.every((roll) => playable(roll) === (roll === DIE)) ? TRIES : 1;
}

// How often each roll comes up, relative to the others.
export function rollWeights(board, rules) {
  const tries = triesOf(board, rules);
  const other = (DIE - 1) ** (tries - 1);
  return ROLLS.map((roll) => (roll < DIE ? other : DIE ** tries - (DIE - 1) * other));
}
