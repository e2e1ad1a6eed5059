// Why a move is best, as sentences under it, where the answers come with reasons.

import { write } from "./position.js";
import { language } from "./words.js";

// Ask why the best move of a ply is best, compared with the one that was chosen; `show(text)` is called with the reasons
// if `wanted()` still holds then. `found` is what judge.js says of the ply.
export async function explain(table, { position, seat, roll }, found, show, wanted) {
  const chosen = found.played?.move ?? null;
  const given = found.best?.why ?? null;
  if (given) return show(given.join(" "));
  if (!table.source.why) return undefined;
  const { squares } = table.rules;
  try {

    const shift = seat === "red" ? 0 : squares / 2; // sentences have red's numbers, like everything on the page
    const sentences = await table.source.why(write(position), roll, chosen, { language: language(), shift });
    if (sentences?.length && wanted()) show(sentences.join(" "));
  } catch {
    // a reason is a gift: without one the numbers stand for themselves
  }
  return undefined;
}
