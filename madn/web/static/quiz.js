// The view that asks "what would you play?": a position as it comes up in games, in which something is at stake, graded by
// what the answer costs.

import { drawDie, fairRoll } from "./dice.js";
import { explain } from "./explain.js";
import { grade, TIE } from "./judge.js";
import { moveButtons, moveText, part } from "./moves.js";
import { link, startingPosition, write } from "./position.js";
import { after, legalMoves, winner } from "./rules.js";
import * as storage from "./storage.js";
import { get } from "./table.js";
import { few, points, say } from "./words.js";

const CANDIDATES = 24; // positions of a game that are looked at to find a good one
const ROUNDS = 6;
const [LEAST, MOST] = [0.01, 0.2]; // what the second best move may cost in a question
const DECIDED = 0.95; // a game that is won or lost with this probability is no question
const SURE = 3; // the second best move costs so many times the error of estimates
const TRICKY = 3; // of four questions, so many are answered wrongly by a beginner's rule
const LONGEST = 2000; // plies of a game
const GUARD = 500; // milliseconds in which a second click does not mean the next question

export class View {
  constructor(table) {
    this.table = table;
    this.question = null; // {position, roll, facts, moves}
    this.chosen = null;
    get("next").addEventListener("click", () => this.ask());
    get("quiz-analyse").addEventListener("click", () => this.question && table.open("explore", { position: this.question.position }));
  }

  // Show the view: with the question of an address, with the one it has, or with a new one.
  enter({ position = null, roll = null } = {}) {
    const same = this.question && (!position || (write(position) === write(this.question.position) && roll === this.question.roll));
    if (same) return this.render();
    return position ? this.take(position, roll) : this.ask();
  }

  // The question of an address; another one if there is nothing to choose.
  async take(position, roll) {
    const { table } = this;
    try {
      const facts = await table.source.position(write(position));
      const moves = facts.rolls[roll - 1]?.moves ?? [];
      if (position.turn !== "red" || moves.length < 2 || moves[0].win === null) return this.ask();
      this.show({ position, roll, facts, moves });
    } catch (error) {
      table.fail(error);
    }
    return undefined;
  }

  // Find a question in games that are played out here.
  async ask() {
    if (this.chosen !== null && performance.now() - this.answered < GUARD) return;
    const { table } = this;
    get("next").disabled = true;
    try {
      let question = null;
      for (let round = 0; round < ROUNDS && !question; round++) {
        const drawn = drawnFrom(positionsOfGame(table.rules), CANDIDATES);
        const facts = await table.source.positions(drawn.map(write));
        question = chosenFrom(facts.flatMap((answer, at) => questions(drawn[at], answer)));
      }
      if (question) this.show(question);
      else table.message(say("noQuestion"));
    } catch (error) {
      table.fail(error);
    }
    get("next").disabled = false;
  }

  show(question) {
    Object.assign(this, { question, chosen: null });
    this.render();
    if (this.table.user === this) get("answers").querySelector("button")?.focus({ preventScroll: true });
  }

  pick(place) {
    const move = this.question && this.chosen === null && this.table.moveFrom(place, this.question.moves);
    if (move) this.answer(move);
  }

  answer(move) {
    if (this.chosen !== null) return;
    this.chosen = move;
    this.answered = performance.now();
    const score = storage.setting("quiz");
    const cost = score.cost + move.loss;
    storage.set("quiz", { answers: score.answers + 1, cost, best: score.best + Number(move.loss <= TIE) });
    this.render();
    get("next").focus({ preventScroll: true });
  }

  render() {
    const { table, question, chosen } = this;
    if (table.user !== this || !question) return;
    const { position, roll, moves } = question;
    const { turn } = position;
    const open = chosen === null;
    history.replaceState(null, "", `?quiz&roll=${roll}&${link(position, table.rules).slice(1)}`);
    table.show(position, { movable: (place) => open && Boolean(table.moveFrom(place, moves)), still: true });
    table.view.mark(turn, open ? null : moves[0]);
    drawDie(get("quiz-die"), roll);
    get("question").textContent = say("question", { roll });
    const look = (move) => table.view.mark(turn, move ?? (open ? null : moves[0]));
    const options = { seat: turn, rules: table.rules, play: (move) => this.answer(move), look, hints: !open, sorted: false, chosen: chosen?.move ?? null };
    get("answers").style.setProperty("--rows", Math.max(4, table.rules.pieces));
    get("answers").replaceChildren(moveButtons(moves, options));
    if (!open) for (const button of get("answers").querySelectorAll("button")) button.setAttribute("aria-disabled", "true");
    this.renderLesson();
    const { answers, best, cost } = storage.setting("quiz");
    get("score").textContent = answers ? say("score", { answers, best, cost: few((100 * cost) / answers) }) : "";
  }

  renderLesson() {
    const { table, question, chosen } = this;
    if (chosen === null) {
      get("lesson").replaceChildren();
      return;
    }
    const name = grade(chosen.loss);
    const { exact } = question.facts;
    const values = { cost: points(chosen.loss, exact ? 2 : 1), better: moveText(question.moves[0], question.position.turn, table.rules) };
    const text = chosen.loss <= TIE ? say("quizBest") : `${say(`grade.${name}`)}: ${say("verdictBetter", values)}`;
    get("lesson").replaceChildren(part(`grade ${name}`, text, "p"));
    if (!exact) get("lesson").append(part("quiet", say("estimated"), "p"));
    const still = () => this.question === question;
    explain(table, { ...question, seat: question.position.turn }, chosen.move, (reasons) => get("lesson").append(part("why", reasons, "p")), still);
  }
}

const random = (count) => Math.floor((crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32) * count);

const drawnFrom = (all, count) => Array.from({ length: Math.min(count, all.length) }, () => all.splice(random(all.length), 1)[0]);

// The positions of a game with something to choose, the side to move being red. Both sides capture most of the time when
// they can, and otherwise often move their front piece, as many people do.
function positionsOfGame(rules) {
  const start = startingPosition(rules);
  let board = { own: start.red, other: start.black };
  const found = new Map();
  for (let ply = 0; ply < LONGEST && !winner(board, rules); ply++) {
    const roll = fairRoll();
    const moves = legalMoves(board, roll, rules);
    if (moves.length > 1) {
      const position = { red: board.own, black: board.other, turn: "red" };
      found.set(write(position), position);
    }
    const move = random(4) ? beginners(moves) : moves[random(moves.length)];
    board = after(board, move, roll, rules);
  }
  return [...found.values()];
}

// What a beginner plays, of moves in any order: a capture, the furthest if there are several, or else the front piece.
function beginners(moves) {
  const captures = moves.filter((move) => move.captures);
  return (captures.length ? captures : moves).reduce((one, other) => ((other.from ?? -1) > (one.from ?? -1) ? other : one));
}

// The rolls of a position that are worth a question: the game is open, the best move is clearly better than the next,
// but not by so much that everybody sees it.
function questions(position, facts) {
  return (facts?.rolls ?? []).flatMap(({ roll, moves }) => {
    const [best, second] = moves;
    if (!second || best.win === null || best.win > DECIDED || best.win < 1 - DECIDED) return [];
    const least = facts.exact ? LEAST : Math.max(LEAST, SURE * facts.error);
    if (second.loss < least || second.loss > MOST) return [];
    return [{ position, roll, facts, moves, plain: beginners(moves) === best }];
  });
}

// One of these by lot, mostly one that a beginner gets wrong.
function chosenFrom(found) {
  const wanted = random(4) >= TRICKY;
  const some = found.filter(({ plain }) => plain === wanted);
  const from = some.length ? some : found;
  return from.length ? from[random(from.length)] : null;
}
