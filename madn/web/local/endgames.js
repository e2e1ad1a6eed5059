// Endgames solved exactly: all positions that a pair of finish zones can lead to, as madn/parts.py does, in float64.
//
// A component is a pair of finish zones; moves lead from it to itself or to a more advanced one. The states of a side in
// it are the sets of its main-field pieces, the others being in the box. Positions are computed in the order of the pips
// that both sides have to walk, so that only captures need values of the sweep before.

import { CHOOSE } from "./ranking.js";
import { DIE, ROLLS } from "./rules.js";

export const MOST_POSITIONS = 2_500_000; // of a part that is solved: a few seconds
const CHANGE = 1e-13; // the last sweep changed nothing by more
export const ERROR = 300 * CHANGE; // as madn/database.py counts: games last 300 plies at most, on average
export const TIE = 1e-11;
const MOST_SWEEPS = 500;

const bits = (mask) => (mask ? (mask & 1) + bits(mask >>> 1) : 0);

// The finish zones that one move of a side with zone z leads to: a piece comes in, or one inside goes on.
function exits(zone, rules) {
  const { pieces: P, no_jumping: blocked } = rules;
  const held = (j) => (zone >>> j) & 1;
  const free = (begin, end) => {
    for (let j = begin; j < end; j++) if (held(j)) return false;
    return true;
  };
  const found = new Set();
  for (let to = 0; to < P; to++) {
    if (held(to)) continue;
    if (!blocked || free(0, to)) found.add(zone | (1 << to));
    for (let from = 0; from < to; from++) {
      if (held(from) && (!blocked || free(from + 1, to))) found.add((zone ^ (1 << from)) | (1 << to));
    }
  }
  return [...found];
}

// A zone and all that it can become, the full one left out.
function laterZones(zone, rules, found = new Set()) {
  if (zone === (1 << rules.pieces) - 1 || found.has(zone)) return found;
  found.add(zone);
  for (const next of exits(zone, rules)) laterZones(next, rules, found);
  return found;
}

const states = (main, squares) => {
  let count = 0;
  for (let k = 0; k <= main; k++) count += CHOOSE[squares][k];
  return count;
};

// The pairs of zones of a part, most advanced first, each with the larger number first.
function componentsOf([one, other], rules) {
  const advance = (zone) => bits(zone) * 100 + ROLLS.concat(7, 8).reduce((sum, j) => sum + ((zone >>> (j - 1)) & 1) * j, 0);
  const pairs = new Map();
  for (const f of laterZones(one, rules)) {
    for (const g of laterZones(other, rules)) pairs.set([Math.max(f, g), Math.min(f, g)].join(), [Math.max(f, g), Math.min(f, g)]);
  }
  return [...pairs.values()].sort((a, b) => advance(b[0]) + advance(b[1]) - advance(a[0]) - advance(a[1]));
}

// How many numbers a part takes: positions, and pairs of states that share a square.
export function sizeOf(zones, rules) {
  const count = (zone) => states(rules.pieces - bits(zone), rules.squares);
  return componentsOf(zones, rules).reduce((sum, [f, g]) => sum + count(f) * count(g) * (f === g ? 1 : 2), 0);
}

export const zonesOf = ({ own, other }, { squares }) =>
  [own, other].map((side) => side.reduce((zone, q) => (q < squares ? zone : zone | (1 << (q - squares))), 0));

// The states of a side with so many pieces that are not home, those with fewest pips first.
class States {
  constructor(main, rules) {
    const { squares: S } = rules;
    const lists = [];
    const extend = (list, from) => {
      lists.push(list);
      if (list.length < main) for (let q = from; q < S; q++) extend([...list, q], q + 1);
    };
    extend([], 0);
    const pips = (list) => list.reduce((sum, q) => sum + S - q, (main - list.length) * (S + 1));
    this.lists = lists.map((list) => [pips(list), list]).sort((a, b) => a[0] - b[0]).map(([, list]) => list);
    this.numbers = new Map(this.lists.map((list, n) => [keyOf(list), n]));
    this.count = lists.length;
    this.main = main;
    // The state after a piece on a square is captured, -1 if there is none.
    this.without = new Int32Array(this.count * S).fill(-1);
    this.lists.forEach((list, n) => {
      for (const q of list) this.without[n * S + q] = this.numberOf(list.filter((one) => one !== q));
    });
  }

  numberOf(list) {
    return this.numbers.get(keyOf(list));
  }
}

const keyOf = (list) => list.reduce((key, q) => key * 64 + q + 1, 0);

export class Endgames {
  constructor(rules) {
    this.rules = rules;
    this.full = (1 << rules.pieces) - 1;
    this.states = Array.from({ length: rules.pieces + 1 }, () => null);
    this.values = new Map(); // "zone of the mover,zone of the other": [state of the mover][state of the other]
    this.moves = new Map();
  }

  statesOf(zone) {
    const main = this.rules.pieces - bits(zone);
    return (this.states[main] ??= new States(main, this.rules));
  }

  knows(zones) {
    return this.values.has(zones.join());
  }

  // The value of a board of a part that is solved.
  win({ own, other }) {
    const { squares } = this.rules;
    const [f, g] = zonesOf({ own, other }, this.rules);
    if (f === this.full) return 1;
    if (g === this.full) return 0;
    const number = (side, zone) => this.statesOf(zone).numberOf(side.filter((q) => q < squares));
    return this.values.get([f, g].join())[number(own, f) * this.statesOf(g).count + number(other, g)];
  }

  // Solve a part; values that are known already are used. Returns what is new.
  solve(zones) {
    const fresh = new Map();
    for (const [f, g] of componentsOf(zones, this.rules)) {
      if (this.knows([f, g])) continue;
      this.component(f, g);
      for (const key of new Set([[f, g].join(), [g, f].join()])) fresh.set(key, this.values.get(key));
    }
    return fresh;
  }

  take(values) {
    for (const [key, array] of values) this.values.set(key, array);
  }

  // The options of all states of a zone: for state s and roll r those from begin[6 s + r - 1] up to the next begin. An
  // option is the zone and the state it leads to, and the main square it ends on in the other side's numbers, or -1.
  movesOf(zone) {
    if (this.moves.has(zone)) return this.moves.get(zone);
    const { pieces: P, squares: S, no_jumping: blocked, three_rolls: three } = this.rules;
    const side = this.statesOf(zone);
    const home = Array.from({ length: P }, (_, j) => j).filter((j) => (zone >>> j) & 1).map((j) => S + j);
    const begin = new Int32Array(DIE * side.count + 1);
    const [zoneAfter, stateAfter, landing] = [[], [], []];
    const turns = { total: new Float64Array(side.count), unit: new Float64Array(side.count), wait: new Float64Array(side.count), again: new Float64Array(side.count) };
    side.lists.forEach((list, s) => {
      const all = [...list, ...home];
      const boxed = side.main - list.length;
      const playable = ROLLS.map((roll) => {
        let options = all.filter((q) => q + roll < S + P && !all.includes(q + roll) && !(blocked && all.some((p) => q < p && p < q + roll && p >= S)));
        let ends = options.map((q) => [q, q + roll]);
        if (boxed && roll === DIE && !list.includes(0)) ends = [[null, 0]];
        else if (boxed && options.includes(0)) ends = [[0, roll]];
        for (const [from, to] of ends) {
          const rest = list.filter((q) => q !== from);
          let after = zone;
          if (from !== null && from >= S) after ^= 1 << (from - S);
          if (to >= S) after |= 1 << (to - S);
          else rest.push(to);
          rest.sort((a, b) => a - b);
          zoneAfter.push(after);
          stateAfter.push(after === this.full ? 0 : this.statesOf(after).numberOf(rest));
          landing.push(to < S ? (to + S / 2) % S : -1);
        }
        begin[DIE * s + roll] = zoneAfter.length;
        return ends.length > 0;
      });
      const tries = three && playable.every((yes, r) => yes === (r + 1 === DIE)) ? 3 : 1;
      const other = (DIE - 1) ** (tries - 1);
      const weights = ROLLS.map((roll) => (roll < DIE ? other : DIE ** tries - (DIE - 1) * other));
      turns.total[s] = DIE ** tries;
      weights.forEach((weight, r) => {
        if (playable[r]) turns.unit[s] = Math.max(turns.unit[s], weight);
        else if (r + 1 < DIE) turns.wait[s] += weight;
        else turns.again[s] += weight;
      });
    });
    const found = { begin, zoneAfter: Int32Array.from(zoneAfter), stateAfter: Int32Array.from(stateAfter), landing: Int8Array.from(landing), ...turns };
    this.moves.set(zone, found);
    return found;
  }

  component(f, g) {
    const same = f === g;
    const [mine, theirs] = [this.statesOf(f), this.statesOf(g)];
    const a = new Float64Array(mine.count * theirs.count).fill(0.5);
    const b = same ? a : new Float64Array(a.length).fill(0.5);
    this.values.set([f, g].join(), a);
    this.values.set([g, f].join(), b);
    const [first, second] = [this.side(f, g), this.side(g, f)];
    const half = this.rules.squares / 2;
    const { squares } = this.rules;
    const clash = (s, o) => mine.lists[s].some((q) => theirs.lists[o].includes((q + half) % squares));
    const open = new Uint8Array(a.length);
    for (let s = 0; s < mine.count; s++) {
      for (let o = 0; o < theirs.count; o++) open[s * theirs.count + o] = !clash(s, o) && !(same && o > s);
    }
    const [turn1, turn2] = [first.moves, second.moves];
    for (let sweep = 0, change = 1; change > CHANGE; sweep++) {
      if (sweep === MOST_SWEEPS) throw new Error(`no convergence after ${sweep} sweeps`);
      change = 0;
      for (let s = 0; s < mine.count; s++) {
        for (let o = 0; o < theirs.count; o++) {
          const at = s * theirs.count + o;
          if (!open[at]) continue;
          // total V = unit * best + wait * (1 - V') + again * V, for both sides, V' being the other's V
          const x = turn1.unit[s] * first.best(s, o);
          const [n1, w1] = [turn1.total[s] - turn1.again[s], turn1.wait[s]];
          let va, vb;
          if (same && s === o) {
            va = vb = (x + w1) / (n1 + w1);
          } else {
            const y = turn2.unit[o] * second.best(o, s);
            const [n2, w2] = [turn2.total[o] - turn2.again[o], turn2.wait[o]];
            va = (n2 * (x + w1) - w1 * (y + w2)) / (n1 * n2 - w1 * w2);
            vb = (y + w2 * (1 - va)) / n2;
          }
          const back = o * mine.count + s;
          change = Math.max(change, Math.abs(va - a[at]), Math.abs(vb - b[back]));
          a[at] = va;
          b[back] = vb;
        }
      }
    }
  }

  // What a side with zone f, to move against one with zone g, gains by its best moves: summed over its rolls.
  side(f, g) {
    const moves = this.movesOf(f);
    const { begin, zoneAfter, stateAfter, landing } = moves;
    const { squares: S, must_capture: duty } = this.rules;
    const others = this.statesOf(g);
    const { without, count } = others;
    const full = this.full;
    // after a 6 the mover's values with its new zone, otherwise the other's against it
    const [again, passed, counts] = [new Array(full + 1).fill(null), new Array(full + 1).fill(null), new Int32Array(full + 1)];
    for (const zone of new Set(zoneAfter)) {
      if (zone === full) continue;
      again[zone] = this.values.get([zone, g].join());
      passed[zone] = this.values.get([g, zone].join());
      counts[zone] = this.statesOf(zone).count;
    }
    const best = (s, o) => {
      let sum = 0;
      for (let roll = 1; roll <= DIE; roll++) {
        const from = begin[DIE * s + roll - 1];
        const to = begin[DIE * s + roll];
        if (from === to) continue;
        let most = -1;
        let captured = false;
        for (let m = from; m < to; m++) {
          const zone = zoneAfter[m];
          const square = landing[m];
          let left = square < 0 ? -1 : without[o * S + square];
          const captures = left >= 0;
          if (!captures) left = o;
          if (duty && captured && !captures) continue;
          const value = zone === full ? 1 : roll === DIE ? again[zone][stateAfter[m] * count + left] : 1 - passed[zone][left * counts[zone] + stateAfter[m]];
          if (value > most || (duty && captures && !captured)) most = value;
          captured ||= captures;
        }
        sum += most;
      }
      return sum;
    };
    return { moves, best };
  }
}
