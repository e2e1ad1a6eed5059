// The pyramid game, solved: in turn, bars that stand side by side are marked; whoever marks the last one loses.
//
// A state is the lengths of the runs of bars that are left, ascending.

export class Pyramid {
  constructor() {
    this.known = new Map();
  }

  // Whether the player to move wins, and in how many turns of the winner, if the loser makes it last.
  ask(runs) {
    const key = runs.join();
    let found = this.known.get(key);
    if (found) return found;
    if (!runs.length) found = { wins: true, turns: 0 }; // the other player has just marked the last bar
    else {
      let [won, lost] = [Infinity, 0];
      for (const { left } of moves(runs)) {
        const { wins, turns } = this.ask(left);
        if (wins) lost = Math.max(lost, turns);
        else won = Math.min(won, turns + 1);
      }
      found = won < Infinity ? { wins: true, turns: won } : { wins: false, turns: lost };
    }
    this.known.set(key, found);
    return found;
  }

  // The moves that win soonest; where none wins, those that make the game last.
  best(runs) {
    const { wins, turns } = this.ask(runs);
    return moves(runs).filter(({ left }) => {
      const next = this.ask(left);
      return wins ? !next.wins && next.turns === turns - 1 : next.turns === turns;
    });
  }
}

// All moves that differ: mark bars `first` to `last` of a run of `length`, and what is left.
export function moves(runs) {
  const found = [];
  for (const length of new Set(runs)) {
    const others = [...runs];
    others.splice(others.indexOf(length), 1);
    for (let first = 1; first <= length; first++) {
      for (let last = first; first - 1 <= length - last && last <= length; last++) {
        const left = [...others, first - 1, length - last].filter((run) => run > 0).sort((a, b) => a - b);
        found.push({ length, first, last, left });
      }
    }
  }
  return found;
}
