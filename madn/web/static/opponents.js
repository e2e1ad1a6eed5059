// The players as people know them: a name, a level from 1 to 5, and one line of character (words: character.NAME).
// The order is that of their results against `fpoc` with four pieces (madn match PLAYER fpoc --pieces 4 --games 4000).

import { known, say } from "./words.js";
import { PERSON } from "./game.js";

const PEOPLE = {
  random: ["Mimi", 1],
  together: ["Hanne", 1],
  hunter: ["Kuno", 2],
  runner: ["Rudi", 2],
  fpoc: ["Felix", 3],
  careful: ["Klara", 4],
  fpnpoc: ["Nora", 4],
  handful: ["Hugo", 4],
  card: ["Paula", 4],
  estimate: ["Selma", 5],
  optimal: ["Delphi", 5],
};

export const nameOf = (player) => (player === PERSON ? say("person") : (PEOPLE[player]?.[0] ?? player));
export const levelOf = (player) => PEOPLE[player]?.[1] ?? 0;

// From beginner to perfect; players of whom nothing is known come last.
export const byLevel = (names) => {
  const order = Object.keys(PEOPLE);
  const place = (name) => (order.includes(name) ? order.indexOf(name) : order.length);
  return names.toSorted((a, b) => place(a) - place(b));
};

// The line of character; `exact` says whether the whole game is solved.
export function characterOf(player, exact) {
  const word = player === "optimal" && !exact ? "character.optimalEstimated" : `character.${player}`;
  return known(word) ? say(word) : player;
}
