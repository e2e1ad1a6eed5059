// A whole game: whose turn, what was rolled and moved, errors and luck, the record.

import { after, finished, HOUSE_RULES, opponent, startingPosition, write } from "./position.js";

export class Game {
  // Red is played by the person, black by `player`.
  constructor(rules, player, position = startingPosition(rules)) {
    this.rules = rules;
    this.player = player;
    this.first = position.turn;
    this.start = position;
    this.position = position;
    this.facts = null; // what the server says of the position
    this.roll = null;
    this.plies = [];
  }

  get winner() {
    return ["red", "black"].find((seat) => finished(this.position[seat], this.rules)) ?? null;
  }

  // The legal moves with the roll that has fallen, best first.
  get moves() {
    return this.roll === null ? [] : this.facts.rolls[this.roll - 1].moves;
  }

  play(move) {
    const { win } = this.facts;
    const rolled = this.facts.rolls[this.roll - 1].win;
    const luck = win === null ? null : rolled - win;
    this.plies.push({ position: this.position, facts: this.facts, seat: this.position.turn, roll: this.roll, move, luck });
    this.position = after(this.position, move, this.roll, this.rules);
    this.facts = null;
    this.roll = null;
  }

  // Back to the last choice of the person: the same roll, another move.
  undo() {
    const at = this.plies.findLastIndex((ply) => ply.seat === "red" && ply.move.to !== null);
    if (at < 0) return false;
    const { position, facts, roll } = this.plies[at];
    this.plies.length = at;
    Object.assign(this, { position, facts, roll });
    return true;
  }

  get canUndo() {
    return this.plies.some((ply) => ply.seat === "red" && ply.move.to !== null);
  }

  // Red's winning probability before every ply and now; null where it is not known.
  get wins() {
    const now = this.winner ? Number(this.winner === "red") : this.facts ? ofRed(this.position.turn, this.facts.win) : undefined;
    const before = this.plies.map((ply) => ofRed(ply.seat, ply.facts.win));
    return now === undefined ? before : [...before, now];
  }

  // What a side lost by its moves and gained by its rolls.
  account(seat) {
    const own = this.plies.filter((ply) => ply.seat === seat);
    const total = (numbers) => numbers.reduce((sum, number) => sum + number, 0);
    if (own.some((ply) => ply.luck === null)) return null;
    return {
      errors: own.filter((ply) => ply.move.loss > 0).length,
      cost: total(own.map((ply) => ply.move.loss)),
      luck: total(own.map((ply) => ply.luck)),
      exact: own.every((ply) => ply.facts.exact),
    };
  }

  // The game as madn keeps it (see docs of records): plain text, one ply a line.
  get record() {
    const names = { red: "human", black: this.player };
    const role = (seat) => (seat === this.first ? "first" : "second");
    const result = this.winner ? `${role(this.winner)} wins` : "unfinished";
    const lines = [
      "madn game",
      `pieces: ${this.rules.pieces}`,
      `squares: ${this.rules.squares}`,
      ...HOUSE_RULES.filter((rule) => this.rules[rule]).map((rule) => `${rule}: on`),
      `first: ${names[this.first]}`,
      `second: ${names[opponent(this.first)]}`,
      `start: ${write(this.start)}`,
      `result: ${result}`,
      "",
      ...this.plies.map((ply, at) => `${at + 1} ${role(ply.seat)} ${ply.roll} ${ply.move.move}`),
    ];
    return `${lines.join("\n")}\n`;
  }
}

export const ofRed = (seat, win) => (win === null || seat === "red" ? win : 1 - win);
