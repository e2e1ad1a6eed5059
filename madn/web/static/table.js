// The part of the page that all views share: the board, the line for messages, and what is known of the game.

import { Refused } from "./api.js";
import { BoardView } from "./board.js";
import { SEATS } from "./position.js";
import { setting } from "./storage.js";
import { say } from "./words.js";

export const get = (id) => document.getElementById(id);

const SETTLED = 600; // milliseconds

export class Table {
  // `game` is what api.js says of the game, `source` its questions; `open(view, ...)` shows another view.
  constructor(game, source, layout, open) {
    Object.assign(this, { game, source, rules: game.rules, open });
    this.position = null;
    this.user = null; // the view that the board belongs to: it has pick(place), drop(from, to), may(place)
    this.view = new BoardView(get("board"), layout, game.rules, {
      pick: (place) => this.user?.pick?.(place),
      drop: (from, to) => this.user?.drop?.(from, to),
      may: (place) => Boolean(this.user?.may?.(place)),
    });
  }

  show(position, more = {}) {
    this.position = position;
    this.view.show(position, { numbers: setting("numbers"), ...more });
  }

  // The move that begins at a place of the board, among those of the side at turn.
  moveFrom(place, moves) {
    const seat = this.position.turn;
    if (!place) return undefined;
    return moves.find(({ from, to }) => {
      if (to === null) return false;
      return from === null ? place.kind === "box" && place.seat === seat : place.kind !== "box" && place[seat] === from;
    });
  }

  // Let no click through for a moment: one so soon after another view has come was meant for what was there before.
  settle() {
    const panel = get("panel");
    panel.classList.add("fresh");
    clearTimeout(this.fresh);
    this.fresh = setTimeout(() => panel.classList.remove("fresh"), SETTLED);
  }

  message(text) {
    get("message").textContent = text;
  }

  fail(error) {
    this.message(reasonOf(error));
  }
}

// An error as one line for people.
export function reasonOf(error) {
  if (error.word) {
    const { seat, reason, ...values } = error.values;
    return say(error.word, { ...values, side: SEATS.includes(seat) ? say(seat) : "", reason: reason ? reasonOf({ word: reason[0], values: reason[1] }) : "" });
  }
  if (error instanceof Refused) return error.status === 404 ? say("notThere") : error.message;
  console.error(error);
  return say("offline", { message: error.message });
}
