// Solves endgames beside the page. A message is { rules, zones }, the answer is the values of all their components.

import { Endgames } from "./endgames.js";

const games = new Map(); // what is solved already is not solved again

addEventListener("message", ({ data: { number, rules, zones } }) => {
  try {
    const key = JSON.stringify(rules);
    if (!games.has(key)) games.set(key, new Endgames(rules));
    postMessage({ number, values: games.get(key).solve(zones) });
  } catch (error) {
    postMessage({ number, error: String(error) });
  }
});
