// Moves as buttons and in words: how each is written, what it wins, what it costs. Squares are in red's numbers.

import { grade, TIE } from "./judge.js";
import { shown } from "./position.js";
import { chance, points, say } from "./words.js";

export function moveText(move, seat, rules) {
  if (move.to === null) return say("pass");
  const square = (number) => shown(seat, number, rules);
  return `${move.from === null ? say("box") : square(move.from)} → ${square(move.to)}`;
}

export function costText({ loss, exact }) {
  if (loss === null) return "";
  if (loss <= TIE) return say("best");
  const digits = exact ? 2 : 1;
  return loss < 0.5 / 10 ** (digits + 2) ? "±0" : `−${points(loss, digits)}`;
}

export function part(name, text, tag = "span") {
  const element = document.createElement(tag);
  element.className = name;
  element.textContent = text;
  return element;
}

// A list of buttons, one for each move of a seat. `look(move)` is called while one is pointed at, `look(null)` after.
// Without hints neither the numbers nor the order tell which is best; `sorted` says whether the best comes first. `chosen`
// is marked.
export function moveButtons(moves, { seat, rules, play, look, hints = true, sorted = hints, chosen = null }) {
  const list = document.createElement("ul");
  list.className = "moves";
  const listed = sorted ? moves : moves.toSorted((a, b) => (a.from ?? -1) - (b.from ?? -1));
  const untold = moves.length > 1 && moves[0].win === null; // only which move is best is known
  for (const move of listed) {
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.move = move.move;
    button.append(part("way", moveText(move, seat, rules)));
    if (move.captures) button.append(part("captures", say("captures")));
    let label = moveText(move, seat, rules) + (move.captures ? `, ${say("captures")}` : "");
    if (hints && move.win !== null) {
      button.append(part("win", chance(move.win, move.exact)), part(`cost ${grade(move.loss)}`, costText(move)));
      label = say("playMove", { move: label, win: chance(move.win, move.exact), cost: costText(move) });
    }
    if (hints && untold && move === moves[0]) {
      button.append(part("cost best", say("best")));
      label += `, ${say("best")}`;
    }
    if (chosen !== null && move.move === chosen) button.classList.add("chosen");
    button.setAttribute("aria-label", label);
    button.addEventListener("click", () => play(move));
    button.addEventListener("focus", () => look(move));
    button.addEventListener("pointerenter", ({ pointerType }) => pointerType === "mouse" && look(move)); // a finger only taps
    for (const event of ["pointerleave", "blur"]) button.addEventListener(event, () => look(null));
    const item = document.createElement("li");
    item.append(button);
    list.append(item);
  }
  return list;
}
