// The page: which game, which view, the address bar, the language.

import * as api from "./api.js";
import { Explore } from "./explore.js";
import { HOUSE_RULES, Impossible, link, read, readRules, readSeats, rulesOfCode, rulesText } from "./position.js";
import * as storage from "./storage.js";
import { get, reasonOf, Table } from "./table.js";
import { language, say, switchLanguage, translate, whole } from "./words.js";

const VIEWS = ["play", "explore", "review", "quiz"];
const MODULES = { play: () => import("./play.js"), review: () => import("./review.js"), quiz: () => import("./quiz.js") };

// The rules that the address asks for; null if it does not say.
function wantedRules(given) {
  if (given.has("game")) return rulesOfCode(given.get("game"));
  if (given.has("rules")) return readRules(given.get("rules"));
  if (given.has("db") || given.has("board") || given.has("red")) return null;
  const kept = storage.current();
  try {
    return kept && rulesOfCode(kept.code);
  } catch {
    return null;
  }
}

// A game as words: "4 pieces, 40 squares, must capture".
function gameText(rules) {
  const house = HOUSE_RULES.filter((rule) => rules[rule]).map((rule) => say(rule));
  return [say(rules.pieces === 1 ? "rulesOf1" : "rulesOf", rules), ...house].join(", ");
}

// The position of the address; null if it names none.
function addressed(given, rules) {
  const turn = given.get("turn") === "black" ? "black" : "red";
  if (given.has("board")) return read(given.get("board"), turn, rules); // as version 0.1 wrote it
  if (given.has("red") || given.has("black")) return readSeats(given.get("red") ?? "b", given.get("black") ?? "b", turn, rules);
  return null;
}

class Page {
  async begin() {
    translate(document);
    const given = new URLSearchParams(location.search);
    this.games = await api.games();
    let [trouble, wanted] = [null, null];
    try {
      wanted = wantedRules(given);
    } catch (error) {
      trouble = error;
    }
    const fits = ({ name, rules }) => (given.has("db") ? name === given.get("db") : wanted && rulesText(rules) === rulesText(wanted));
    const found = this.games.find(fits);
    if (wanted && !found) trouble = new Impossible("otherRules", { link: gameText(wanted), page: gameText(this.games[0].rules) });
    const { name } = found ?? this.games[0];
    const [facts, layout] = await Promise.all([api.game(name), api.layout(name)]);
    this.facts = facts;
    this.table = new Table(facts, api.source(facts), layout, (view, what) => this.open(view, what));
    this.table.sourceOf = (rules) => this.sourceOf(rules);
    this.table.games = this.games;
    this.views = { explore: new Explore(this.table) };
    this.listen();
    this.describe();
    if (trouble) {
      await this.enter("explore", this.opening);
      this.table.fail(trouble);
    } else await this.route();
    document.body.classList.add("ready");
  }

  // Show what the address says.
  async route() {
    const given = new URLSearchParams(location.search);
    const { rules } = this.table;
    this.table.message("");
    try {
      const position = addressed(given, rules);
      if (given.has("game")) await this.enter("review", { code: given.get("game"), at: Number(given.get("at")) || 0 });
      else if (given.has("quiz")) await this.enter("quiz", { position, roll: Number(given.get("roll")) });
      else if (position) await this.enter("explore", position);
      else if (given.has("review")) await this.enter("review", {});
      else if (given.has("play") || this.game) await this.enter("play", {});
      else await this.enter("explore", this.opening);
    } catch (error) {
      await this.enter("explore", this.opening);
      this.table.fail(error);
    }
  }

  // What a visitor sees first.
  get opening() {
    return read(this.facts.opening, "red", this.table.rules);
  }

  // The game that is being played or can be continued, if there is one.
  get game() {
    return this.views.play?.game ?? storage.current(this.table.rules);
  }

  // Another view by the hand of the person, or by a button: one step back in the browser's history leads here again.
  async open(view, what = {}) {
    this.table.message("");
    this.table.settle();
    const { rules } = this.table;
    const to = {
      explore: () => link(what.position ?? this.views.explore.position, rules),
      review: () => `?review&rules=${rulesText(rules)}`,
      play: () => `?play&rules=${rulesText(rules)}`,
      quiz: () => `?quiz&rules=${rulesText(rules)}`,
    }[view]();
    history.pushState(null, "", to);
    if (what.code && rulesText(rulesOfCode(what.code)) !== rulesText(rules)) {
      location.assign(`?game=${encodeURIComponent(what.code)}`);
      return undefined;
    }
    return this.enter(view, view === "explore" ? what.position : what);
  }

  // The questions to the game with these rules; null if it is not on offer.
  async sourceOf(rules) {
    const found = this.games.find((game) => rulesText(game.rules) === rulesText(rules));
    if (!found || found.name === this.facts.name) return found ? this.table.source : null;
    return api.source(await api.game(found.name));
  }

  // A view; those that are not needed at once are loaded when they are.
  async viewOf(name) {
    if (!this.views[name]) {
      const { View } = await MODULES[name]();
      this.views[name] ??= new View(this.table);
    }
    return this.views[name];
  }

  async enter(view, what) {
    this.wanted = view;
    let opened = this.views[view];
    try {
      opened ??= await this.viewOf(view);
    } catch (error) {
      return this.table.fail(error);
    }
    if (this.wanted !== view) return undefined; // another one was opened meanwhile
    for (const name of VIEWS) {
      get(name).hidden = name !== view;
      get(`${name}-tab`).setAttribute("aria-selected", String(name === view));
      get(`${name}-tab`).tabIndex = name === view ? 0 : -1;
    }
    this.table.user = opened;
    document.body.dataset.view = view;
    document.body.classList.toggle("playing", view === "play" && Boolean(opened.game));
    scrollTo(0, 0);
    get("panel").scrollTop = 0;
    get("back").hidden = !this.game;
    return opened.enter(what);
  }

  describe() {
    const { rules, exact, positions } = this.facts;
    const word = !exact ? "gameEstimated" : rules.pieces === 1 ? "gameOf1" : "gameOf";
    const house = HOUSE_RULES.filter((rule) => rules[rule]).map((rule) => `, ${say(rule)}`);
    get("game").textContent = say(word, { pieces: rules.pieces, positions: whole(positions) }) + house.join("");
    get("language").textContent = say("other");
    get("language").lang = say("otherCode");
    get("programs").hidden = !api.served;
    for (const page of ["rules", "help", "about", "pig", "pyramid", "cantstop"]) get(page).href = language() === "de" ? `${page}.de.html` : `${page}.html`;
  }

  listen() {
    VIEWS.forEach((name, at) => {
      get(`${name}-tab`).addEventListener("click", () => name !== this.wanted && this.open(name));
      get(`${name}-tab`).addEventListener("keydown", (event) => {
        const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (!step) return;
        const other = VIEWS[(at + step + VIEWS.length) % VIEWS.length];
        get(`${other}-tab`).focus();
        get(`${other}-tab`).click();
      });
    });
    const menu = (shown) => {
      get("menu").hidden = !shown;
      get("menu-button").setAttribute("aria-expanded", String(shown));
    };
    get("menu-button").addEventListener("click", () => menu(get("menu").hidden));
    document.addEventListener("pointerdown", (event) => !event.target.closest("nav") && menu(false));
    document.addEventListener("keydown", (event) => event.key === "Escape" && menu(false));
    get("language").addEventListener("click", async () => {
      await switchLanguage();
      translate(document);
      this.describe();
      this.table.message("");
      this.views.play?.build();
      this.table.user.enter(document.body.dataset.view === "explore" ? undefined : {});
    });
    for (const name of ["numbers", "sound"]) {
      get(name).checked = storage.setting(name);
      get(name).addEventListener("change", () => {
        storage.set(name, get(name).checked);
        if (name === "numbers") this.table.show(this.table.position);
      });
    }
    get("message").addEventListener("click", () => this.table.message(""));
    addEventListener("popstate", () => this.route());
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", (event) => {
      const [file] = event.dataTransfer.files;
      const text = event.dataTransfer.getData("text/plain");
      if (!file && !text) return;
      event.preventDefault();
      this.open("review", file ? { file } : { text });
    });
    document.addEventListener("paste", (event) => {
      const text = event.clipboardData.getData("text/plain");
      if (!event.target.closest?.("input, textarea") && text.trim().startsWith("madn game")) this.open("review", { text });
    });
  }
}

new Page().begin().catch((error) => {
  get("message").textContent = reasonOf(error);
});
