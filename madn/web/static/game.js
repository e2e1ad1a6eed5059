// A game: who plays, what was rolled and moved; and its two ways to be written, a link and a record.

import {
  after, captures, HOUSE_RULES, Impossible, opponent, read, readRules, readSeats, rulesOfCode, rulesText, SEATS,
  startingPosition, VERSION, winnerOf, write, writeSeat,
} from "./position.js";

export const PERSON = "human";
const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuv"; // a ply each: eight times the roll, less one, and:
const [BOX, PASS] = [6, 7]; // or which of the mover's pieces, by ascending square

export class Game {
  // `players` are {red, black}: PERSON or the name of a player. `position` says who begins.
  constructor(rules, players, position = startingPosition(rules)) {
    Object.assign(this, { rules, players, start: position, position });
    this.roll = null; // what has fallen, until it is moved
    this.plies = []; // {position, seat, roll, move}: the position before; move has at least {move, from, to, captures}
  }

  get winner() {
    return winnerOf(this.position, this.rules);
  }

  person(seat = this.position.turn) {
    return this.players[seat] === PERSON;
  }

  get twoPeople() {
    return SEATS.every((seat) => this.person(seat));
  }

  play(roll, move) {
    this.plies.push({ position: this.position, seat: this.position.turn, roll, move });
    this.position = after(this.position, move, roll, this.rules);
    this.roll = null;
  }

  // The last ply in which a person had something to move, or -1.
  get lastChoice() {
    return this.plies.findLastIndex((ply) => this.person(ply.seat) && ply.move.to !== null);
  }

  // Back to that ply: the same roll, another move.
  undo() {
    const at = this.lastChoice;
    if (at < 0) return;
    const { position, roll } = this.plies[at];
    this.plies.length = at;
    Object.assign(this, { position, roll });
  }

  // The position before a ply, or after all of them.
  at(ply) {
    return ply < this.plies.length ? this.plies[ply].position : this.position;
  }

  // Every position, from the first to now.
  get positions() {
    return [...this.plies.map((ply) => ply.position), this.position];
  }

  // The whole game as a word for an address.
  get code() {
    const fresh = { ...startingPosition(this.rules), turn: this.start.turn };
    const start = write(fresh) === write(this.start) ? "" : SEATS.map((seat) => writeSeat(this.start, seat, this.rules)).join("/");
    const name = (seat) => encodeURIComponent(this.players[seat]).replaceAll("~", "%7E");
    const digits = this.plies.map(({ position, seat, roll, move: { from, to } }) => {
      const piece = to === null ? PASS : from === null ? BOX : position[seat].indexOf(from);
      return DIGITS[8 * (roll - 1) + piece];
    });
    return [VERSION, rulesText(this.rules), start, this.start.turn[0], name("red"), name("black"), digits.join("")].join("~");
  }

  // The game as madn keeps it (docs/play.md): plain text, one ply a line.
  get record() {
    const first = this.start.turn;
    const role = (seat) => (seat === first ? "first" : "second");
    const lines = [
      "madn game",
      `pieces: ${this.rules.pieces}`,
      `squares: ${this.rules.squares}`,
      ...HOUSE_RULES.filter((rule) => this.rules[rule]).map((rule) => `${rule}: on`),
      `first: ${this.players[first]}`,
      `second: ${this.players[opponent(first)]}`,
      `start: ${write(this.start)}`,
      `result: ${this.winner ? `${role(this.winner)} wins` : "unfinished"}`,
      "",
      ...this.plies.map((ply, at) => `${at + 1} ${role(ply.seat)} ${ply.roll} ${ply.move.move}`),
    ];
    return `${lines.join("\n")}\n`;
  }
}

// How a move is written, from where it begins and ends.
export function moveOf(position, from, to, rules) {
  if (to === null) return { move: "pass", from, to, captures: false };
  const hit = captures(position, { to }, rules);
  return { move: `${from ?? "b"}${hit ? "x" : "-"}${to}`, from, to, captures: hit };
}

// The game of a code.
export function readCode(code) {
  const rules = rulesOfCode(code);
  const [, , start, first, red, black, digits, ...more] = code.split("~");
  if (digits === undefined || more.length || !["r", "b"].includes(first)) throw new Impossible("brokenLink");
  const turn = first === "r" ? "red" : "black";
  let names;
  try {
    names = [red, black].map((name) => decodeURIComponent(name).slice(0, 80) || PERSON);
  } catch {
    throw new Impossible("brokenLink");
  }
  const sides = start.split("/");
  if (start && sides.length !== 2) throw new Impossible("brokenLink");
  const position = start ? readSeats(...sides, turn, rules) : { ...startingPosition(rules), turn };
  const game = new Game(rules, { red: names[0], black: names[1] }, position);
  [...digits].forEach((digit, at) => {
    const value = DIGITS.indexOf(digit);
    const [roll, piece] = [Math.floor(value / 8) + 1, value % 8];
    const from = game.position[game.position.turn][piece] ?? null;
    const to = piece === PASS ? null : piece === BOX ? 0 : from + roll;
    try {
      if (value < 0 || game.winner || (piece < BOX && from === null)) throw new Impossible("noMove");
      game.play(roll, moveOf(game.position, from, to, rules));
    } catch {
      throw new Impossible("brokenMove", { number: at + 1 });
    }
  });
  return game;
}

const HEAD = /^([^\s:]+)\s*:\s*(.*)$/;
const PLY = /^(\d+)\s+(\S+)\s+(\S+)\s+(\S+)(?:\s+#.*)?$/;
const MOVE = /^(?:pass|(b|\d{1,2})([-x])(\d{1,2}))$/;

// The game of a record, and for each ply the line it stands on. Whether the moves are legal is for `illegalPly` to say.
export function readRecord(text) {
  const lines = text
    .replaceAll("\r\n", "\n")
    .split("\n")
    .map((line, at) => ({ text: line.trim(), line: at + 1 }))
    .filter((line) => line.text && !line.text.startsWith("#"));
  const wrong = (line, word, values = {}) => new Impossible("recordLine", { line, reason: [word, values] });
  if (lines[0]?.text !== "madn game") throw wrong(lines[0]?.line ?? 1, "recordTitle");
  const heads = { pieces: null, squares: null, first: null, second: null, start: null, result: null };
  const where = {};
  let at = 1;
  for (; at < lines.length && HEAD.test(lines[at].text); at++) {
    const [, head, value] = HEAD.exec(lines[at].text);
    const named = head.slice(0, 40);
    if (!(head in heads) && !HOUSE_RULES.includes(head)) {
      throw wrong(lines[at].line, /^(on|off|\d+)$/.test(value) ? "recordNewer" : "recordHead", { head: named });
    }
    if (where[head]) throw wrong(lines[at].line, "recordTwice", { head: named });
    [heads[head], where[head]] = [value, lines[at].line];
  }
  const missing = Object.keys(heads).find((head) => heads[head] === null);
  if (missing) throw wrong(lines[at]?.line ?? lines.at(-1).line, "recordMissing", { head: missing });
  const inside = (head, work) => {
    try {
      return work();
    } catch (error) {
      throw wrong(where[head] ?? where.pieces, error.word, error.values);
    }
  };
  const odd = HOUSE_RULES.find((rule) => rule in heads && !["on", "off"].includes(heads[rule]));
  if (odd) throw wrong(where[odd], "recordSwitch", { head: odd });
  const house = HOUSE_RULES.filter((rule) => heads[rule] === "on");
  const rules = inside("pieces", () => readRules([heads.pieces, heads.squares, ...house].join(",")));
  // The person sits at red; if there is none, or two, whoever begins.
  const turn = heads.second === PERSON && heads.first !== PERSON ? "black" : "red";
  const position = inside("start", () => read(heads.start, turn, rules));
  const game = new Game(rules, { [turn]: heads.first || PERSON, [opponent(turn)]: heads.second || PERSON }, position);
  const numbers = [];
  for (; at < lines.length; at++) {
    const { text: ply, line } = lines[at];
    const parts = PLY.exec(ply);
    const seat = game.position.turn;
    const role = seat === turn ? "first" : "second";
    const number = game.plies.length + 1;
    if (!parts) throw wrong(line, "recordPly", { text: ply.slice(0, 40), example: `${number} ${role} 3 0-3` });
    if (Number(parts[1]) !== number) throw wrong(line, "recordNumber", { number, found: parts[1].slice(0, 12) });
    if (game.winner) throw wrong(line, "recordOver");
    if (parts[2] !== role) throw wrong(line, "recordTurn", { role, found: parts[2].slice(0, 20) });
    if (!/^[1-6]$/.test(parts[3])) throw wrong(line, "recordRoll", { found: parts[3].slice(0, 20) });
    const move = MOVE.exec(parts[4]);
    if (!move) throw wrong(line, "recordMove", { found: parts[4].slice(0, 20) });
    const from = move[1] === undefined || move[1] === "b" ? null : Number(move[1]);
    const to = move[3] === undefined ? null : Number(move[3]);
    game.lastLine = line;
    numbers.push(line);
    try {
      game.play(Number(parts[3]), { move: parts[4], from, to, captures: move[2] === "x" });
    } catch {
      game.plies.push({ position: game.position, seat, roll: Number(parts[3]), move: { move: parts[4], from, to } });
      break; // it cannot be played at all: `illegalPly` says what was legal
    }
  }
  const role = (seat) => (seat === turn ? "first" : "second");
  const result = game.winner ? `${role(game.winner)} wins` : "unfinished";
  if (at === lines.length && heads.result !== result) throw wrong(where.result, "recordResult", { result });
  return { game, lines: numbers };
}

// The first ply that is not legal, by what is known of the positions before each: its number and the legal moves.
export function illegalPly(game, facts) {
  for (const [at, { roll, move }] of game.plies.entries()) {
    const moves = facts[at]?.rolls?.[roll - 1]?.moves;
    if (moves && !moves.some((legal) => legal.move === move.move)) {
      return { at, move: move.move, roll, legal: moves.map((legal) => legal.move).join(", ") };
    }
  }
  return null;
}

