// Why a move is better than another, in one or two sentences. The twin of madn/why.py and madn/why_words.py, which say
// what each thing means; tests compare the sentences.

import { DIE, finished, legalMoves, moved, opposite, readBoard, ROLLS, rollsAgain, rollWeights, writeMove } from "./rules.js";

const WORDS = {
  en: {
    point: ".",
    and: " and ",
    or: " or ",
    wins: "{a} wins the game.",
    captures: "{a} captures {prey}.",
    capturesMore: "{a} captures {prey}, {b} {less}.",
    prey: "a piece that has walked {squares} squares",
    prey1: "a piece that has walked 1 square",
    prey0: "a piece on its A-square",
    home: "{a} brings a piece home.",
    safe: "After {b} the opponent {can} capture {hits}; after {a} nothing is in reach.",
    safer: "After {b} the opponent {can} capture {hits}; after {a} {fewer}.",
    can: "can",
    could: "could",
    hit: "on {square} with a {rolls}",
    threats: "After {a} {first}; after {b} {second}.",
    threat: "a {rolls} threatens the piece on {square}",
    threatToo: "a {rolls} the one on {square}",
    noThreat: "no piece is threatened",
    winning: "After {a} {first} would win; after {b} {second}.",
    rollsSome: "a {rolls}",
    rollsNone: "no roll",
    only: "only {what}",
    playable: "After {a} {first} could be played next; after {b} {second}.",
    rollsAll: "every roll",
    rollsBut: "every roll but a {rolls}",
    race: "After {a} no piece can be captured any more.",
    further: "{a} moves the piece further along, {b} the one further back.",
    back: "{a} moves the piece further back, {b} the one further along.",
    alsoCaptures: "captures {prey}",
    alsoHome: "brings a piece home",
    alsoDanger: "leaves nothing in reach",
    also: "{a} also {what}.",
    alsoWorth: "{a} also {what} and is worth {points} points more.",
    worth: "{a} is worth {points} points more.",
    yet: "Yet {a} is worth {points} points more.",
    about: "about {points}",
    below: "less than {points}",
    noise: "The estimate puts {a} {points} points ahead, which is less than its error.",
    equal: "Both moves are worth the same.",
    alike: "The estimate is the same for both moves.",
    pass: "No piece can move with a {roll}.",
    enter: "With a 6 a piece must leave the box: {a} is the only legal move.",
    clear: "The A-square must be cleared while pieces are in the box: {a} is the only legal move.",
    duty: "A capture is compulsory here: {a} is the only legal move.",
    forced: "{a} is the only legal move with a {roll}.",
  },
  de: {
    point: ",",
    and: " und ",
    or: " oder ",
    wins: "{a} gewinnt das Spiel.",
    captures: "{a} schlägt {prey}.",
    capturesMore: "{a} schlägt {prey}, {b} {less}.",
    prey: "eine Figur, die schon {squares} Felder weit ist",
    prey1: "eine Figur, die schon 1 Feld weit ist",
    prey0: "eine Figur auf ihrem A-Feld",
    home: "{a} bringt eine Figur ins Ziel.",
    safe: "Nach {b} {can} der Gegner {hits} schlagen; nach {a} ist nichts in Reichweite.",
    safer: "Nach {b} {can} der Gegner {hits} schlagen; nach {a} {fewer}.",
    can: "kann",
    could: "könnte",
    hit: "mit einer {rolls} auf {square}",
    threats: "Nach {a} bedroht {first}; nach {b} {second}.",
    threat: "eine {rolls} die Figur auf {square}",
    threatToo: "eine {rolls} die auf {square}",
    noThreat: "ist keine bedroht",
    winning: "Nach {a} würde {first} gewinnen; nach {b} {second}.",
    rollsSome: "eine {rolls}",
    rollsNone: "kein Wurf",
    only: "nur {what}",
    playable: "Nach {a} wäre als Nächstes {first} spielbar; nach {b} {second}.",
    rollsAll: "jeder Wurf",
    rollsBut: "jeder Wurf außer einer {rolls}",
    race: "Nach {a} kann keine Figur mehr geschlagen werden.",
    further: "{a} zieht die vordere Figur, {b} die hintere.",
    back: "{a} zieht die hintere Figur, {b} die vordere.",
    alsoCaptures: "schlägt außerdem {prey}",
    alsoHome: "bringt außerdem eine Figur ins Ziel",
    alsoDanger: "lässt außerdem nichts in Reichweite",
    also: "{a} {what}.",
    alsoWorth: "{a} {what} und ist {points} Punkte mehr wert.",
    worth: "{a} ist {points} Punkte mehr wert.",
    yet: "Trotzdem ist {a} {points} Punkte mehr wert.",
    about: "etwa {points}",
    below: "weniger als {points}",
    noise: "Die Schätzung sieht {a} {points} Punkte vorn, weniger als ihr Fehler.",
    equal: "Beide Züge sind gleich viel wert.",
    alike: "Die Schätzung ist für beide Züge gleich.",
    pass: "Mit einer {roll} kann keine Figur ziehen.",
    enter: "Mit einer 6 muss eine Figur aus dem Haus: {a} ist der einzige erlaubte Zug.",
    clear: "Das A-Feld muss geräumt werden, solange Figuren im Haus sind: {a} ist der einzige erlaubte Zug.",
    duty: "Hier gilt Schlagzwang: {a} ist der einzige erlaubte Zug.",
    forced: "{a} ist mit einer {roll} der einzige erlaubte Zug.",
  },
};
const KINDS = ["wins", "captures", "danger", "threats", "home", "winning", "playable", "race"];
const BOXED = 7;
const LATER = 0.5;
const [HOME, RACE, VICTORY, FINISH] = [3, 4, 1000, 40];

// Compare the best of these moves of a roll, as the server lists them, with the chosen one (a text), or else the second
// best. `error` is that of the estimates, if there are any.
export function explain(text, roll, rules, moves, { chosen = null, error = null } = {}) {
  const board = readBoard(text);
  const [best, second = null] = moves;
  const found = moves.find((move) => move.move === chosen) ?? best;
  const other = found === best ? second : found;
  if (!other) return { roll, best, other: null, forced: forcedBy(board, roll, best, rules) };
  const known = best.win !== null && other.win !== null;
  return {
    roll,
    best,
    other,
    facts: factsOf(outlook(board, roll, best, rules), outlook(board, roll, other, rules)),
    difference: known ? Math.max(best.win - other.win, 0) : null,
    exact: best.exact && other.exact,
    error,
  };
}

// What a legal move does, and what can come after it, in the mover's numbers.
function outlook(board, roll, move, rules) {
  const walked = move.captures ? opposite(move.to, rules) : null;
  const home = move.from !== null && move.from < rules.squares && rules.squares <= move.to;
  const mine = moved(board, move, rules);
  if (finished(mine.own, rules)) return { move, walked, home, won: true, scores: { wins: VICTORY } };
  const [danger, lost] = hitsOf({ own: mine.other, other: mine.own }, rules, true);
  const [threats, won] = hitsOf(mine, rules, false);
  const finishes = (next) => next.to !== null && finished(moved(mine, next, rules).own, rules);
  const winning = ROLLS.filter((r) => legalMoves(mine, r, rules).some(finishes));
  const playable = ROLLS.filter((r) => legalMoves(mine, r, rules)[0].to !== null);
  const race = !contact(mine, rules);
  const again = rollsAgain(roll);
  const scores = {
    captures: walked === null ? 0 : walked + 1 + BOXED,
    danger: -lost * (again ? LATER : 1),
    threats: won * (again ? 1 : LATER),
    home: home ? HOME : 0,
    winning: (FINISH * winning.length) / DIE,
    playable: playable.reduce((sum, r) => sum + r, 0) / DIE,
    race: race ? RACE : 0,
  };
  return { move, walked, home, won: false, danger, threats, winning, playable, race, scores };
}

// Where the side to move can capture, with which rolls, as [square, rolls]; and how many squares that takes back on average.
function hitsOf(board, rules, mirrored) {
  const hits = new Map();
  const weights = rollWeights(board, rules);
  let total = 0;
  for (const roll of ROLLS) {
    const ends = legalMoves(board, roll, rules).filter((move) => move.captures).map((move) => move.to);
    for (const end of ends) {
      const square = mirrored ? opposite(end, rules) : end;
      hits.set(square, [...(hits.get(square) ?? []), roll]);
    }
    total += weights[roll - 1] * Math.max(0, ...ends.map((end) => opposite(end, rules) + 1 + BOXED));
  }
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  return [[...hits].sort(([a], [b]) => a - b), total / all];
}

function contact({ own, other }, rules) {
  const first = (side) => (side.length < rules.pieces ? 0 : side[0]); // whoever is behind has the longest way
  for (let square = first(own); square < rules.squares; square++) {
    if (opposite(square, rules) >= first(other)) return true;
  }
  return false;
}

function factsOf(best, other) {
  const kinds = best.won || other.won ? ["wins"] : KINDS;
  const gain = (kind) => (best.scores[kind] ?? 0) - (other.scores[kind] ?? 0);
  const good = kinds.filter((kind) => gain(kind) > 0).sort((a, b) => gain(b) - gain(a));
  const facts = good.map((kind) => ({ kind, better: best, worse: other }));
  if (facts.length) return [facts[0], ...facts.slice(1).filter(brief).slice(0, 1)];
  const [bad] = kinds.filter((kind) => gain(kind) < 0).sort((a, b) => gain(a) - gain(b));
  return [bad ? { kind: bad, better: other, worse: best } : { kind: "place", better: best, worse: other }];
}

const brief = ({ kind, better }) => kind === "captures" || kind === "home" || (kind === "danger" && !better.danger.length);

function forcedBy({ own }, roll, move, rules) {
  if (move.to === null) return "pass";
  if (move.from === null) return "enter";
  if (move.from === 0 && own.length < rules.pieces) return "clear";
  if (!rules.must_capture || !move.captures) return "forced";
  const free = legalMoves({ own, other: [] }, roll, { ...rules, must_capture: false });
  return free.length > 1 ? "duty" : "forced";
}

// The sentences in a language. On a page that numbers squares otherwise, `square` gives the number to show of a square
// of the mover, and `move` the text of a move.
export function sentences(why, language = "en", { square = (number) => number, move = writeMove } = {}) {
  const words = WORDS[language];
  const fill = (name, values = {}) => words[name].replace(/\{(\w+)\}/g, (_, key) => values[key]);
  const joined = (last, parts) => (parts.length > 1 ? [parts.slice(0, -1).join(", "), parts.at(-1)].join(last) : (parts[0] ?? ""));
  const either = (numbers) => joined(words.or, numbers);
  const a = move(why.best);
  if (!why.other) return [fill(why.forced, { a, roll: why.roll })];

  const prey = ({ walked }) => fill(walked === null || walked > 1 ? "prey" : `prey${walked}`, { squares: walked });
  const some = (rolls) => (rolls.length ? fill("rollsSome", { rolls: either(rolls) }) : words.rollsNone);
  const rollsIn = (hits) => new Set(hits.flatMap(([, rolls]) => rolls)).size;
  const only = (what, yes) => (yes ? fill("only", { what }) : what);

  // Squares that the same rolls capture on are said together.
  const grouped = (hits) => {
    const groups = new Map();
    for (const [number, rolls] of hits) {
      const key = either(rolls);
      groups.set(key, [...(groups.get(key) ?? []), square(number)]);
    }
    return [...groups].map(([rolls, squares]) => ({ rolls, square: either(squares) }));
  };
  const hits = (danger) => joined(words.and, grouped(danger).map((group) => fill("hit", group)));
  const threats = (list, first) => joined(words.and, grouped(list).map((group, at) => fill(at ? "threatToo" : first, group)));
  const usable = (rolls) => {
    const lost = ROLLS.filter((roll) => !rolls.includes(roll));
    if (!lost.length) return words.rollsAll;
    if (lost.length < rolls.length) return fill("rollsBut", { rolls: either(lost) });
    return only(some(rolls), rolls.length);
  };

  const factText = ({ kind, better, worse }) => {
    const both = { a: move(better.move), b: move(worse.move) };
    if (kind === "captures" && worse.walked !== null) return fill("capturesMore", { ...both, prey: prey(better), less: prey(worse) });
    if (kind === "danger") {
      const fewer = only(hits(better.danger), rollsIn(better.danger) < rollsIn(worse.danger));
      const can = words[rollsAgain(why.roll) ? "could" : "can"];
      return fill(better.danger.length ? "safer" : "safe", { ...both, can, hits: hits(worse.danger), fewer });
    }
    if (kind === "threats") {
      const second = only(threats(worse.threats, "threatToo"), rollsIn(worse.threats) < rollsIn(better.threats));
      return fill("threats", { ...both, first: threats(better.threats, "threat"), second: worse.threats.length ? second : words.noThreat });
    }
    if (kind === "winning") {
      return fill("winning", { ...both, first: some(better.winning), second: only(some(worse.winning), worse.winning.length) });
    }
    if (kind === "playable") return fill("playable", { ...both, first: usable(better.playable), second: usable(worse.playable) });
    if (kind === "place") return fill((better.move.from ?? -1) > (worse.move.from ?? 0) ? "further" : "back", both);
    return fill(kind, { ...both, prey: prey(better) });
  };

  const [first, more] = why.facts;
  const also = more && fill(`also${more.kind[0].toUpperCase()}${more.kind.slice(1)}`, { prey: prey(more.better) });
  const worth = worthText(why, words, fill);
  const text = factText(first);
  if (!worth) return also ? [text, fill("also", { a, what: also })] : [text];
  let [name, points] = worth;
  if (name === "worth") name = first.better.move !== why.best ? "yet" : also ? "alsoWorth" : "worth";
  return [text, fill(name, { a, points, what: also })];
}

// The sentences about a roll of a position, as the page writes moves: the best one against the chosen one (a text, or null
// for the second best). `shift` is added to the numbers of main squares.
export function pageSentences({ board, rolls, error }, roll, rules, chosen, { language, shift = 0 }) {
  const square = (number) => (number < rules.squares ? (number + shift) % rules.squares : number);
  const box = language === "de" ? "Haus" : "box";
  const move = ({ from, to }) => `${from === null ? box : square(from)} → ${square(to)}`;
  return sentences(explain(board, roll, rules, rolls[roll - 1].moves, { chosen, error }), language, { square, move });
}

// Which sentence says what the best move is worth more, and how many percentage points that is.
function worthText({ difference, exact, error }, words, fill) {
  if (difference === null) return null;
  if (difference === 0) return [exact ? "equal" : "alike", ""];
  const points = 100 * difference;
  const digits = points >= 1 || !exact ? 1 : 2;
  const decimal = (steps) => {
    const text = String(steps).padStart(digits + 1, "0");
    return `${text.slice(0, -digits)}${words.point}${text.slice(-digits)}`;
  };
  const steps = Math.floor(points * 10 ** digits + 0.5);
  if (steps === 0) return [exact ? "worth" : "noise", fill("below", { points: decimal(1) })];
  if (exact) return ["worth", decimal(steps)];
  return [error !== null && difference < error ? "noise" : "worth", fill("about", { points: decimal(steps) })];
}
