// The page of Pig and Wubbel: a game against the best player, any state, and the regions of rolling and holding.

import { Pig } from "./pig-solver.js";

const GAMES = { pig: [100, 1], article: [200, 1], wubbel: [50, 6] };
const [ROLL, HOLD] = ["#3f8fd6", "#f2d48a"]; // as in games.css
const PAUSE = 900;
const WORDS = {
  en: {
    yours: "Your turn: roll.",
    choose: "You rolled {face}: {hand} points in hand. Roll or hold?",
    lost: "You rolled {face}: the turn is lost.",
    held: "You hold {hand} points.",
    thinks: "The best player has the die …",
    rolls: "The best player rolled {face}: {hand} points in hand.",
    loses: "The best player rolled {face} and loses the turn.",
    holds: "The best player holds {hand} points.",
    won: "You have won!",
    beaten: "The best player has won.",
    best: "Best: {action}. You win {win} of the time.",
    roll: "roll",
    hold: "hold",
    state: "Rolling wins {roll} of the time, holding {hold}: {action}.",
    only: "Rolling wins {roll} of the time; there is nothing to hold.",
    over: "The target is reached: hold.",
    wrong: "Write whole numbers from 0 up, both scores below {target}.",
    region: "With {own} points against {other}: hold with {ranges} in hand, otherwise roll.",
    never: "With {own} points against {other}: always roll until you have won.",
    picture: "Picture of when to roll and when to hold against {other} points; across your score, upwards the points in hand.",
    to: "{first} to {last}",
    and: " or ",
    solving: "Solving the game …",
    solved: "First to {target}; a {losing} loses the turn. Whoever begins wins {win} of the time.",
  },
  de: {
    yours: "Du bist dran: Würfle!",
    choose: "Du hast {face} gewürfelt: {hand} Punkte auf der Hand. Weiter würfeln oder aufhören?",
    lost: "Du hast {face} gewürfelt: Der Zug ist verloren.",
    held: "Du schreibst {hand} Punkte auf.",
    thinks: "Der beste Spieler ist dran …",
    rolls: "Der beste Spieler hat {face} gewürfelt: {hand} Punkte auf der Hand.",
    loses: "Der beste Spieler hat {face} gewürfelt und verliert den Zug.",
    holds: "Der beste Spieler schreibt {hand} Punkte auf.",
    won: "Du hast gewonnen!",
    beaten: "Der beste Spieler hat gewonnen.",
    best: "Am besten: {action}. Du gewinnst in {win} der Fälle.",
    roll: "würfeln",
    hold: "aufhören",
    state: "Würfeln gewinnt in {roll} der Fälle, Aufhören in {hold}: {action}.",
    only: "Würfeln gewinnt in {roll} der Fälle; es gibt nichts aufzuschreiben.",
    over: "Das Ziel ist erreicht: aufhören.",
    wrong: "Schreibe ganze Zahlen ab 0, beide Punktestände unter {target}.",
    region: "Mit {own} gegen {other} Punkte: aufhören mit {ranges} auf der Hand, sonst würfeln.",
    never: "Mit {own} gegen {other} Punkte: immer würfeln, bis du gewonnen hast.",
    picture: "Bild, wann man gegen {other} Punkte würfelt und wann man aufhört; waagerecht die eigenen Punkte, senkrecht die auf der Hand.",
    to: "{first} bis {last}",
    and: " oder ",
    solving: "Das Spiel wird gelöst …",
    solved: "Wer zuerst {target} hat; eine {losing} verliert den Zug. Wer beginnt, gewinnt in {win} der Fälle.",
  },
};

const get = (id) => document.getElementById(id);
const { lang } = document.documentElement;
const words = (name, values = {}) => WORDS[lang][name].replace(/\{(\w+)\}/g, (_, key) => values[key]);
const percent = (value) => new Intl.NumberFormat(lang, { style: "percent", minimumFractionDigits: 2, maximumFractionDigits: 2 }).format(value);
const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));
const quick = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

function fairRoll() {
  for (;;) {
    const [byte] = crypto.getRandomValues(new Uint8Array(1));
    if (byte < 252) return 1 + (byte % 6);
  }
}

let pig = null;
let game = null; // { scores: [you, other], hand, turn, over, number }
let number = 0;

function begin() {
  game = { scores: [0, 0], hand: 0, turn: 0, over: false, number: ++number };
  tell(words("yours"));
}

function tell(text) {
  get("said").textContent = text;
  draw();
}

function draw() {
  const { scores, hand, turn, over } = game;
  get("you").textContent = scores[0];
  get("other").textContent = scores[1];
  get("hand").textContent = hand;
  const mine = turn === 0 && !over;
  get("pig-roll").disabled = !mine;
  get("pig-hold").disabled = !mine || !hand;
  const known = mine && get("hint").checked ? pig.ask(...scores, hand) : null;
  get("advice").textContent = known ? words("best", { action: words(known.action), win: percent(known.win) }) : "";
}

// One roll of whoever has the die; whether the turn goes on.
function rolled() {
  const face = fairRoll();
  const lost = face === pig.losing;
  game.hand = lost ? 0 : game.hand + face;
  const mine = game.turn === 0;
  tell(words(mine ? (lost ? "lost" : "choose") : lost ? "loses" : "rolls", { face, hand: game.hand }));
  return !lost;
}

function banked() {
  const { hand, turn } = game;
  game.scores[turn] += hand;
  game.hand = 0;
  game.over = game.scores[turn] >= pig.target;
  tell(words(game.over ? (turn ? "beaten" : "won") : turn ? "holds" : "held", { hand }));
}

async function passed() {
  const now = game;
  const still = () => now === game && !now.over;
  if (!still()) return;
  game.turn = 1;
  draw();
  await pause(quick() ? 0 : PAUSE);
  while (still()) {
    const { scores: [you, own], hand } = game;
    if (hand && pig.ask(own, you, hand).action === "hold") {
      banked();
      break;
    }
    if (!rolled()) break;
    await pause(quick() ? 0 : PAUSE);
  }
  if (!still()) return;
  game.turn = 0;
  draw();
  await pause(quick() ? 0 : PAUSE);
  if (still() && game.turn === 0 && !game.hand) tell(words("yours"));
}

function askState() {
  const [own, other, hand] = ["own", "against", "inhand"].map((id) => (/^\d+$/.test(get(id).value) ? Number(get(id).value) : NaN));
  const { target } = pig;
  if (!(own < target && other < target && hand >= 0)) {
    get("answer").textContent = words("wrong", { target });
    return;
  }
  const { roll, hold, action } = pig.ask(own, other, hand);
  const name = roll === null ? "over" : hold === null ? "only" : "state";
  get("answer").textContent = words(name, { roll: percent(roll), hold: percent(hold), action: words(action) });
}

function drawRegions() {
  const other = Number(get("slider").value);
  const { target } = pig;
  const rolls = pig.region(other);
  const canvas = get("regions");
  Object.assign(canvas, { width: target, height: target });
  const paint = canvas.getContext("2d");
  paint.clearRect(0, 0, target, target);
  rolls.forEach((column, own) => column.forEach((roll, hand) => {
    if (!hand) return;
    paint.fillStyle = roll ? ROLL : HOLD;
    paint.fillRect(own, target - 1 - hand, 1, 1);
  }));
  for (const axis of document.querySelectorAll(".axes .up, .axes .right")) axis.textContent = target;
  get("opponent").textContent = other;
  canvas.setAttribute("aria-label", words("picture", { other }));
  const own = Number(get("column").value);
  get("mine").textContent = own;
  const ranges = [];
  rolls[own].forEach((roll, hand) => {
    if (!hand || roll) return;
    if (ranges.at(-1)?.[1] === hand - 1) ranges.at(-1)[1] = hand;
    else ranges.push([hand, hand]);
  });
  const text = ranges.map(([first, last]) => (first === last ? String(first) : words("to", { first, last }))).join(words("and"));
  get("ranges").textContent = words(ranges.length ? "region" : "never", { own, other, ranges: text });
}

async function choose() {
  get("facts").textContent = words("solving");
  await pause(30); // so that it is seen
  const [target, losing] = GAMES[get("which").value];
  pig = new Pig(target, losing);
  get("facts").textContent = words("solved", { target, losing, win: percent(pig.values[0]) });
  for (const id of ["slider", "column"]) get(id).max = target - 1;
  for (const id of ["own", "against"]) get(id).max = target - 1;
  begin();
  askState();
  drawRegions();
  document.body.classList.add("ready");
}

get("which").addEventListener("change", choose);
get("again").addEventListener("click", begin);
get("hint").addEventListener("change", draw);
get("pig-roll").addEventListener("click", () => {
  if (!rolled()) passed();
  else if (game.scores[0] + game.hand >= pig.target) banked();
});
get("pig-hold").addEventListener("click", () => {
  banked();
  passed();
});
for (const id of ["own", "against", "inhand"]) get(id).addEventListener("input", askState);
for (const id of ["slider", "column"]) get(id).addEventListener("input", drawRegions);
choose();
