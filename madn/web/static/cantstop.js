// The page of Can't Stop on a small board: a game against the best player, when to stop, and the ways to play a roll.

import { CantStop } from "./cantstop-solver.js";

const PAUSE = 1200;
const WORDS = {
  en: {
    solving: "Solving the game …",
    solved: "Whoever begins wins {win} of the time, if both play perfectly.",
    yours: "Your turn: roll.",
    choose: "You rolled {dice}. Choose how to pair the dice.",
    more: "Roll again, or stop and keep your steps?",
    must: "A marker stands on a square of the best player: you must roll on.",
    lost: "You rolled {dice}: no pair can be played, the steps of this turn are lost.",
    loses: "The best player rolled {dice} and loses the steps of its turn.",
    moves: "The best player rolled {dice} and moves in {columns}.",
    stops: "The best player stops.",
    won: "You have won!",
    beaten: "The best player has won.",
    way: "{pairing}: move in {columns}",
    wins: ", wins {win} of the time",
    advice: "Rolling wins {roll} of the time, stopping {stop}.",
    onlyRoll: "Rolling wins {roll} of the time; stopping is not allowed.",
    column: "column {column}",
    and: " and ",
    twice: "{column}, two steps",
    board: "{columns}.",
    state: "Column {column}, {length} steps: you {own}, best player {other}{marker}",
    marker: ", marker on {step}",
    closed: "Column {column} is won",
  },
  de: {
    solving: "Das Spiel wird gelöst …",
    solved: "Wer beginnt, gewinnt in {win} der Fälle, wenn beide perfekt spielen.",
    yours: "Du bist dran: Würfle!",
    choose: "Du hast {dice} gewürfelt. Wähle, wie du die Würfel paarst.",
    more: "Weiter würfeln, oder aufhören und die Schritte behalten?",
    must: "Ein Stein steht auf einem Feld des besten Spielers: Du musst weiter würfeln.",
    lost: "Du hast {dice} gewürfelt: Kein Paar passt, die Schritte dieses Zugs sind verloren.",
    loses: "Der beste Spieler hat {dice} gewürfelt und verliert die Schritte seines Zugs.",
    moves: "Der beste Spieler hat {dice} gewürfelt und zieht in {columns}.",
    stops: "Der beste Spieler hört auf.",
    won: "Du hast gewonnen!",
    beaten: "Der beste Spieler hat gewonnen.",
    way: "{pairing}: ziehen in {columns}",
    wins: ", gewinnt in {win} der Fälle",
    advice: "Würfeln gewinnt in {roll} der Fälle, Aufhören in {stop}.",
    onlyRoll: "Würfeln gewinnt in {roll} der Fälle; Aufhören ist nicht erlaubt.",
    column: "Spalte {column}",
    and: " und ",
    twice: "{column}, zwei Schritte",
    board: "{columns}.",
    state: "Spalte {column}, {length} Schritte: du {own}, bester Spieler {other}{marker}",
    marker: ", Stein auf {step}",
    closed: "Spalte {column} ist gewonnen",
  },
};

const get = (id) => document.getElementById(id);
const { lang } = document.documentElement;
const words = (name, values = {}) => WORDS[lang][name].replace(/\{(\w+)\}/g, (_, key) => values[key]);
const percent = (value) => new Intl.NumberFormat(lang, { style: "percent", minimumFractionDigits: 2, maximumFractionDigits: 2 }).format(value);
const pause = (time) => new Promise((resolve) => setTimeout(resolve, matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : time));
const solver = new CantStop();
let game = null; // { position, mine, phase: "roll" | "choose" | "wait" | "over", ways, owners }

const fairDice = () => Array.from(crypto.getRandomValues(new Uint8Array(64))).filter((byte) => byte < 255).slice(0, 4).map((byte) => byte % solver.sides);
const shown = (dice) => dice.map((face) => face + 1).sort((a, b) => a - b).join(" ");

function columnsText(columns) {
  const name = (column) => words("column", { column: column + 2 });
  if (columns.length === 2 && columns[0] === columns[1]) return words("twice", { column: name(columns[0]) });
  return columns.map(name).join(words("and"));
}

function begin() {
  game = { position: solver.start(), mine: true, phase: "roll", ways: [], owners: new Array(solver.columns).fill(null) };
  tell(words("yours"));
}

function tell(text) {
  get("said").textContent = text;
  draw();
}

function roll() {
  const dice = fairDice();
  const ways = solver.ways(game.position, dice);
  if (!ways.length) {
    tell(words(game.mine ? "lost" : "loses", { dice: shown(dice) }));
    const { own, other, won, lost } = game.position;
    passed({ own: other, other: own, won: lost, lost: won, markers: solver.start().markers });
    return;
  }
  if (game.mine) {
    Object.assign(game, { phase: "choose", ways });
    tell(words("choose", { dice: shown(dice) }));
    get("ways").querySelector("button")?.focus();
  } else {
    const [best] = ways;
    game.position = { ...game.position, markers: best.markers };
    tell(words("moves", { dice: shown(dice), columns: columnsText(best.columns) }));
  }
}

function choose(way) {
  game.position = { ...game.position, markers: way.markers };
  Object.assign(game, { phase: "roll", ways: [] });
  tell(words(solver.stopped(game.position) ? "more" : "must"));
  get("throw").focus();
}

function stop() {
  const { markers } = game.position;
  markers.forEach((left, column) => {
    if (left === 0) game.owners[column] = game.mine ? "you" : "other";
  });
  const after = solver.stopped(game.position);
  if (after.lost >= solver.toWin) {
    game.phase = "over";
    game.position = after; // the winner second
    game.mine = !game.mine;
    tell(words(game.mine ? "beaten" : "won"));
    return;
  }
  if (!game.mine) tell(words("stops"));
  passed(after);
}

async function passed(position) {
  const now = game;
  game.phase = "wait";
  draw();
  await pause(PAUSE);
  if (now !== game) return;
  Object.assign(game, { position, mine: !game.mine, phase: "roll", ways: [] });
  if (game.mine) {
    tell(words("yours"));
    return;
  }
  draw();
  for (;;) {
    roll();
    await pause(PAUSE);
    if (now !== game || game.mine || game.phase === "over") return;
    if (!game.position.markers.some((marker) => marker !== null)) return; // the turn was lost: it goes on there
    const { roll: rolling, stop: stopping } = solver.ask(game.position);
    if (stopping !== null && stopping >= rolling) {
      stop();
      return;
    }
  }
}

function draw() {
  const { position, mine, phase, ways, owners } = game;
  const [you, other] = mine ? [position.own, position.other] : [position.other, position.own];
  const said = [];
  get("columns").replaceChildren(...solver.lengths.map((length, column) => {
    const list = document.createElement("div");
    list.className = "column";
    const marker = position.markers[column] === null ? null : length - position.markers[column];
    const closed = owners[column];
    for (let step = length; step >= 1; step--) {
      const cell = document.createElement("span");
      cell.className = "cell";
      if (closed) cell.classList.add(closed);
      else {
        if (step === you[column]) cell.classList.add("you");
        if (step === other[column]) cell.classList.add("other-player");
        if (step === marker) cell.classList.add("marker");
      }
      list.append(cell);
    }
    const name = document.createElement("strong");
    name.textContent = column + 2;
    list.append(name);
    const facts = { column: column + 2, length, own: you[column], other: other[column], marker: marker === null ? "" : words("marker", { step: marker }) };
    said.push(words(closed ? "closed" : "state", facts));
    return list;
  }));
  get("columns").setAttribute("aria-label", words("board", { columns: said.join("; ") }));
  const hints = get("hint").checked;
  const turn = mine && phase === "roll";
  const started = position.markers.some((marker) => marker !== null);
  const { roll: rolling, stop: stopping } = turn ? solver.ask(position) : { roll: null, stop: null };
  get("throw").disabled = !turn;
  get("stop").disabled = !turn || !started || stopping === null;
  get("ways").replaceChildren(...(hints ? ways : ways.toSorted((a, b) => a.columns[0] - b.columns[0])).map((way) => {
    const button = document.createElement("button");
    button.type = "button";
    const pairing = way.pairing.map((column) => column + 2).join(" + ");
    button.textContent = words("way", { pairing, columns: columnsText(way.columns) }) + (hints ? words("wins", { win: percent(way.win) }) : "");
    button.addEventListener("click", () => choose(way));
    return button;
  }));
  get("advice").textContent = turn && hints ? words(started && stopping !== null ? "advice" : "onlyRoll", { roll: percent(rolling), stop: percent(stopping) }) : "";
}

get("throw").addEventListener("click", roll);
get("stop").addEventListener("click", stop);
get("again").addEventListener("click", begin);
get("hint").addEventListener("change", draw);
get("facts").textContent = words("solving");
await pause(30); // so that it is seen
get("facts").textContent = words("solved", { win: percent(solver.win(solver.start())) });
begin();
document.body.classList.add("ready");
