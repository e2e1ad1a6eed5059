// The dice race Pig, solved: for two scores the chance of the player who has the die, and when to hold.
//
// With the decisions of a turn fixed, its value is a line in the value of losing the turn, which is the other player's
// turn at the same scores. The two lines cross in the values of both; then the decisions are improved (docs/pig.md).

const CHANGE = 1e-15;
const MOST_ROUNDS = 60;

export class Pig {
  // First to `target`; `losing` is the face that loses the turn.
  constructor(target, losing, faces = 6) {
    Object.assign(this, { target, losing, faces });
    this.scores = Array.from({ length: faces }, (_, at) => at + 1).filter((face) => face !== losing);
    this.values = new Float64Array(target * target); // [own][other], at the beginning of a turn
    this.wins = new Float64Array(target + faces + 1); // of a turn, by points in hand
    this.slopes = new Float64Array(target + faces + 1);
    this.solve();
  }

  solve() {
    const { target: T, values } = this;
    for (let sum = 2 * T - 2; sum >= 0; sum--) {
      for (let own = Math.max(0, sum - T + 1); own <= sum / 2; own++) {
        const other = sum - own;
        let [u, v] = [0.5, 0.5];
        for (let round = 0; ; round++) {
          if (round === MOST_ROUNDS) throw new Error(`no convergence at ${own}, ${other}`);
          const [x, y] = [1 - v, 1 - u];
          const [a, b] = this.turn(own, other, x);
          let next = [(a + b * (1 - x)) / (1 + b)];
          if (own !== other) {
            const [c, d] = this.turn(other, own, y);
            const first = (a + b * (1 - x) - b * (c + d * (1 - y))) / (1 - b * d);
            next = [first, c + d * (1 - y - first)];
          } else next.push(next[0]);
          const change = Math.max(Math.abs(next[0] - u), Math.abs(next[1] - v));
          [u, v] = next;
          if (change < CHANGE) break;
        }
        values[own * T + other] = u;
        values[other * T + own] = v;
      }
    }
  }

  // The value of a turn if losing it is worth so much, and how much it changes with that.
  turn(own, other, lost) {
    const { wins, slopes, faces, scores } = this;
    const need = this.target - own;
    wins.fill(1, need, need + faces + 1);
    slopes.fill(0, need, need + faces + 1);
    for (let hand = need - 1; hand >= 0; hand--) {
      let win = lost;
      let slope = 1;
      for (const face of scores) {
        win += wins[hand + face];
        slope += slopes[hand + face];
      }
      win /= faces;
      slope /= faces;
      const hold = hand ? 1 - this.values[other * this.target + own + hand] : 0;
      wins[hand] = Math.max(win, hold);
      slopes[hand] = hold > win ? 0 : slope;
    }
    return [wins[0], slopes[0]];
  }

  // { win, roll, hold, action } for points in hand; null for what is not allowed.
  ask(own, other, hand) {
    const T = this.target;
    if (own + hand >= T) return { win: 1, roll: null, hold: 1, action: "hold" };
    this.turn(own, other, 1 - this.values[other * T + own]);
    const roll = this.scores.reduce((sum, face) => sum + this.wins[hand + face], 1 - this.values[other * T + own]) / this.faces;
    const hold = hand ? 1 - this.values[other * T + own + hand] : null;
    const action = hold !== null && hold - roll > 1e-13 * hold ? "hold" : "roll";
    return { win: action === "hold" ? hold : roll, roll, hold, action };
  }

  // For the other player's score: for each own score, whether to roll with 0, 1, … points in hand.
  region(other) {
    const T = this.target;
    return Array.from({ length: T }, (_, own) => {
      const lost = 1 - this.values[other * T + own];
      this.turn(own, other, lost);
      return Array.from({ length: T - own }, (_, hand) => {
        const roll = this.scores.reduce((sum, face) => sum + this.wins[hand + face], lost) / this.faces;
        const hold = hand ? 1 - this.values[other * T + own + hand] : 0;
        return !(hold - roll > 1e-13 * hold);
      });
    });
  }
}
