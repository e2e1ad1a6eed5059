// The page: the board, what is known of the position on it, the address bar, the language.

import * as api from "./api.js";
import { BoardView } from "./board.js";
import { smallDie } from "./dice.js";
import { moveButtons } from "./moves.js";
import { Play } from "./play.js";
import { after, finished, HOUSE_RULES, Impossible, opponent, put, read, rulesText, startingPosition, write } from "./position.js";
import { chance, points, say, switchLanguage, translate, whole } from "./words.js";

const get = (id) => document.getElementById(id);
const SOON = 1500; // milliseconds until a position that is being solved is asked about again

// The position on the board, and what can be done with it. Both panels use it.
class Table {
  constructor(source, layout, rules) {
    this.source = source;
    this.rules = rules;
    this.position = startingPosition(rules);
    this.selected = null; // the place of the piece that was taken
    this.facts = null;
    this.view = new BoardView(get("board"), layout, rules, {
      pick: (place) => (this.play.game ? this.play.pick(place) : this.pick(place)),
      drop: (from, to) => this.move(from, to),
      may: () => !this.play.game,
    });
  }

  show(position, more = {}) {
    this.position = position;
    this.view.show(position, { numbers: get("numbers").checked, selected: this.selected, ...more });
    get("turn").replaceChildren(this.turnText());
    get("turn").className = `turn ${this.winner ?? position.turn}`;
    get("text").value = write(position);
    const address = link(position, this.rules);
    if (address !== location.pathname + location.search) history.replaceState(null, "", address);
  }

  get winner() {
    return ["red", "black"].find((seat) => finished(this.position[seat], this.rules)) ?? null;
  }

  turnText() {
    return this.winner ? say("hasWon", { side: say(this.winner) }) : say("toMove", { side: say(this.position.turn) });
  }

  mark(move) {
    this.view.mark(this.position.turn, move);
  }

  message(text) {
    get("message").textContent = text;
  }

  fail(error) {
    if (error instanceof Impossible) {
      const { seat, ...values } = error.values;
      this.message(say(error.word, { ...values, side: seat && say(seat) }));
    } else if (error instanceof api.Refused) {
      this.message(error.status === 404 ? say("notThere") : error.message);
    } else {
      this.message(say("offline", { message: error.message }));
      console.error(error);
    }
  }

  // Another position by the hand of the person: a new entry in the browser's history.
  go(position) {
    this.selected = null;
    history.pushState(null, "", link(position, this.rules));
    this.message("");
    this.explore(position);
  }

  pick(place) {
    if (!place || place === this.selected) {
      this.selected = null;
      this.message("");
    } else if (this.selected) {
      this.move(this.selected, place);
      return;
    } else if (this.view.holder(place)) {
      this.selected = place;
      const seat = this.view.holder(place);
      this.message(say("taken", { side: say(seat), place: this.view.spot(place) }));
    }
    this.show(this.position, { targets: this.selected ? this.targets() : [] });
  }

  // The places where the piece that was taken may go.
  targets() {
    return this.view.places.filter((place) => {
      try {
        this.moved(this.selected, place);
        return true;
      } catch {
        return false;
      }
    });
  }

  moved(from, to) {
    const seat = this.view.holder(from);
    const square = (place) => (place.kind === "box" ? null : place[seat]);
    if (to.kind !== "main" && to.seat !== seat) {
      throw new Impossible(to.kind === "box" ? "foreignBox" : "foreign", { seat: to.seat });
    }
    return put(this.position, seat, square(from), square(to), this.rules);
  }

  move(from, to) {
    try {
      this.go(this.moved(from, to));
    } catch (error) {
      this.selected = null;
      this.show(this.position);
      this.fail(error);
    }
  }

  // Show a position and ask the server about it.
  async explore(position) {
    this.show(position);
    this.mark(null);
    const asked = write(position);
    const within = get("rolls").contains(document.activeElement);
    get("rolls").inert = true; // the moves on the page are still those of the last position
    try {
      const facts = await this.source.position(asked);
      if (asked !== write(this.position)) return;
      this.facts = facts;
    } catch (error) {
      this.facts = null;
      this.fail(error);
    }
    this.render();
    get("rolls").inert = false;
    if (this.facts?.final === false) setTimeout(() => this.askAgain(asked), SOON);
    if (within) get("rolls").querySelector("button")?.focus({ preventScroll: true });
  }

  // An exact answer took the place of an estimate, perhaps.
  askAgain(asked) {
    if (!this.play.game && !this.selected && asked === write(this.position)) this.refresh();
  }

  refresh() {
    this.explore(this.position);
  }

  render() {
    const { facts, position } = this;
    get("win").textContent = "";
    get("source").textContent = facts && facts.win !== null && !this.winner ? sourceText(facts) : "";
    get("rolls").replaceChildren();
    get("share").classList.toggle("unknown", !facts || facts.win === null);
    get("rolls").dataset.board = facts ? facts.board : "";
    if (!facts) return;
    if (facts.win === null) {
      get("win").textContent = say("unknownWin");
    } else {
      const red = position.turn === "red" ? facts.win : 1 - facts.win;
      get("share-red").setAttribute("width", 100 * red);
      get("win").replaceChildren(...winText(this.winner ?? position.turn, facts, this.winner));
    }
    if (!facts.rolls.length) get("rolls").textContent = say("overNoMoves");
    const single = facts.tries === 1;
    for (const { roll, moves } of single ? facts.rolls : facts.rolls.filter(({ roll }) => roll === 1 || roll === 6)) {
      const row = document.createElement("section");
      row.className = single ? "roll" : "roll tries";
      row.dataset.roll = roll;
      const told = single ? say("rollOf", { roll }) : say(roll === 6 ? "sixInTries" : "noSix", { tries: facts.tries });
      row.setAttribute("aria-label", told);
      const play = (move) => this.go(after(position, move, roll, this.rules));
      row.append(single ? smallDie(roll) : told, moveButtons(moves, { play, look: (move) => this.mark(move) }));
      get("rolls").append(row);
    }
  }
}

function sourceText({ source, error, final }) {
  if (source === "estimate") return final ? say("sourceEstimate", { error: points(error) }) : say("sourceSoon");
  return say(source === "solved" ? "sourceSolved" : "sourceDatabase");
}

function winText(seat, facts, over) {
  const strong = document.createElement("strong");
  strong.textContent = chance(facts.win, facts.exact);
  const side = say(seat);
  const [before, behind] = say("wins", { side, win: "\n" }).split("\n");
  return over ? [say("hasWon", { side })] : [before, strong, behind];
}

// The address of a position. Red is to move unless it says black.
function link(position, rules) {
  const extra = new URLSearchParams(location.search).get("db");
  const turn = position.turn === "black" ? "&turn=black" : "";
  const database = extra === null ? "" : `&db=${encodeURIComponent(extra)}`;
  return `/?board=${write(position)}${turn}&rules=${rulesText(rules)}${database}`;
}

// The game as words, from what a link says of it.
function gameOf(text) {
  const [pieces, squares, ...house] = text.split(",");
  const named = house.map((rule) => (HOUSE_RULES.includes(rule) ? say(rule) : rule));
  return [say(pieces === "1" ? "rulesOf1" : "rulesOf", { pieces, squares }), ...named].join(", ");
}

// The position of the address; the start if it names none. A link to a position of another game is refused.
function addressed(rules) {
  const given = new URLSearchParams(location.search);
  const wanted = given.get("rules") ?? rulesText(rules);
  if (wanted !== rulesText(rules)) {
    throw new Impossible("otherRules", { link: gameOf(wanted.slice(0, 100)), page: gameOf(rulesText(rules)) });
  }
  const turn = given.get("turn") === "black" ? "black" : "red";
  return given.has("board") ? read(given.get("board"), turn, rules) : startingPosition(rules);
}

function openTab(name) {
  for (const tab of ["explore", "play"]) {
    get(tab).hidden = tab !== name;
    get(`${tab}-tab`).setAttribute("aria-selected", String(tab === name));
    get(`${tab}-tab`).tabIndex = tab === name ? 0 : -1;
  }
}

async function begin() {
  translate(document);
  openTab("explore");
  const databases = await api.games();
  const given = new URLSearchParams(location.search);
  const fits = ({ name, rules }) => (given.has("db") ? name === given.get("db") : rulesText(rules) === given.get("rules"));
  const database = await api.game((databases.find(fits) ?? databases[0]).name);
  const { rules } = database;
  const source = api.source(database);
  const [layout, players] = await Promise.all([source.layout(), api.players()]);
  const table = new Table(source, layout, rules);
  const able = players.filter(({ name }) => database.players.includes(name));
  table.play = new Play(table, source, rules, able);

  const describe = () => {
    const word = !database.exact ? "gameEstimated" : rules.pieces === 1 ? "gameOf1" : "gameOf";
    const house = HOUSE_RULES.filter((rule) => rules[rule]).map((rule) => `, ${say(rule)}`);
    get("game").textContent = say(word, { pieces: rules.pieces, positions: whole(database.positions) }) + house.join("");
    get("language").textContent = say("other");
    get("language").lang = say("otherCode");
    get("rules").href = say("rulesPage");
  };
  const show = () => {
    try {
      table.explore(addressed(rules));
    } catch (error) {
      table.explore(startingPosition(rules));
      table.fail(error);
    }
  };
  const ask = (question) => {
    try {
      question();
    } catch (error) {
      table.fail(error);
    }
  };

  get("databases").hidden = databases.length < 2;
  get("database").replaceChildren(...databases.map(({ name }) => new Option(name, name, false, name === database.name)));
  get("database").addEventListener("change", () => location.assign(`/?db=${encodeURIComponent(get("database").value)}`));
  get("language").addEventListener("click", () => {
    switchLanguage();
    translate(document);
    describe();
    table.message("");
    if (table.play.game) table.play.render();
    else table.refresh();
    table.play.about();
  });
  get("notation").addEventListener("submit", (event) => {
    event.preventDefault();
    ask(() => table.go(read(get("text").value, table.position.turn, rules)));
  });
  get("start").addEventListener("click", () => table.go(startingPosition(rules)));
  get("clear").addEventListener("click", () => table.go({ red: [], black: [], turn: table.position.turn }));
  get("swap").addEventListener("click", () => table.go({ ...table.position, turn: opponent(table.position.turn) }));
  get("copy").addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      table.message(say("copied"));
    } catch {
      table.message(say("linkIs", { link: location.href }));
    }
  });
  get("numbers").addEventListener("change", () => table.show(table.position));
  for (const name of ["explore", "play"]) {
    get(`${name}-tab`).addEventListener("click", () => {
      openTab(name);
      table.selected = null;
      if (name === "explore" && table.play.game) table.play.leave();
      if (name === "explore") table.refresh();
      else table.show(table.position);
    });
    get(`${name}-tab`).addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      const other = name === "explore" ? "play" : "explore";
      get(`${other}-tab`).focus();
      get(`${other}-tab`).click();
    });
  }
  addEventListener("popstate", () => {
    if (table.play.game) table.play.leave();
    openTab("explore");
    show();
  });
  describe();
  table.play.about();
  show();
  document.body.classList.add("ready");
}

begin().catch((error) => {
  get("message").textContent = say("offline", { message: error.message });
});
