// The view in which a game is gone over: the graph, every move with what it cost, and what decided the game.

import { copyLink, pictures } from "./explore.js";
import { illegalPly, readCode, readRecord } from "./game.js";
import { drawGraph, plyAt } from "./graph.js";
import { grade, judge, luckWord, moments } from "./judge.js";
import { moveText, part } from "./moves.js";
import { nameOf } from "./opponents.js";
import { download } from "./picture.js";
import { plyLine, titleOf } from "./play.js";
import { Impossible, rulesText, SEATS, startingPosition, write } from "./position.js";
import * as storage from "./storage.js";
import { get } from "./table.js";
import { explain } from "./explain.js";
import { chance, few, percent, points, say } from "./words.js";

export class View {
  constructor(table) {
    this.table = table;
    this.game = null;
    this.at = 0; // the ply that is shown, before it is played; after the last one there is none
    this.judgement = null;
    get("open-record").addEventListener("click", () => this.readText(get("record").value));
    get("file").addEventListener("change", async () => {
      const [file] = get("file").files;
      if (file) await this.readFile(file);
      get("file").value = "";
    });
    const steps = { "to-start": () => 0, "step-back": () => this.at - 1, "step-on": () => this.at + 1, "to-end": () => this.game.plies.length };
    for (const [id, at] of Object.entries(steps)) get(id).addEventListener("click", () => this.go(at()));
    get("review-graph").addEventListener("click", (event) => this.go(plyAt(get("review-graph"), event, this.game.plies.length + 1)));
    get("review-analyse").addEventListener("click", () => table.open("explore", { position: this.game.at(this.at) }));
    get("share-game").addEventListener("click", () => copyLink(table, new URL(this.address(), location.href).href, "sharedGame"));
    get("download").addEventListener("click", () => download(new Blob([this.game.record], { type: "text/plain" }), "game.txt"));
    get("close-review").addEventListener("click", () => this.close());
    pictures(table, "review-svg", "review-png");
    addEventListener("keydown", (event) => this.key(event));
  }

  // Show the view: with a game, with the code of one, with a record as text or file, or with what it had.
  enter({ game = null, code = null, at = null, text = null, file = null } = {}) {
    if (text !== null || file) {
      if (!this.game) this.shelf();
      return file ? this.readFile(file) : this.readText(text);
    }
    if (game) return this.load(game, at);
    if (code) {
      try {
        return this.load(readCode(code), at);
      } catch (error) {
        this.table.fail(error);
      }
    }
    if (this.game) return this.show();
    return this.shelf();
  }

  key(event) {
    if (this.table.user !== this || !this.game || event.target.closest?.("input, textarea, select, #board, [role=tablist]")) return;
    const at = { ArrowLeft: this.at - 1, ArrowRight: this.at + 1, Home: 0, End: this.game.plies.length }[event.key];
    if (at === undefined) return;
    event.preventDefault();
    this.go(at);
  }

  async readFile(file) {
    if (file.size > 1 << 20) return this.table.fail(new Impossible("recordLong"));
    return this.readText(await file.text());
  }

  // A record that was dropped, pasted or opened. If something is wrong with it, what was there stays.
  async readText(text) {
    const { table } = this;
    table.message("");
    try {
      const { game, lines } = readRecord(text);
      const source = await table.sourceOf(game.rules);
      if (!source) throw new Impossible("otherGame", { pieces: game.rules.pieces, squares: game.rules.squares });
      const facts = await source.positions(game.plies.map((ply) => write(ply.position)));
      const wrong = illegalPly(game, facts);
      if (wrong) throw new Impossible("recordLine", { line: lines[wrong.at], reason: ["recordIllegal", wrong] });
      if (source !== table.source) location.assign(`?game=${encodeURIComponent(game.code)}`); // the page for that game
      else await this.load(game, 0);
    } catch (error) {
      table.fail(error);
    }
  }

  async load(game, at = null) {
    const { table } = this;
    let facts;
    try {
      facts = await table.source.positions(game.positions.map(write));
      const wrong = illegalPly(game, facts);
      if (wrong) throw new Impossible("brokenMove", { number: wrong.at + 1 });
    } catch (error) {
      table.fail(error);
      return this.game ? this.show() : this.shelf();
    }
    this.game = game;
    this.facts = facts;
    this.judgement = judge(game, facts);
    this.at = Math.min(Math.max(at ?? 0, 0), game.plies.length);
    this.show();
  }

  address() {
    return `?game=${encodeURIComponent(this.game.code).replaceAll("%7E", "~").replaceAll("%2C", ",")}&at=${this.at}`;
  }

  close() {
    this.game = null;
    this.shelf();
  }

  // The games that the browser has kept, and the place for a record.
  shelf() {
    const { table } = this;
    if (table.user !== this) return;
    get("shelf").hidden = false;
    get("reviewed").hidden = true;
    history.replaceState(null, "", `?review&rules=${rulesText(table.rules)}`);
    table.show(startingPosition(table.rules));
    table.view.mark("red", null);
    const cards = storage.games().flatMap(({ code, when }) => {
      try {
        const game = readCode(code);
        const button = part("entry", titleOf(game), "button");
        button.type = "button";
        const result = game.winner ? say(game.twoPeople ? "sideWins" : game.person(game.winner) ? "youWin" : "youLose", { side: say(game.winner), player: nameOf(game.players[game.winner]) }) : say("unfinished");
        button.append(part("quiet", `${result} · ${new Date(when).toLocaleDateString(document.documentElement.lang)}`));
        button.addEventListener("click", () => table.open("review", { code }));
        const item = document.createElement("li");
        item.append(button);
        return [item];
      } catch {
        return []; // of a newer version
      }
    });
    get("games").replaceChildren(...cards);
  }

  go(at) {
    this.at = Math.min(Math.max(at, 0), this.game.plies.length);
    this.show();
  }

  show() {
    const { table, game, at } = this;
    if (table.user !== this) return;
    get("shelf").hidden = true;
    get("reviewed").hidden = false;
    if (this.address() !== location.search) history.replaceState(null, "", this.address());
    table.show(game.at(at));
    const ply = game.plies[at];
    table.view.mark(ply?.seat, ply?.move);
    get("step").textContent = say("stepOf", { at: Math.min(at + 1, game.plies.length), count: game.plies.length });
    for (const id of ["to-start", "step-back"]) get(id).disabled = at === 0;
    for (const id of ["to-end", "step-on"]) get(id).disabled = at === game.plies.length;
    this.renderVerdict();
    this.renderGraph();
    this.renderSummary();
    this.renderPlies();
  }

  // What is to be said about the ply that is shown.
  renderVerdict() {
    const { game, at, judgement, table } = this;
    const ply = game.plies[at];
    const box = get("verdict");
    if (!ply) {
      box.replaceChildren(part("", game.winner ? say("hasWon", { side: say(game.winner) }) : say("unfinished"), "p"));
      return;
    }
    const found = judgement.plies[at];
    const who = game.twoPeople ? say(ply.seat) : nameOf(game.players[ply.seat]);
    const move = moveText(ply.move, ply.seat, game.rules);
    const lines = [part("", say(ply.move.to === null ? "verdictPass" : "verdictMove", { who, roll: ply.roll, move }), "p")];
    const [before, after] = [judgement.wins[at], judgement.wins[at + 1]];
    if (before !== null && after !== null) {
      const text = say("verdictWin", { from: chance(before, judgement.exact[at]), to: chance(after, judgement.exact[at + 1]) });
      lines.push(part("quiet", text, "p"));
    }
    if (found.loss > 0) {
      const values = { cost: points(found.loss, found.exact ? 2 : 1), better: moveText(found.best, ply.seat, game.rules) };
      lines.push(part(`grade ${grade(found.loss)}`, `${say(`grade.${grade(found.loss)}`)}: ${say("verdictBetter", values)}`, "p"));
    } else if (found.choice && found.loss === 0) lines.push(part("grade best", say("verdictBest"), "p"));
    box.replaceChildren(...lines);
    if (found.choice) explain(table, ply, ply.move.move, (sentences) => box.append(part("why", sentences, "p")), () => this.at === at && this.game === game);
  }

  get marks() {
    return this.judgement.plies.flatMap((ply, at) => (ply.loss > 0.005 ? [{ at, name: grade(ply.loss) }] : []));
  }

  renderGraph() {
    const { judgement, at } = this;
    drawGraph(get("review-graph"), judgement.wins, { exact: judgement.exact[at], marks: this.marks, at });
  }

  renderSummary() {
    const { game, judgement } = this;
    const { sides } = judgement;
    const box = get("summary");
    if (!sides.red || !sides.black) {
      box.replaceChildren(part("quiet", say("unknownSummary"), "p"));
      return;
    }
    const figures = document.createElement("div");
    figures.className = "figures";
    for (const seat of SEATS) {
      const { accuracy, cost, errors, exact } = sides[seat];
      const word = accuracy === null ? "accuracyNone" : errors === 1 ? "accuracy1" : "accuracyOf";
      const card = part(`figure ${seat}`, "", "div");
      card.append(
        part("name", game.twoPeople ? say(seat) : nameOf(game.players[seat])),
        part("accuracy", accuracy === null ? "–" : percent(accuracy, 0)),
        part("quiet", say(word, { errors, cost: points(cost, exact ? 1 : 0) })),
      );
      figures.append(card);
    }
    const luck = part("luck", say(luckWord(sides)), "p");
    luck.append(part("quiet", ` ${say("luckNumber", { points: few(100 * Math.abs(sides.red.luck - sides.black.luck)) })}`));
    const head = part("", say("moments"), "h2");
    const list = part("cards", "", "ul");
    for (const moment of moments(judgement)) list.append(this.moment(moment));
    box.replaceChildren(figures, part("quiet", say("accuracyMeans"), "p"), luck, head, list);
  }

  moment({ at, from, to }) {
    const { game, judgement } = this;
    const ply = game.plies[at];
    const values = { who: game.twoPeople ? say(ply.seat) : nameOf(game.players[ply.seat]), roll: ply.roll, move: moveText(ply.move, ply.seat, game.rules) };
    const word = judgement.plies[at].loss > 0.02 ? "momentError" : ply.move.captures ? "momentCapture" : ply.move.to === null ? "momentPass" : "momentRoll";
    const button = part("entry", `${at + 1}. ${say(word, values)}`, "button");
    button.type = "button";
    const [before, behind] = [chance(from, judgement.exact[at]), chance(to, judgement.exact[at + 1])];
    button.append(part("quiet", say("momentSwing", { from: before, to: behind })));
    button.addEventListener("click", () => this.go(at));
    const item = document.createElement("li");
    item.append(button);
    return item;
  }

  renderPlies() {
    const { game, judgement, at } = this;
    const list = get("review-plies");
    list.replaceChildren(
      ...game.plies.map((ply, number) => {
        const line = plyLine(ply, judgement.plies[number], game.rules);
        line.classList.toggle("here", number === at);
        if (number === at) line.setAttribute("aria-current", "step");
        line.addEventListener("click", () => this.go(number));
        return line;
      }),
    );
    const here = list.children[at];
    if (here) list.scrollTop = here.offsetTop - list.offsetTop - list.clientHeight / 2;
  }
}

