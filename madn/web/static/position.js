// A position on the table: which squares red and black hold, each in its own numbers, and whose turn it is.
// It never changes; every function gives a new one. What cannot be is told by `Impossible`, with a word to say.
//
// People see one numbering, that of red's seat: main square n of black is n + squares/2 there, finish squares keep
// their numbers. `shown` and `hidden` go from a side's own numbers to those and back.

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

// The rules of such a text; a rule that is not known belongs to a newer version.
export function readRules(text) {
  const [pieces, squares, ...house] = text.split(",");
  const newer = house.find((rule) => !HOUSE_RULES.includes(rule));
  if (newer !== undefined) throw new Impossible("newerRule", { rule: newer.slice(0, 40) });
  if (!/^[1-6]$/.test(pieces) || !/^\d{1,2}$/.test(squares) || squares < 8 || squares > 40 || squares % 2) {
    throw new Impossible("noRules", { text: text.slice(0, 40) });
  }
  const on = Object.fromEntries(HOUSE_RULES.map((rule) => [rule, house.includes(rule)]));
  return { pieces: Number(pieces), squares: Number(squares), ...on };
}

// A whole game as a word (game.js writes and reads it) begins with the version of such words and the rules.
export const VERSION = "1";

export function rulesOfCode(code) {
  const [version, rules] = code.split("~");
  if (/^\d+$/.test(version) && Number(version) > Number(VERSION)) throw new Impossible("newerLink");
  if (version !== VERSION || rules === undefined) throw new Impossible("brokenLink");
  return readRules(rules);
}

export const opposite = (square, rules) => (square + rules.squares / 2) % rules.squares;
export const boxed = (position, seat, rules) => rules.pieces - position[seat].length;
export function startingPosition({ start_in_box: boxed }) {
  return { red: boxed ? [] : [0], black: boxed ? [] : [0], turn: "red" };
}
export const finished = (squares, rules) =>
  squares.length === rules.pieces && squares.every((square) => square >= rules.squares);
export const winnerOf = (position, rules) => SEATS.find((seat) => finished(position[seat], rules)) ?? null;

// A square of a side as people see it, and back.
export const shown = (seat, square, rules) => (seat === "red" || square >= rules.squares ? square : opposite(square, rules));
export const hidden = shown;

// The position as madn writes it: the side to move first, each side in its own numbers.
export function write({ turn, ...sides }) {
  return [turn, opponent(turn)].map((seat) => sides[seat].join(",") || "b").join("/");
}

// The position of such a text; the side that is written first is at `turn`.
export function read(text, turn, rules) {
  const parts = text.trim().split("/");
  if (parts.length !== 2) throw new Impossible("form");
  const [own, other] = parts.map((part) => readSide(part.trim(), rules));
  return checked({ [turn]: own, [opponent(turn)]: other, turn }, rules);
}

// The squares of a seat in red's numbers, as they stand in the page's texts and links, and the position of two such texts.
export function writeSeat(position, seat, rules) {
  return ascending(position[seat].map((square) => shown(seat, square, rules))).join(",") || "b";
}

export const writeSeats = (position, rules) => SEATS.map((seat) => writeSeat(position, seat, rules)).join(" / ");

export function readSeats(red, black, turn, rules) {
  const [own, other] = [red, black].map((text) => readSide(text.trim(), rules));
  return checked({ red: own, black: other.map((square) => hidden("black", square, rules)), turn }, rules);
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
    if (square !== undefined) throw new Impossible("twice", { seat, square: shown(seat, square, rules) });
    return squares;
  });
  const shared = own.find((square) => square < rules.squares && other.includes(opposite(square, rules)));
  if (shared !== undefined) throw new Impossible("both", { square: shown(turn, shared, rules) });
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

// The position after a move of the side at turn: {from, to}, null for the box; both null for a lost roll. Whether it is
// legal is for others to say; `Impossible` if there is no such piece, or an own one in its place.
export function after(position, { from, to }, roll, rules) {
  const { turn } = position;
  const next = roll === 6 ? turn : opponent(turn);
  if (to === null) return { ...position, turn: next };
  const own = [...position[turn]];
  let theirs = position[opponent(turn)];
  const at = from === null ? (own.length < rules.pieces ? own.length : -1) : own.indexOf(from);
  if (at < 0 || own.includes(to) || to >= rules.squares + rules.pieces) throw new Impossible("noMove");
  own.splice(at, 1, to);
  if (to < rules.squares) theirs = theirs.filter((square) => square !== opposite(to, rules));
  return checked({ [turn]: own, [opponent(turn)]: theirs, turn: next }, rules);
}

export const captures = (position, { to }, rules) =>
  to !== null && to < rules.squares && position[opponent(position.turn)].includes(opposite(to, rules));

// The address of a position, relative to the page.
export function link(position, rules) {
  const turn = position.turn === "black" ? "&turn=black" : "";
  return `?red=${writeSeat(position, "red", rules)}&black=${writeSeat(position, "black", rules)}${turn}&rules=${rulesText(rules)}`;
}
