// The page of the pyramid game: a game against the best player, and the winning moves.

import { Pyramid } from "./pyramid-solver.js";

const WORDS = {
  en: {
    yours: "Your turn: choose bars that stand side by side in one tier, then mark them.",
    theirs: "The best player has marked {count}. Your turn.",
    won: "The best player had to mark the last bar: you have won!",
    lost: "You marked the last bar: the best player has won.",
    youWin: "You can win, in {turns}.",
    theyWin: "The best player wins if it goes on like this, in {turns}.",
    turns: "{count} turns at the most",
    turn: "1 turn",
    bars: "{count} bars",
    bar: "1 bar",
    label: "tier {tier}, bar {bar}",
    marked: "tier {tier}, bar {bar}, marked",
  },
  de: {
    yours: "Du bist dran: Wähle Striche, die in einer Reihe nebeneinander stehen, und streiche sie.",
    theirs: "Der beste Spieler hat {count} gestrichen. Du bist dran.",
    won: "Der beste Spieler musste den letzten Strich streichen: Du hast gewonnen!",
    lost: "Du hast den letzten Strich gestrichen: Der beste Spieler hat gewonnen.",
    youWin: "Du kannst gewinnen, in {turns}.",
    theyWin: "Der beste Spieler gewinnt, wenn er so weitermacht, in {turns}.",
    turns: "höchstens {count} Zügen",
    turn: "1 Zug",
    bars: "{count} Striche",
    bar: "1 Strich",
    label: "Reihe {tier}, Strich {bar}",
    marked: "Reihe {tier}, Strich {bar}, gestrichen",
  },
};

const get = (id) => document.getElementById(id);
const { lang } = document.documentElement;
const words = (name, values = {}) => WORDS[lang][name].replace(/\{(\w+)\}/g, (_, key) => values[key]);
const count = (name, number) => (number === 1 ? words(name) : words(`${name}s`, { count: number }));
const pyramid = new Pyramid();
let tiers = []; // of each tier, which bars are marked
let chosen = null; // { tier, first, last }
let hinted = null;
let last = null; // what the best player marked

function begin(first) {
  tiers = Array.from({ length: Number(get("tiers").value) }, (_, tier) => new Array(tier + 1).fill(false));
  [chosen, hinted, last] = [null, null, null];
  get("said").textContent = words("yours");
  if (first === "other") answer();
  draw();
}

// The runs of bars that are left, with where they are.
function runsLeft() {
  return tiers.flatMap((bars, tier) => {
    const found = [];
    bars.forEach((marked, bar) => {
      if (marked) return;
      const run = found.at(-1);
      if (run && run.first + run.length === bar) run.length++;
      else found.push({ tier, first: bar, length: 1 });
    });
    return found;
  });
}

const lengths = (runs) => runs.map(({ length }) => length).sort((a, b) => a - b);

// A best move as bars on the board.
function bestMove() {
  const runs = runsLeft();
  const found = pyramid.best(lengths(runs));
  const move = found[Math.floor(Math.random() * found.length)];
  const run = runs.find(({ length }) => length === move.length);
  return { tier: run.tier, first: run.first + move.first - 1, last: run.first + move.last - 1 };
}

function mark({ tier, first, last: end }) {
  tiers[tier].fill(true, first, end + 1);
}

function answer() {
  last = bestMove();
  mark(last);
  get("said").textContent = runsLeft().length ? words("theirs", { count: count("bar", last.last - last.first + 1) }) : words("won");
}

function play() {
  mark(chosen);
  [chosen, hinted, last] = [null, null, null];
  if (runsLeft().length) answer();
  else get("said").textContent = words("lost");
  draw();
  get("board").querySelector("button:not(:disabled)")?.focus();
}

// The first click chooses a bar, the second makes it a range; anything between must be free.
function pick(tier, bar) {
  const range = chosen && chosen.tier === tier ? { tier, first: Math.min(chosen.first, bar), last: Math.max(chosen.last, bar) } : null;
  const again = chosen && chosen.tier === tier && chosen.first === bar && chosen.last === bar;
  const free = range && !tiers[tier].slice(range.first, range.last + 1).includes(true);
  chosen = again ? null : free && range.last - range.first > chosen.last - chosen.first ? range : { tier, first: bar, last: bar };
  draw();
  get("board").children[tier].children[bar].focus();
}

const within = (range, tier, bar) => range && range.tier === tier && range.first <= bar && bar <= range.last;

function draw() {
  get("board").replaceChildren(...tiers.map((bars, tier) => {
    const row = document.createElement("div");
    row.className = "tier";
    row.append(...bars.map((marked, bar) => {
      const button = document.createElement("button");
      button.type = "button";
      button.disabled = marked;
      button.textContent = marked ? "×" : "|";
      button.setAttribute("aria-label", words(marked ? "marked" : "label", { tier: tier + 1, bar: bar + 1 }));
      button.setAttribute("aria-pressed", String(Boolean(within(chosen, tier, bar))));
      button.classList.toggle("marked", marked);
      button.classList.toggle("chosen", Boolean(within(chosen, tier, bar)));
      button.classList.toggle("last", Boolean(within(last, tier, bar)));
      button.classList.toggle("hint", Boolean(within(hinted, tier, bar)));
      button.addEventListener("click", () => pick(tier, bar));
      return button;
    }));
    return row;
  }));
  const runs = runsLeft();
  get("mark").disabled = !chosen;
  get("show").disabled = !runs.length || !pyramid.ask(lengths(runs)).wins;
  get("facts").textContent = "";
  if (runs.length && get("hint").checked) {
    const { wins, turns } = pyramid.ask(lengths(runs));
    get("facts").textContent = words(wins ? "youWin" : "theyWin", { turns: turns === 1 ? words("turn") : words("turns", { count: turns }) });
  }
}

get("mark").addEventListener("click", play);
get("hint").addEventListener("change", draw);
get("show").addEventListener("click", () => {
  hinted = bestMove();
  draw();
});
get("me").addEventListener("click", () => begin("me"));
get("them").addEventListener("click", () => begin("other"));
get("tiers").addEventListener("change", () => begin("me"));
begin("me");
document.body.classList.add("ready");
