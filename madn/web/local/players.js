// The players that go by rules. games.json has the rules, from madn/players.py; here is what they look at, the twin of
// madn/features.py: a number for a board and a move.

import { DIE, opposite } from "./rules.js";

const start = (move) => move.from ?? -1;
const foes = ({ other }, rules) => other.filter((q) => q < rules.squares).map((q) => opposite(q, rules));
const left = ({ other }, move, rules) => other.filter((q) => !(move.captures && q === opposite(move.to, rules)));
const after = ({ own }, move) => [...own.filter((q) => q !== move.from), move.to];

// How many pieces of the other side stand one to six squares behind; one more if it can enter on this square.
function threats(square, other, rules) {
  if (square >= rules.squares) return 0;
  const theirs = opposite(square, rules);
  return other.filter((q) => theirs - DIE <= q && q < theirs).length + (theirs === 0 && other.length < rules.pieces);
}

export const FEATURES = {
  capture: (board, move) => Number(move.captures),
  loot: (board, move, rules) => (move.captures ? opposite(move.to, rules) + 1 : 0),
  passing: (board, move, rules) => (move.from === null ? 0 : foes(board, rules).filter((q) => move.from < q && q < move.to).length),
  front: (board, move) => start(move),
  home: (board, move, rules) => Number(start(move) < rules.squares && rules.squares <= move.to),
  inside: (board, move, rules) => Number(start(move) >= rules.squares),
  danger: (board, move, rules) => threats(move.to, left(board, move, rules), rules),
  rescue: (board, move, rules) => (move.from === null ? 0 : threats(move.from, board.other, rules)),
  exposed: (board, move, rules) => {
    const other = left(board, move, rules);
    return after(board, move).filter((q) => threats(q, other, rules) > 0).length;
  },
  chase: (board, move, rules) => {
    const last = Math.min(move.to + DIE, rules.squares - 1);
    return foes(board, rules).filter((q) => move.to < q && q <= last).length;
  },
  spread: (board, move, rules) => {
    const main = after(board, move).filter((q) => q < rules.squares);
    return main.length ? Math.max(...main) - Math.min(...main) : 0;
  },
};

// The moves that a player's rules leave, of all legal ones by ascending start: the last, or all if it draws lots.
export function choices({ rules: preferences, draws }, board, moves, rules) {
  let found = moves;
  for (const { feature, avoid } of preferences) {
    if (found.length === 1) break;
    const values = found.map((move) => (avoid ? -1 : 1) * FEATURES[feature](board, move, rules));
    const most = Math.max(...values);
    found = found.filter((_, at) => values[at] === most);
  }
  return draws ? found : found.slice(-1);
}

// A number from 0 to 1 that a seed and a text decide.
export function lot(seed, text) {
  let state = seed >>> 0;
  for (const letter of text) state = Math.imul(state ^ letter.codePointAt(0), 0x9e3779b1) >>> 0;
  state = Math.imul(state ^ (state >>> 15), state | 1);
  state ^= state + Math.imul(state ^ (state >>> 7), state | 61);
  return ((state ^ (state >>> 14)) >>> 0) / 2 ** 32;
}
