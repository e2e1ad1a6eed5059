// The view that asks "what would you play?": a position by lot in which something is at stake, graded by what it costs.

import { drawDie, fairRoll } from "./dice.js";
import { explain } from "./explain.js";
import { grade, TIE } from "./judge.js";
import { moveButtons, moveText, part } from "./moves.js";
import { checked, rulesText, winnerOf, write } from "./position.js";
import * as storage from "./storage.js";
import { get } from "./table.js";
import { few, points, say } from "./words.js";

const CANDIDATES = 24; // positions that are drawn to find a good one
const ROUNDS = 6;
const [LEAST, MOST] = [0.01, 0.25]; // what the second best move may cost in a question
const GUARD = 500; // milliseconds in which a second click does not mean the next question

export class View {
  constructor(table) {
    this.table = table;
    this.question = null; // {position, roll, facts, moves}
    this.chosen = null;
    get("next").addEventListener("click", () => this.ask());
    get("quiz-analyse").addEventListener("click", () => this.question && table.open("explore", { position: this.question.position }));
  }

  enter() {
    history.replaceState(null, "", `?quiz&rules=${rulesText(this.table.rules)}`);
    if (this.question) this.render();
    else this.ask();
  }

  // Find a question: many positions by lot, and one of them in which the choice matters but is not plain to see.
  async ask() {
    if (this.chosen !== null && performance.now() - this.answered < GUARD) return;
    const { table } = this;
    get("next").disabled = true;
    try {
      for (let round = 0; round < ROUNDS; round++) {
        const drawn = Array.from({ length: CANDIDATES }, () => lot(table.rules)).filter(Boolean);
        const facts = await table.source.positions(drawn.map(write));
        const good = facts.flatMap((answer, at) =>
          (answer?.rolls ?? []).flatMap(({ roll, moves }) => {
            const loss = moves[1]?.loss ?? null;
            return loss !== null && loss >= LEAST && loss <= MOST ? [{ position: drawn[at], roll, facts: answer, moves }] : [];
          }),
        );
        if (!good.length) continue;
        this.question = good[random(good.length)];
        this.chosen = null;
        break;
      }
      if (!this.question) table.message(say("noQuestion"));
    } catch (error) {
      table.fail(error);
    }
    get("next").disabled = false;
    this.render();
    get("answers").querySelector("button")?.focus({ preventScroll: true });
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
    table.show(position, { movable: (place) => open && Boolean(table.moveFrom(place, moves)), still: true });
    table.view.mark(turn, open ? null : moves[0]);
    drawDie(get("quiz-die"), roll);
    get("question").textContent = say("question", { roll });
    const look = (move) => table.view.mark(turn, move ?? (open ? null : moves[0]));
    const options = { seat: turn, rules: table.rules, play: (move) => this.answer(move), look, hints: !open, chosen: chosen?.move ?? null };
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
    const found = { played: chosen, best: question.moves[0] };
    const still = () => this.question === question;
    explain(table, { ...question, seat: question.position.turn }, found, (reasons) => get("lesson").append(part("why", reasons, "p")), still);
  }
}

const random = (count) => Math.floor((crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32) * count);

// A position by lot, red to move: pieces in the box, at home and on the way, as they are in the middle of a game.
function lot(rules) {
  const side = () => {
    const squares = new Set();
    for (let piece = 0; piece < rules.pieces; piece++) {
      const die = fairRoll();
      if (die === 1) squares.add(rules.squares + random(rules.pieces));
      else if (die > 2) squares.add(random(rules.squares));
    }
    return [...squares];
  };
  try {
    const position = checked({ red: side(), black: side(), turn: "red" }, rules);
    return winnerOf(position, rules) ? null : position;
  } catch {
    return null; // two pieces on one square
  }
}
