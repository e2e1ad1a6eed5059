// Moves as buttons: how each is written, what it wins, what it costs.

import { chance, percent, say } from "./words.js";

export function moveText(move) {
  if (move.to === null) return say("pass");
  return `${move.from === null ? say("box") : move.from} → ${move.to}`;
}

export function costText({ loss, exact }) {
  if (loss === null) return "";
  return loss === 0 ? say("best") : `−${percent(loss, exact ? 2 : 1)}`;
}

function part(name, text) {
  const element = document.createElement("span");
  element.className = name;
  element.textContent = text;
  return element;
}

// A list of buttons, one for each move. `look(move)` is called while one is pointed at, `look(null)` after.
export function moveButtons(moves, { play, look, hints = true }) {
  const list = document.createElement("ul");
  list.className = "moves";
  const untold = moves.length > 1 && moves[0].win === null; // only which move is best is known
  for (const move of moves) {
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.move = move.move;
    button.append(part("way", moveText(move)));
    if (move.captures) button.append(part("captures", say("captures")));
    let label = moveText(move) + (move.captures ? `, ${say("captures")}` : "");
    if (hints && move.win !== null) {
      button.classList.toggle("estimate", !move.exact);
      button.append(part("win", chance(move.win, move.exact)), part(move.loss ? "cost" : "cost best", costText(move)));
      label = say("playMove", { move: label, win: chance(move.win, move.exact), cost: chance(move.loss, move.exact) });
    }
    if (hints && untold && move === moves[0]) {
      button.append(part("cost best", say("best")));
      label += `, ${say("best")}`;
    }
    button.setAttribute("aria-label", label);
    button.addEventListener("click", () => play(move));
    for (const event of ["pointerenter", "focus"]) button.addEventListener(event, () => look(move));
    for (const event of ["pointerleave", "blur"]) button.addEventListener(event, () => look(null));
    const item = document.createElement("li");
    item.append(button);
    list.append(item);
  }
  return list;
}
