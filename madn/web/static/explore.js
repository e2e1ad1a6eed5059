// The view for any position: set it up, see what every move of every roll is worth.

import { smallDie } from "./dice.js";
import { explain } from "./explain.js";
import { moveButtons, part } from "./moves.js";
import { after, Impossible, link, opponent, put, readSeats, startingPosition, winnerOf, write, writeSeats } from "./position.js";
import { get, reasonOf } from "./table.js";
import { chance, few, say } from "./words.js";

const SOON = 1500; // milliseconds until a position that is being solved is asked about again

export class Explore {
  constructor(table) {
    this.table = table;
    this.position = startingPosition(table.rules);
    this.selected = null; // the place of the piece that was taken
    this.facts = null;
    this.reason = null; // {board, roll, move}: what is explained, the best move of a roll against this one
    const { rules } = table;
    get("notation").addEventListener("submit", (event) => {
      event.preventDefault();
      const parts = get("text").value.split("/");
      this.attempt(() => {
        if (parts.length !== 2) throw new Impossible("form");
        this.go(readSeats(...parts, this.position.turn, rules));
      });
    });
    get("start").addEventListener("click", () => this.go(startingPosition(rules)));
    get("clear").addEventListener("click", () => this.go({ red: [], black: [], turn: this.position.turn }));
    get("swap").addEventListener("click", () => this.go({ ...this.position, turn: opponent(this.position.turn) }));
    get("copy").addEventListener("click", () => copyLink(table, location.href, "copied"));
    get("back").addEventListener("click", () => table.open("play"));
    get("play-here").addEventListener("click", () => table.open("play", { from: this.position }));
    pictures(table, "svg", "png");
  }

  // Begin, or come back, with a position.
  enter(position = this.position) {
    this.selected = null;
    this.look(position);
  }

  // Another position by the hand of the person: a new entry in the browser's history.
  go(position) {
    this.selected = null;
    history.pushState(null, "", link(position, this.table.rules));
    this.table.message("");
    this.look(position);
  }

  attempt(work) {
    try {
      work();
    } catch (error) {
      this.selected = null;
      this.show();
      this.table.fail(error);
    }
  }

  may() {
    return true;
  }

  pick(place) {
    const { view } = this.table;
    if (!place || place === this.selected) {
      this.selected = null;
      this.table.message("");
    } else if (this.selected) {
      this.drop(this.selected, place);
      return;
    } else if (view.holder(place)) {
      this.selected = place;
      this.table.message(say("taken", { side: say(view.holder(place)), place: view.spot(place) }));
    }
    this.show();
  }

  drop(from, to) {
    this.attempt(() => this.go(this.moved(from, to)));
  }

  // The position after a piece is put from one place to another.
  moved(from, to) {
    const seat = this.table.view.holder(from);
    const square = (place) => (place.kind === "box" ? null : place[seat]);
    if (to.kind !== "main" && to.seat !== seat) {
      throw new Impossible(to.kind === "box" ? "foreignBox" : "foreign", { seat: to.seat });
    }
    return put(this.position, seat, square(from), square(to), this.table.rules);
  }

  // The places where the piece that was taken may go.
  targets() {
    return this.table.view.places.filter((place) => {
      try {
        this.moved(this.selected, place);
        return true;
      } catch {
        return false;
      }
    });
  }

  show() {
    const { table, position } = this;
    if (table.user !== this) return;
    const winner = winnerOf(position, table.rules);
    table.show(position, { selected: this.selected, targets: this.selected ? this.targets() : [] });
    get("turn").textContent = say(winner ? "hasWon" : "toMove", { side: say(winner ?? position.turn) });
    get("turn").className = `turn ${winner ?? position.turn}`;
    get("text").value = writeSeats(position, table.rules);
    const address = link(position, table.rules);
    if (address !== location.search) history.replaceState(null, "", address);
  }

  // Show a position and ask about it.
  async look(position) {
    const { table } = this;
    this.position = position;
    this.show();
    table.view.mark(position.turn, null);
    const asked = write(position);
    const within = get("rolls").contains(document.activeElement);
    get("rolls").inert = true; // the moves on the page are still those of the last position
    try {
      const facts = await table.source.position(asked);
      if (asked !== write(this.position)) return;
      this.facts = facts;
    } catch (error) {
      if (asked !== write(this.position)) return;
      this.facts = null;
      if (table.user === this) table.message(reasonOf(error));
    }
    this.render();
    get("rolls").inert = false;
    if (this.facts?.final === false) setTimeout(() => this.askAgain(asked), SOON);
    if (within) get("rolls").querySelector("button")?.focus({ preventScroll: true });
  }

  // An exact answer took the place of an estimate, perhaps.
  askAgain(asked) {
    if (this.table.user === this && !this.selected && asked === write(this.position)) this.look(this.position);
  }

  render() {
    const { facts, position, table } = this;
    const { turn } = position;
    get("rolls").dataset.board = write(position);
    this.renderWin();
    if (!facts || facts.winner) {
      const text = document.createElement("p");
      text.className = "quiet";
      text.textContent = facts ? say("overNoMoves") : "";
      get("rolls").replaceChildren(text);
      return;
    }
    const play = (roll) => async (move) => {
      get("rolls").inert = true;
      await table.view.play(turn, move);
      if (table.user === this) this.go(after(position, move, roll, table.rules));
    };
    const listed = facts.tries > 1 ? [facts.rolls[0], facts.rolls[5]] : facts.rolls;
    get("rolls").replaceChildren(
      ...listed.map(({ roll, moves }) => {
        const row = document.createElement("div");
        row.className = "roll";
        row.dataset.roll = roll;
        row.setAttribute("role", "group");
        row.setAttribute("aria-label", say("rollOf", { roll }));
        if (facts.tries > 1) {
          const text = say(roll === 6 ? "sixInTries" : "noSix", { tries: facts.tries });
          row.setAttribute("aria-label", text);
          row.classList.add("tries");
          const words = document.createElement("span");
          words.textContent = text;
          row.append(words);
        } else row.append(smallDie(roll));
        const look = (move) => {
          table.view.mark(turn, move);
          if (move && this.reason?.roll === roll) this.explain(roll, move.move);
        };
        row.append(moveButtons(moves, { seat: turn, rules: table.rules, play: play(roll), look }));
        if (moves.length > 1) row.append(...this.question(roll, row.getAttribute("aria-label")));
        return row;
      }),
    );
    if (this.reason?.board === facts.board) this.explain(this.reason.roll, this.reason.move);
    else this.reason = null;
  }

  // The button that asks why the best move of a roll is best, and the place for the answer.
  question(roll, name) {
    const button = part("ask", "?", "button");
    button.type = "button";
    button.title = say("askWhy");
    button.setAttribute("aria-label", `${say("askWhy")} ${name}`);
    button.setAttribute("aria-expanded", "false");
    button.addEventListener("click", () => {
      const shown = this.reason?.roll === roll;
      this.reason = null;
      this.showReason("");
      if (!shown) this.explain(roll, null);
    });
    const answer = part("why", "", "p");
    answer.setAttribute("aria-live", "polite");
    return [button, answer];
  }

  // Say in what the best move of a roll differs from this one, or from the second best.
  explain(roll, move) {
    const { position, facts, table } = this;
    const reason = { board: facts.board, roll, move };
    this.reason = reason;
    const still = () => this.reason === reason && this.facts === facts;
    explain(table, { position, seat: position.turn, roll }, move, (text) => this.showReason(text), still);
  }

  // A reason stands below the moves of its roll; there is one at a time.
  showReason(text) {
    for (const row of get("rolls").querySelectorAll(".roll:has(.ask)")) {
      const here = Number(row.dataset.roll) === this.reason?.roll;
      row.querySelector(".why").textContent = here ? text : "";
      row.querySelector(".ask").setAttribute("aria-expanded", String(here));
    }
  }

  renderWin() {
    const { facts, position } = this;
    const share = facts?.win ?? null;
    get("share").classList.toggle("unknown", share === null);
    if (facts && share !== null) {
      const red = position.turn === "red" ? share : 1 - share;
      get("share-red").setAttribute("width", 100 * red);
      const strong = document.createElement("strong");
      strong.textContent = chance(share, facts.exact);
      const [before, behind] = say("wins", { side: say(position.turn), win: "|" }).split("|");
      get("win").replaceChildren(before, strong, behind);
    } else get("win").textContent = facts ? say("unknownWin") : "";
    const soon = facts?.final === false;
    const word = !facts || facts.winner ? null : facts.exact ? (facts.source === "solved" ? "sourceSolved" : "sourceDatabase") : soon ? "sourceSoon" : "sourceEstimate";
    get("source").textContent = word ? say(word, { error: few(100 * (facts.error ?? 0)) }) : "";
  }
}

// Put a link on the clipboard, or where it can be read.
export async function copyLink(table, address, word) {
  try {
    await navigator.clipboard.writeText(address);
    table.message(say(word));
  } catch {
    table.message(say("linkIs", { link: address }));
  }
}

// Two buttons that save the board as a picture.
export function pictures(table, svg, png) {
  const save = (id, work) => get(id).addEventListener("click", async () => {
    try {
      await work(await import("./picture.js"));
    } catch {
      table.message(say("noPicture"));
    }
  });
  save(svg, ({ download, drawn }) => download(drawn(get("board")), "madn.svg"));
  save(png, async ({ download, painted }) => download(await painted(get("board")), "madn.png"));
}
