// What the moves and rolls of a game were worth, from what is known of its positions. All numbers are winning
// probabilities; null where they are not known.

import { SEATS } from "./position.js";

export const TIE = 1e-6; // differences below this are none
const GRADES = [[TIE, "best"], [0.005, "good"], [0.02, "inaccuracy"], [0.05, "mistake"], [Infinity, "blunder"]];

// How good a choice was, by what it cost.
export const grade = (loss) => GRADES.find(([most]) => loss <= most)[1];
export const ofRed = (seat, win) => (win === null || seat === "red" ? win : 1 - win);

// One ply: the options it had, what it lost, and what the roll gave. `facts` is the answer for the position before it.
export function judged({ seat, roll, move }, facts) {
  const options = facts?.rolls?.[roll - 1]?.moves ?? [];
  const played = options.find((option) => option.move === move.move) ?? null;
  const unknown = !played || played.win === null || facts.win === null;
  const choice = options.length > 1;
  if (unknown) return { seat, options, played, best: options[0] ?? null, choice, loss: null, luck: null, worst: null, exact: true };
  const best = played.loss <= TIE ? played : options[0];
  const worst = Math.max(...options.map((option) => option.loss));
  const loss = played.loss <= TIE ? 0 : played.loss;
  return { seat, options, played, best, choice, loss, luck: options[0].win - facts.win, worst, exact: facts.exact };
}

// The whole game. `facts` has an answer for each position, the last one too.
export function judge(game, facts) {
  const plies = game.plies.map((ply, at) => judged(ply, facts[at]));
  const wins = game.positions.map((position, at) => {
    if (at === game.plies.length && game.winner) return Number(game.winner === "red");
    return ofRed(position.turn, facts[at]?.win ?? null);
  });
  return { plies, wins, exact: facts.map((answer) => answer?.exact !== false), sides: Object.fromEntries(SEATS.map((seat) => [seat, side(plies, seat)])) };
}

// The sums of a side: what its moves cost and its rolls gave. `accuracy` is the part kept of what it could have lost by
// its choices: 1 if every move was the best, 0 if every move was the worst; null if there was nothing to choose.
function side(plies, seat) {
  const own = plies.filter((ply) => ply.seat === seat);
  if (own.some((ply) => ply.loss === null)) return null;
  const total = (numbers) => numbers.reduce((sum, number) => sum + number, 0);
  const cost = total(own.map((ply) => ply.loss));
  const stake = total(own.map((ply) => ply.worst));
  return {
    cost,
    luck: total(own.map((ply) => ply.luck)),
    choices: own.filter((ply) => ply.choice && ply.worst > TIE).length,
    errors: own.filter((ply) => ply.loss > 0.005).length,
    accuracy: stake > TIE ? 1 - cost / stake : null,
    exact: own.every((ply) => ply.exact),
  };
}

// How much kinder the dice were to red than to black, in words of five degrees.
export function luckWord(sides) {
  const net = sides.red.luck - sides.black.luck;
  const size = Math.abs(net);
  if (size < 0.1) return "luckEven";
  const degree = size < 0.3 ? "Little" : size < 0.6 ? "Clear" : "Much";
  return `luck${net > 0 ? "Red" : "Black"}${degree}`;
}

// The plies that changed red's chances most, in the order of the game.
export function moments({ wins }, count = 3) {
  return wins
    .slice(1)
    .map((win, at) => ({ at, from: wins[at], to: win, swing: win === null || wins[at] === null ? 0 : Math.abs(win - wins[at]) }))
    .filter(({ swing }) => swing > 0)
    .sort((a, b) => b.swing - a.swing)
    .slice(0, count)
    .sort((a, b) => a.at - b.at);
}
