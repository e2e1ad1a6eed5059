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

// The quarter of its way, 1 to 4, that a piece on a main-field square of its own numbers is in.
const quarter = (square, rules) => Math.floor((4 * square) / rules.squares) + 1;
const rolledSix = (move) => move.from === null || move.to - move.from === DIE;

// 1 to 3: how far a piece on this main-field square has come, in parts of 15, 15 and 10 squares out of 40.
const stretch = (square, { squares }) => 1 + Number(8 * square >= 3 * squares) + Number(4 * square >= 3 * squares);
const boxed = ({ own }, rules) => own.length < rules.pieces;

// The other side's pieces behind a main-field square, on their own A-square or after it.
const started = (board, end, rules) =>
  end < rules.squares ? foes(board, rules).filter((foe) => rules.squares / 2 <= foe && foe < end) : [];

// How many pieces could capture on a square by a legal roll, times the stretch that a piece there is on.
function risk(square, other, rules) {
  if (square < 0 || square >= rules.squares) return 0;
  const theirs = opposite(square, rules);
  const waiting = other.length < rules.pieces;
  const reach = waiting ? DIE - 1 : DIE; // a 6 must bring a piece out of the box
  const near = other.filter((q) => theirs - reach <= q && q < theirs).length;
  return stretch(square, rules) * (near + Number(waiting && theirs === 0 && !other.includes(0)));
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
  spoils: (board, move, rules) => (move.captures ? 1 + quarter(opposite(move.to, rules), rules) : 0),
  safety: (board, move, rules) => {
    const gained = risk(start(move), board.other, rules) - risk(move.to, left(board, move, rules), rules);
    return (rolledSix(move) ? 1 : 2) * (boxed(board, rules) ? 3 : 1) * gained;
  },
  pursuers: (board, move, rules) => {
    const other = left(board, move, rules);
    const theirs = opposite(move.to, rules);
    const far = other.filter((q) => theirs - 2 * DIE <= q && q < theirs - DIE).length;
    return 3 * threats(move.to, other, rules) + (move.to < rules.squares ? far : 0);
  },
  targets: (board, move, rules) => (rolledSix(move) ? 3 : 1) * FEATURES.chase(board, move, rules),
  quarry: (board, move, rules) => foes(board, rules).filter((q) => move.to < q && q < rules.squares / 2).length,
  between: (board, move, rules) =>
    2 * FEATURES.quarry(board, move, rules) + (boxed(board, rules) ? 2 : 1) * started(board, move.to, rules).length,
  stay: (board, move, rules) => {
    if (start(move) >= rules.squares) return Number(boxed(board, rules));
    const late = board.other.filter((q) => q >= rules.squares).length >= rules.pieces - 1;
    const leaving = start(move) < rules.squares / 2 && foes(board, rules).some((foe) => foe < start(move));
    return Number(late && (leaving || started(board, move.to, rules).length > 0));
  },
  square: (board, move, rules) => {
    const [half, goal] = [rules.squares / 2, rules.squares];
    const last = (square) => Number(goal - 2 <= square && square < goal);
    let points = 4 * last(start(move)) - 4 * last(move.to) - 6 * Number(start(move) === 0);
    if (board.other.length < rules.pieces) {
      points += Number(half - DIE <= move.to && move.to < half);
      points -= 7 * Number(half <= move.to && move.to <= half + DIE && move.to < goal);
      points += 7 * Number(start(move) === half);
    }
    return points;
  },
};

// What is compared one after the other: each rule by itself, or rules with points that follow each other.
function steps(preferences) {
  const found = [];
  for (const rule of preferences) {
    const before = found.at(-1);
    if (rule.points && before?.at(-1).points) before.push(rule);
    else found.push([rule]);
  }
  return found;
}

// The moves that a player's rules leave, of all legal ones by ascending start: the last, or all if it draws lots.
export function choices({ rules: preferences, draws }, board, moves, rules) {
  let found = moves;
  for (const step of steps(preferences)) {
    if (found.length === 1) break;
    const worth = ({ feature, avoid, points }, move) => (points || (avoid ? -1 : 1)) * FEATURES[feature](board, move, rules);
    const values = found.map((move) => step.reduce((sum, rule) => sum + worth(rule, move), 0));
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
