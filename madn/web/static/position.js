// A position on the table: which squares red and black hold, each in its own numbers, and whose turn it is.
// It never changes; every function gives a new one. What cannot be is told by `Impossible`, with a word to say.

export const HOUSE_RULES = ["three_rolls", "start_in_box", "no_jumping", "must_capture"];
export const SEATS = ["red", "black"];
export const opponent = (seat) => (seat === "red" ? "black" : "red");
const ascending = (squares) => [...squares].sort((a, b) => a - b);

export class Impossible extends Error {
  constructor(word, values = {}) {
    super(word);
    this.word = word;
    this.values = values;
  }
}

// A game in an address: "2,40,three_rolls".
export const rulesText = (rules) => [rules.pieces, rules.squares, ...HOUSE_RULES.filter((rule) => rules[rule])].join(",");
export const opposite = (square, rules) => (square + rules.squares / 2) % rules.squares;
export const boxed = (position, seat, rules) => rules.pieces - position[seat].length;
export function startingPosition({ start_in_box: boxed }) {
  return { red: boxed ? [] : [0], black: boxed ? [] : [0], turn: "red" };
}
export const finished = (squares, rules) =>
  squares.length === rules.pieces && squares.every((square) => square >= rules.squares);

export function write({ turn, ...sides }) {
  return [turn, opponent(turn)].map((seat) => sides[seat].join(",") || "b").join("/");
}

// The position of a text; the side that is written first is at `turn`.
export function read(text, turn, rules) {
  const parts = text.trim().split("/");
  if (parts.length !== 2) throw new Impossible("form");
  const [own, other] = parts.map((part) => readSide(part.trim(), rules));
  return checked({ [turn]: own, [opponent(turn)]: other, turn }, rules);
}

function readSide(text, rules) {
  if (text === "b") return [];
  if (text === "") throw new Impossible("form");
  return text.split(",").map((part) => {
    const number = part.trim();
    if (!/^\d{1,2}$/.test(number) || Number(number) >= rules.squares + rules.pieces) {
      throw new Impossible("range", { text: number.slice(0, 12) || "-", last: rules.squares + rules.pieces - 1 });
    }
    return Number(number);
  });
}

export function checked(position, rules) {
  const { turn } = position;
  const [own, other] = [turn, opponent(turn)].map((seat) => {
    const squares = ascending(position[seat]);
    if (squares.length > rules.pieces) throw new Impossible("tooMany", { seat, pieces: rules.pieces });
    const square = squares.find((number, at) => number === squares[at - 1]);
    if (square !== undefined) throw new Impossible("twice", { seat, square });
    return squares;
  });
  const shared = own.find((square) => square < rules.squares && other.includes(opposite(square, rules)));
  if (shared !== undefined) throw new Impossible("both", { own: shared, other: opposite(shared, rules) });
  if (finished(own, rules) && finished(other, rules)) throw new Impossible("bothDone");
  return { [turn]: own, [opponent(turn)]: other, turn };
}

// A piece goes from one square to another; null is the box.
export function put(position, seat, from, to, rules) {
  const squares = [...position[seat]];
  if (from !== null) squares.splice(squares.indexOf(from), 1);
  if (to !== null) {
    const theirs = position[opponent(seat)];
    const held = squares.includes(to) || (to < rules.squares && theirs.includes(opposite(to, rules)));
    if (held) throw new Impossible("occupied");
    squares.push(to);
  }
  return checked({ ...position, [seat]: squares }, rules);
}

// The position after a move that the server lists: its board is what the next player to roll sees.
export function after(position, move, roll, rules) {
  return read(move.board, roll === 6 ? position.turn : opponent(position.turn), rules);
}
