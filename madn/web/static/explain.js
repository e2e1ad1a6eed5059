// Why a move is best, as sentences under it.

import { write } from "./position.js";
import { language } from "./words.js";

// Ask in what the best move of a ply differs from the one that was chosen, or from the second best if that is null or the
// best itself; `show(text)` is called with the reasons if `wanted()` still holds then.
export async function explain(table, { position, seat, roll }, chosen, show, wanted) {
  const shift = seat === "red" ? 0 : table.rules.squares / 2; // sentences have red's numbers, like everything on the page
  try {
    const sentences = await table.source.why(write(position), roll, chosen, { language: language(), shift });
    if (wanted()) show(sentences.join(" "));
  } catch {
    // a reason is a gift: without one the numbers stand for themselves
  }
}
