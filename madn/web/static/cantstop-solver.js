// Two-player Can't Stop on a small board, solved: the twin of madn/games/cantstop/turns.py, which says what each thing means.
//
// Squares are the steps of a player in each column, from the sum 2 on; a closed column has its length for both. Markers
// are the steps left above each, null where there is none.

const MARKERS = 3;
const MOST_ROUNDS = 100;

export function pairings([a, b, c, d]) {
  const pairs = [[a + b, c + d], [a + c, b + d], [a + d, b + c]].map((pair) => pair.sort((x, y) => x - y).join());
  return [...new Set(pairs)].sort().map((pair) => pair.split(",").map(Number));
}

// Every way to play a pair of columns: { pairing, columns, markers }.
export function steps(left, markers, pairing) {
  const [one, two] = pairing;
  const used = markers.filter((marker) => marker !== null).length;
  const room = (column) => markers[column] ?? (used < MARKERS ? left[column] : 0);
  const after = (...columns) => {
    const moved = [...markers];
    for (const column of columns) moved[column] = (moved[column] ?? left[column]) - 1;
    return { pairing, columns, markers: moved };
  };
  if (one === two) return room(one) ? [after(...new Array(Math.min(2, room(one))).fill(one))] : [];
  const playable = pairing.filter((column) => room(column));
  if (playable.length === 2 && used === MARKERS - 1 && markers[one] === null && markers[two] === null) return [after(one), after(two)];
  return playable.length ? [after(...playable)] : [];
}

const keyOf = (markers) => markers.map((marker) => marker ?? "-").join();

export class CantStop {
  constructor(sides = 3, shortest = 1, difference = 2, toWin = 3) {
    Object.assign(this, { sides, toWin });
    this.columns = 2 * sides - 1;
    this.lengths = Array.from({ length: this.columns }, (_, c) => shortest + difference * (sides - 1 - Math.abs(c - sides + 1)));
    const rolls = new Map();
    for (let n = 0; n < sides ** 4; n++) {
      const pairs = pairings([n, n / sides, n / sides ** 2, n / sides ** 3].map((x) => Math.floor(x) % sides));
      const key = JSON.stringify(pairs);
      rolls.set(key, [(rolls.get(key)?.[0] ?? 0) + 1, pairs]);
    }
    this.rolls = [...rolls.values()];
    this.turns = new Map(); // by the code of the mover's squares: the states of a turn
    this.units = []; // a player's squares are one number, their code: the sum of squares times units
    this.codes = this.lengths.reduce((unit, length) => {
      this.units.push(unit);
      return unit * (length + 1);
    }, 1);
    this.solved = new Float64Array(this.codes ** 2 * toWin ** 2).fill(NaN); // the chance before the first roll of a turn
  }

  codeOf(squares) {
    return squares.reduce((sum, square, column) => sum + square * this.units[column], 0);
  }

  squaresOf(code) {
    return this.units.map((unit, column) => Math.floor(code / unit) % (this.lengths[column] + 1));
  }

  start() {
    const squares = new Array(this.columns).fill(0);
    return { own: squares, other: squares, won: 0, lost: 0, markers: new Array(this.columns).fill(null) };
  }

  leftOf(own) {
    return own.map((square, column) => this.lengths[column] - square);
  }

  // The states of a turn, each after all it can lead to; the last has no markers.
  states(code) {
    if (this.turns.has(code)) return this.turns.get(code);
    const left = this.leftOf(this.squaresOf(code));
    const numbers = new Map();
    const listed = [];
    const visit = (markers) => {
      const name = keyOf(markers);
      if (!numbers.has(name)) {
        let lost = 0;
        const groups = [];
        for (const [count, pairs] of this.rolls) {
          const options = new Set(pairs.flatMap((pair) => steps(left, markers, pair).map((step) => visit(step.markers))));
          if (options.size) groups.push([count, [...options]]);
          else lost += count;
        }
        numbers.set(name, listed.length);
        const moved = markers.flatMap((steps, column) => (steps === null ? [] : [[column, this.lengths[column] - steps, steps === 0]]));
        listed.push({ lost, groups, moved });
      }
      return numbers.get(name);
    };
    visit(new Array(this.columns).fill(null));
    const found = { listed, numbers };
    this.turns.set(code, found);
    return found;
  }

  // The position after stopping, the other player first; null if a marker is on a square of the other.
  stopped({ own, other, won, lost, markers }) {
    const [mine, yours] = [[...own], [...other]];
    let gained = 0;
    for (let column = 0; column < this.columns; column++) {
      const left = markers[column];
      if (left === null) continue;
      mine[column] = this.lengths[column] - left;
      if (left === 0) {
        yours[column] = mine[column];
        gained++;
      } else if (mine[column] === other[column]) return null;
    }
    return { own: yours, other: mine, won: lost, lost: won + gained, markers: new Array(this.columns).fill(null) };
  }

  // The chance of the player to move before the first roll of a turn.
  win({ own, other, won, lost }) {
    return this.anchor(this.codeOf(own), this.codeOf(other), won, lost);
  }

  anchor(own, other, won, lost) {
    const at = ((own * this.codes + other) * this.toWin + won) * this.toWin + lost;
    if (Number.isNaN(this.solved[at])) {
      const turns = [this.turn(own, other, won, lost), this.turn(other, own, lost, won)];
      let [x, y] = [0.5, 0.5];
      const pieces = [];
      for (let round = 0; round < MOST_ROUNDS; round++) {
        const [first, second] = [turns[0](1 - y), turns[1](1 - x)];
        const [a, c] = [first.slopes.at(-1), second.slopes.at(-1)];
        const [b, d] = [first.roll.at(-1) - a * (1 - y), second.roll.at(-1) - c * (1 - x)];
        [x, y] = [(b + a * (1 - c - d)) / (1 - a * c), (d + c * (1 - a - b)) / (1 - a * c)];
        const piece = `${a} ${c}`;
        if (pieces.slice(-2).includes(piece)) break; // unchanged, or a tie that rounding decides one way and the other
        pieces.push(piece);
      }
      this.solved[at] = x;
      this.solved[((other * this.codes + own) * this.toWin + lost) * this.toWin + won] = y;
    }
    return this.solved[at];
  }

  // A turn as a function of the chance after losing it: what its states are worth.
  turn(own, other, won, lost) {
    const { listed } = this.states(own);
    const [mine, yours] = [this.squaresOf(own), this.squaresOf(other)];
    const stops = listed.map(({ moved }) => {
      let [first, second, gained] = [own, other, 0];
      for (const [column, square, closes] of moved) {
        if (!closes && square === yours[column]) return null;
        first += (square - mine[column]) * this.units[column];
        if (!closes) continue;
        second += (square - yours[column]) * this.units[column];
        gained++;
      }
      if (!moved.length) return null;
      return won + gained >= this.toWin ? 1 : 1 - this.anchor(second, first, lost, won + gained);
    });
    return (fail) => {
      const [roll, best, slopes] = [1, 2, 3].map(() => new Float64Array(listed.length));
      listed.forEach(({ lost: lostRolls, groups }, n) => {
        let value = lostRolls * fail;
        let slope = lostRolls;
        for (const [count, options] of groups) {
          let [chosen] = options;
          for (const option of options) if (best[option] > best[chosen]) chosen = option;
          value += count * best[chosen];
          slope += count * slopes[chosen];
        }
        value /= this.sides ** 4;
        slope /= this.sides ** 4;
        const stopping = stops[n] !== null && stops[n] >= value;
        roll[n] = value;
        best[n] = stopping ? stops[n] : value;
        slopes[n] = stopping ? 0 : slope;
      });
      return { roll, best, slopes, stops };
    };
  }

  // { roll, stop } for a position: what rolling and stopping win, null for what is not allowed.
  ask(position) {
    const { worth, number } = this.worthOf(position);
    return { roll: worth.roll[number], stop: worth.stops[number] };
  }

  // Every way to play a roll (faces from 0), best first; none if the turn is lost.
  ways(position, dice) {
    const { worth, numbers } = this.worthOf(position);
    const left = this.leftOf(position.own);
    const found = pairings(dice).flatMap((pair) => steps(left, position.markers, pair));
    return found.map((step) => ({ ...step, win: worth.best[numbers.get(keyOf(step.markers))] })).sort((a, b) => b.win - a.win);
  }

  worthOf({ own, other, won, lost, markers }) {
    const [mine, yours] = [this.codeOf(own), this.codeOf(other)];
    const { numbers } = this.states(mine);
    const worth = this.turn(mine, yours, won, lost)(1 - this.anchor(yours, mine, lost, won));
    return { worth, numbers, number: numbers.get(keyOf(markers)) };
  }
}
