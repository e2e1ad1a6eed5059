// The view in which a game is played: against a player of madn, or by two people at one device.

import { calm, drawDie, fairRoll, pause, smallDie, tumble } from "./dice.js";
import { explain } from "./explain.js";
import { Game, PERSON, readCode } from "./game.js";
import { drawGraph } from "./graph.js";
import { grade, judge } from "./judge.js";
import { costText, moveButtons, moveText, part } from "./moves.js";
import { byLevel, characterOf, levelOf, nameOf } from "./opponents.js";
import { HOUSE_RULES, rulesText, startingPosition, write } from "./position.js";
import * as sound from "./sound.js";
import * as storage from "./storage.js";
import { get } from "./table.js";
import { say } from "./words.js";

const FORCED = 800; // milliseconds before a move is played that is the only one
const BEFORE = 450; // between the roll of a player of madn and its move
const BEHIND = 350; // and after its move

export class View {
  constructor(table) {
    this.table = table;
    this.game = null;
    this.id = null;
    this.facts = new Map(); // what is known of the positions of the game
    this.turn = 0; // counts what was begun, so that what comes late is thrown away
    this.from = null; // a position to begin from
    this.status = null;
    this.unreadable = null; // the number of a kept game that cannot be read
    get("new").addEventListener("submit", (event) => {
      event.preventDefault();
      this.begin();
    });
    get("continue").addEventListener("click", () => this.goOn());
    get("roll").addEventListener("click", () => this.roll());
    get("undo").addEventListener("click", () => this.undo());
    get("hints").checked = storage.setting("hints");
    get("hints").addEventListener("change", () => {
      storage.set("hints", get("hints").checked);
      this.render();
    });
    get("ask").addEventListener("click", () => table.message(get("why").textContent));
    get("analyse").addEventListener("click", () => table.open("explore", { position: this.game.position }));
    get("end").addEventListener("click", () => this.leave());
    get("opponents").addEventListener("change", () => this.describe());
    for (const name of ["pieces", "house"]) get(name).addEventListener("change", ({ target }) => this.choose(target.name));
    this.build();
  }

  // The form for a new game.
  build() {
    const { table } = this;
    const players = [...byLevel(table.game.players), PERSON];
    const before = get("opponents").querySelector("input:checked")?.value ?? (storage.setting("opponent") || "fpoc");
    const card = (player) => {
      const label = document.createElement("label");
      label.className = "opponent";
      const input = document.createElement("input");
      Object.assign(input, { type: "radio", name: "player", value: player });
      input.checked = player === before;
      const level = levelOf(player);
      label.append(input, part("name", player === PERSON ? say("twoPeople") : nameOf(player)));
      if (level) {
        const dots = part("level", "●".repeat(level));
        dots.setAttribute("role", "img");
        dots.setAttribute("aria-label", say("level", { level }));
        label.append(dots);
      }
      return label;
    };
    const [legend, character] = ["legend", "#character"].map((name) => get("opponents").querySelector(name));
    get("opponents").replaceChildren(legend, ...players.map(card), character);
    if (!get("opponents").querySelector("input:checked")) get("opponents").querySelector("input").checked = true;
    this.describe();
    const { rules, games } = table;
    const pieces = [...new Set(games.filter((game) => game.rules.squares === rules.squares).map((game) => game.rules.pieces))];
    get("pieces").replaceChildren(...pieces.map((count) => new Option(count, count, false, count === rules.pieces)));
    const offered = games.filter((game) => game.rules.squares === rules.squares && game.rules.pieces === rules.pieces);
    const has = (wanted) => offered.some((game) => rulesText(game.rules) === rulesText(wanted));
    const changes = HOUSE_RULES.filter((rule) => offered.some((game) => game.rules[rule] !== rules[rule]));
    get("together").hidden = changes.every((rule) => has({ ...rules, [rule]: !rules[rule] }));
    get("house").replaceChildren(
      ...HOUSE_RULES.map((rule) => {
        const label = document.createElement("label");
        label.className = "check";
        const input = document.createElement("input");
        Object.assign(input, { type: "checkbox", name: rule, checked: rules[rule] });
        input.disabled = !changes.includes(rule);
        label.append(input, say(rule));
        return label;
      }),
    );
    get("variants").hidden = games.length < 2;
    get("continue").hidden = !this.kept;
  }

  // The one who is chosen, in a line.
  describe() {
    const player = get("opponents").querySelector("input:checked").value;
    get("character").textContent = player === PERSON ? say("twoPeopleAbout") : characterOf(player, this.table.game.exact);
  }

  // Another game was chosen: the page for it. Where not every combination of house rules is offered, it is the one that is
  // most like what was chosen and has the rule that was `changed`. A game that is being played stays in the storage.
  choose(changed) {
    const on = Object.fromEntries([...get("house").querySelectorAll("input")].map(({ name, checked }) => [name, checked]));
    const { rules, games } = this.table;
    const wanted = { ...rules, pieces: Number(get("pieces").value), ...on };
    const unlike = (game) => HOUSE_RULES.filter((rule) => game.rules[rule] !== wanted[rule]).length;
    const offered = games.filter((game) => ["squares", "pieces", changed].every((name) => game.rules[name] === wanted[name]));
    const [nearest] = offered.sort((a, b) => unlike(a) - unlike(b));
    location.assign(`?play&rules=${rulesText(nearest.rules)}`);
  }

  // The game of the browser's storage that can be continued on this page.
  get kept() {
    const found = storage.current(this.table.rules);
    return found?.id === this.unreadable ? null : found;
  }

  // Show the view; `from` is a position for a new game.
  enter({ from = null } = {}) {
    if (from) {
      this.suspend();
      this.from = from;
      get("from").value = "board";
    }
    if (!this.game && !from && this.kept) this.goOn();
    else if (this.game) this.next();
    else this.prepare();
  }

  // The form, with the board it is about.
  prepare() {
    get("new").hidden = false;
    get("running").hidden = true;
    document.body.classList.remove("playing");
    this.build();
    get("from").querySelector("[value=board]").disabled = !this.from;
    this.table.show(this.from ?? startingPosition(this.table.rules));
    this.table.view.mark("red", null);
  }

  begin() {
    const player = get("opponents").querySelector("input:checked").value;
    storage.set("opponent", player);
    const wanted = get("first").value;
    const turn = wanted === "lot" ? (fairRoll() % 2 ? "red" : "black") : wanted;
    const position = get("from").value === "board" && this.from ? this.from : { ...startingPosition(this.table.rules), turn };
    this.game = new Game(this.table.rules, { red: PERSON, black: player }, position);
    this.id = crypto.randomUUID?.() ?? String(crypto.getRandomValues(new Uint32Array(2)));
    this.facts.clear();
    this.open();
  }

  // Go on with the game that the browser has kept.
  async goOn() {
    const { kept } = this;
    if (!kept) return this.prepare();
    try {
      this.game = readCode(kept.code);
    } catch (error) {
      this.unreadable = kept.id;
      this.table.fail(error);
      return this.prepare();
    }
    this.id = kept.id;
    if ([1, 2, 3, 4, 5, 6].includes(kept.roll)) this.game.roll = kept.roll;
    this.facts.clear();
    this.open();
  }

  // The course of the game up to now: what is known of its positions.
  async learn() {
    const boards = this.game.positions.map(write);
    try {
      const found = await this.table.source.positions(boards.filter((board) => !this.facts.has(board)));
      for (const answer of found) if (answer?.rolls) this.facts.set(answer.board, answer);
    } catch {
      // the graph stays as it is; what the game itself needs is asked for by `next`
    }
  }

  open() {
    this.from = null;
    get("from").value = "start";
    get("new").hidden = true;
    get("running").hidden = false;
    document.body.classList.add("playing");
    scrollTo(0, 0);
    get("panel").scrollTop = 0;
    this.table.settle();
    this.status = null;
    drawDie(get("die"), this.game.roll);
    this.keep();
    this.next();
  }

  // Put the game aside; it stays in the storage.
  suspend() {
    this.turn++;
    this.game = null;
    this.id = null;
    document.body.classList.remove("playing");
  }

  leave() {
    const over = this.game?.winner;
    this.suspend();
    this.prepare();
    this.table.settle();
    if (over) this.table.message("");
    get("begin").focus({ preventScroll: true });
  }

  keep() {
    const { game, id } = this;
    const kept = storage.keep({ id, code: game.code, roll: game.roll, done: Boolean(game.winner) });
    if (!kept) this.table.message(say("notKept"));
  }

  undo() {
    if (!this.game || this.game.lastChoice < 0) return;
    this.turn++;
    this.table.message("");
    this.game.undo();
    drawDie(get("die"), this.game.roll);
    this.keep();
    this.next();
  }

  get mine() {
    return this.game.person() && !this.game.winner;
  }

  get now() {
    return this.facts.get(write(this.game.position)) ?? null;
  }

  // The legal moves with the roll that has fallen, best first.
  get moves() {
    const { roll } = this.game;
    return roll === null ? [] : (this.now?.rolls[roll - 1]?.moves ?? []);
  }

  // Look at the position, and let the others move until it is a person's turn or the game is over.
  async next() {
    const turn = ++this.turn;
    const { game, table } = this;
    try {
      for (;;) {
        this.render();
        if (game.plies.length + 1 > this.facts.size) this.learn().then(() => turn === this.turn && this.drawCourse());
        if (game.winner) return this.over();
        const facts = await table.source.position(write(game.position));
        if (turn !== this.turn) return;
        this.facts.set(facts.board, facts);
        if (game.person()) break;
        if (!(await this.answer(turn))) return;
      }
      if (game.roll !== null) return this.rolled(turn);
      this.tell(game.twoPeople ? "theirRoll" : "yourRoll", { side: say(game.position.turn) });
      this.render();
      this.focus(get("roll"));
    } catch (error) {
      if (turn === this.turn) table.fail(error);
    }
  }

  // A player of madn rolls and moves; false if something else was begun meanwhile.
  async answer(turn) {
    const { game } = this;
    const player = nameOf(game.players[game.position.turn]);
    if (game.roll === null) {
      this.tell("rolling", { player });
      this.render();
      const roll = await this.thrown(turn);
      if (turn !== this.turn) return false;
      game.roll = roll;
      this.keep();
    } else drawDie(get("die"), game.roll);
    const { roll, position } = game;
    const seat = position.turn;
    const [seed] = crypto.getRandomValues(new Uint32Array(1));
    const chosen = await this.table.source.move(write(position), roll, game.players[seat], seed);
    if (turn !== this.turn) return false;
    const move = this.moves.find((found) => found.move === chosen.move);
    this.tell(move.to === null ? "theirPass" : "theirMove", { player, roll, move: moveText(move, seat, game.rules) });
    this.render();
    await pause(calm() ? 0 : BEFORE);
    if (turn !== this.turn) return false;
    await this.make(move, turn);
    await pause(calm() ? 0 : BEHIND);
    return turn === this.turn;
  }

  // The roll of a turn: the first 6, or the last of as many tries as there are.
  async thrown(turn) {
    for (let { tries } = this.now; ; tries--) {
      const roll = fairRoll();
      await tumble(get("die"), roll);
      if (roll === 6 || tries <= 1 || turn !== this.turn) return roll;
      await pause(calm() ? 0 : 350);
    }
  }

  // A person rolls.
  async roll() {
    const { game } = this;
    if (!game || !this.mine || !this.now || game.roll !== null) return;
    const turn = ++this.turn;
    get("roll").disabled = true;
    this.table.message("");
    const roll = await this.thrown(turn);
    if (turn !== this.turn) return;
    game.roll = roll;
    this.keep();
    this.rolled(turn);
  }

  // A person has rolled: choose, or play what is the only move.
  async rolled(turn) {
    const { game } = this;
    const { roll } = game;
    drawDie(get("die"), roll);
    const [only, ...more] = this.moves;
    if (more.length) {
      this.tell("yourMove", { roll });
      this.render();
      this.focus(get("choices").querySelector("button"));
      return;
    }
    this.tell(only.to === null ? "youPass" : "youMust", { roll, move: moveText(only, game.position.turn, game.rules) });
    this.render();
    this.table.view.mark(game.position.turn, only);
    await pause(calm() ? 0 : FORCED);
    if (turn === this.turn) this.play(only);
  }

  async play(move) {
    const turn = ++this.turn;
    this.table.message("");
    await this.make(move, turn);
    if (turn === this.turn) this.next();
  }

  // Make a move: it counts at once, the eye follows.
  async make(move, turn) {
    const { game, table } = this;
    const { position, roll } = game;
    get("choices").replaceChildren();
    game.play(roll, move);
    this.keep();
    if (table.user === this) await table.view.play(position.turn, move);
    if (turn !== this.turn || table.user !== this) return;
    this.render();
  }

  over() {
    const { game } = this;
    const won = game.twoPeople ? "sideWins" : game.person(game.winner) ? "youWin" : "youLose";
    (won === "youLose" ? sound.lose : sound.win)();
    this.tell(won, { player: nameOf(game.players[game.winner]), side: say(game.winner) });
    this.table.settle(); // the buttons at the end take the place of moves
    this.render();
  }

  // What the person does next has the keyboard, unless that is with the tabs or the menu.
  focus(element) {
    if (this.table.user === this && !document.activeElement.closest("header")) element?.focus({ preventScroll: true });
  }

  tell(word, values = {}) {
    this.status = [word, values];
  }

  pick(place) {
    const move = this.game && this.mine && this.table.moveFrom(place, this.moves);
    if (move && this.moves.length > 1) this.play(move);
  }

  render() {
    const { game, table } = this;
    if (!game || table.user !== this) return;
    const free = this.mine && game.roll !== null && this.moves.length > 1;
    table.show(game.position, { movable: (place) => free && Boolean(table.moveFrom(place, this.moves)), still: true });
    const last = game.plies.at(-1);
    table.view.mark(last?.seat, last?.move, true);
    get("status").textContent = this.status ? say(...this.status) : "";
    get("running").dataset.seat = game.position.turn;
    get("roll").disabled = !(this.mine && this.now && game.roll === null);
    get("undo").disabled = game.lastChoice < 0;
    get("choices").style.setProperty("--rows", Math.max(4, game.rules.pieces));
    if (game.winner) get("choices").replaceChildren(this.farewell());
    else if (free) {
      const look = (move) => (move ? table.view.mark(game.position.turn, move) : table.view.mark(last?.seat, last?.move, true));
      const options = { seat: game.position.turn, rules: game.rules, play: (move) => this.play(move), look, hints: get("hints").checked };
      get("choices").replaceChildren(moveButtons(this.moves, options));
    } else get("choices").replaceChildren();
    this.renderWhy(free && get("hints").checked);
    this.drawCourse();
  }

  // Why the best of the moves that can be chosen is better than the next one.
  renderWhy(wanted) {
    const { turn, game, table } = this;
    get("why").textContent = "";
    get("ask").disabled = true;
    if (!wanted) return;
    const ply = { position: game.position, seat: game.position.turn, roll: game.roll };
    const show = (text) => {
      get("why").textContent = text;
      get("ask").textContent = say("askBest", { move: moveText(this.moves[0], ply.seat, game.rules) });
      get("ask").disabled = false;
    };
    explain(table, ply, null, show, () => turn === this.turn);
  }

  // What comes after a game.
  farewell() {
    const box = document.createElement("div");
    box.className = "farewell";
    const button = (word, work, name = "") => {
      const element = part(name, say(word), "button");
      element.type = "button";
      element.addEventListener("click", work);
      return element;
    };
    const again = () => {
      const { players, start } = this.game;
      this.suspend();
      this.game = new Game(this.table.rules, players, { ...startingPosition(this.table.rules), turn: start.turn === "red" ? "black" : "red" });
      this.id = crypto.randomUUID?.() ?? String(crypto.getRandomValues(new Uint32Array(2)));
      this.facts.clear();
      this.open();
    };
    box.append(
      button("reviewGame", () => this.table.open("review", { game: this.game }), "main"),
      button("rematch", again),
    );
    return box;
  }

  drawCourse() {
    const { game } = this;
    if (!game) return;
    const hints = get("hints").checked;
    const facts = game.positions.map((position) => this.facts.get(write(position)));
    const { plies, wins, exact } = judge(game, facts);
    get("course").classList.toggle("blind", !hints && !game.winner); // the graph would tell which move was a mistake
    drawGraph(get("graph"), wins, { exact: exact.at(-1) });
    get("plies").replaceChildren(...game.plies.map((ply, at) => plyLine(ply, hints ? plies[at] : null, game.rules)));
    get("plies").scrollTop = get("plies").scrollHeight;
  }
}

// A ply as a line of a list; `judgement` adds what it cost.
export function plyLine(ply, judgement, rules) {
  const item = document.createElement("li");
  item.className = ply.seat;
  const words = [moveText(ply.move, ply.seat, rules)];
  if (ply.move.captures) words.push(say("captures"));
  item.append(smallDie(ply.roll), part("side", say(ply.seat)), part("way", words.join(", ")));
  if (judgement?.loss > 0.0005) {
    const { loss, exact } = judgement;
    item.append(part(`cost ${grade(loss)}`, costText({ loss, exact })));
  }
  return item;
}

// Kept games as a person knows them.
export const titleOf = (game) => {
  const [red, black] = ["red", "black"].map((seat) => nameOf(game.players[seat]));
  const names = game.twoPeople ? say("twoPeople") : `${red} – ${black}`;
  return say("gameTitle", { names, pieces: game.rules.pieces, plies: game.plies.length });
};

