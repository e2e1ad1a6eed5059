// Why a move is best, as sentences under it.

import { write } from "./position.js";
import { language } from "./words.js";

// Ask why the best move of a ply is best, compared with the one that was chosen; `show(text)` is called with the reasons
// if `wanted()` still holds then. `found` is what judge.js says of the ply.
export async function explain(table, { position, seat, roll }, found, show, wanted) {
  const shift = seat === "red" ? 0 : table.rules.squares / 2; // sentences have red's numbers, like everything on the page
  try {
    const sentences = await table.source.why(write(position), roll, found.played?.move ?? null, { language: language(), shift });
    if (wanted()) show(sentences.join(" "));
  } catch {
    // a reason is a gift: without one the numbers stand for themselves
  }
}
