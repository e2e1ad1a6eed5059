// The answers of a page without a server: the same functions as the api.js of `madn serve`, which says what each gives.
//
// Numbers come from a database if the page has one for the game (games.json), from endgames that are solved here, or from
// the estimator. Endgames are solved by a worker, one at a time; until one is, an estimate takes its place, and is not final.
// The first view does without all this: games.json has its answer, and modules are loaded when they are needed.

import { after, legalMoves, readBoard, ROLLS, rollsAgain, triesOf, winner, writeBoard, writeMove } from "./rules.js";

export const served = false; // by madn: there is no interface for programs

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const KEPT = 4000; // answers that are remembered, some kB each
const PATIENCE = 3000; // milliseconds that many positions together wait for endgames to be solved
const here = (name) => new URL(name, import.meta.url);

async function fetched(name) {
  const answer = await fetch(here(name));
  if (!answer.ok) throw new Error(`${name}: HTTP ${answer.status}`);
  return answer;
}

const once = (compute) => {
  let found = null;
  return () => (found ??= compute().catch((error) => {
    found = null;
    throw error;
  }));
};
const facts = once(async () => (await fetched("games.json")).json());
const model = (pieces) => once(async () => {
  const name = `estimator-${pieces}.madn`;
  const { readModel } = await import("./estimator.js");
  return readModel(new Uint8Array(await (await fetched(name)).arrayBuffer()), name);
});
const models = new Map();
const modelOf = (pieces) => {
  if (!models.has(pieces)) models.set(pieces, model(pieces));
  return models.get(pieces)();
};

export const games = async () => (await facts()).games.map(({ name, rules }) => ({ name, rules }));

export const players = async () => (await facts()).players.map(({ name, description }) => ({ name, description }));

export async function game(name) {
  const found = (await facts()).games.find((one) => one.name === name);
  if (!found) throw new Refused(404, `there is no game ${name} here`);
  return found;
}

export async function layout(name) {
  const { rules } = await game(name);
  return (await facts()).layouts[`${rules.pieces},${rules.squares}`];
}

// Sends endgames to the worker, one at a time.
class Solver {
  constructor() {
    this.waiting = new Map(); // number of a task: what to do with the answer
    this.last = Promise.resolve();
    this.number = 0;
  }

  solve(rules, zones) {
    const task = this.last.then(() => this.ask(rules, zones));
    this.last = task.catch(() => undefined);
    return task;
  }

  ask(rules, zones) {
    if (!this.worker) {
      this.worker = new Worker(here("worker.js"), { type: "module" });
      this.worker.addEventListener("message", ({ data: { number, values, error } }) => {
        const { resolve, reject } = this.waiting.get(number);
        this.waiting.delete(number);
        if (values) resolve(values);
        else reject(new Error(error));
      });
      this.worker.addEventListener("error", () => {
        for (const { reject } of this.waiting.values()) reject(new Error("the worker cannot be started"));
        this.waiting.clear();
      });
    }
    const number = ++this.number;
    return new Promise((resolve, reject) => {
      this.waiting.set(number, { resolve, reject });
      this.worker.postMessage({ number, rules, zones });
    });
  }
}

const solver = new Solver();

// Who answers for one game. `parts` is the module endgames.js.
class Advisor {
  constructor(game, parts) {
    this.rules = game.rules;
    this.parts = parts;
    this.endgames = new parts.Endgames(game.rules);
    this.solving = new Map(); // zones: promise
    this.small = new Map(); // zones: whether they can be solved here
    this.database = game.database && once(async () => (await import("./database.js")).openDatabase(here(game.database)));
    this.estimator = game.estimated && once(async () => {
      const { Estimator } = await import("./estimator.js");
      return new Estimator(await modelOf(game.rules.pieces), game.rules);
    });
  }

  // { win(board), exact, source, error, tie, final } for a board and all that can come after it; null if nobody knows. For
  // a database of best moves `movers` in place of `win`: the square of the piece that the best move of each roll moves.
  async values(board, deadline) {
    const database = this.database && (await this.database());
    if (database && (await database.row(database.ranking.rank(board))) !== null) {
      const known = { exact: true, source: "database", error: database.error, final: true };
      if (database.onlyMoves) return { ...known, movers: await database.movers(board) };
      return { ...known, win: (one) => database.win(one), tie: database.tie };
    }
    const { zonesOf, ERROR, TIE } = this.parts;
    const zones = zonesOf(board, this.rules);
    const wait = this.estimator ? deadline - Date.now() : Infinity;
    if (this.solvable(zones) && !this.endgames.knows(zones) && (wait > 0 || !this.solving.size)) {
      const solved = this.solve(zones).catch(() => undefined);
      if (wait > 0) await (wait < Infinity ? Promise.race([solved, new Promise((resolve) => setTimeout(resolve, wait))]) : solved);
    }
    if (this.endgames.knows(zones)) {
      return { win: (one) => this.endgames.win(one), exact: true, source: "solved", error: ERROR, tie: TIE, final: true };
    }
    const estimator = this.estimator && (await this.estimator());
    if (!estimator) return null;
    return { win: (one) => estimator.win(one), exact: false, source: "estimate", error: estimator.error, tie: 0, final: !this.solvable(zones) };
  }

  solvable(zones) {
    const key = zones.join();
    if (!this.small.has(key)) this.small.set(key, this.parts.sizeOf(zones, this.rules) <= this.parts.MOST_POSITIONS);
    return this.small.get(key);
  }

  solve(zones) {
    const key = zones.join();
    if (!this.solving.has(key)) {
      const task = solver.solve(this.rules, zones).then(
        (values) => this.endgames.take(values),
        (error) => {
          this.small.set(key, false);
          throw error;
        },
      );
      task.catch(() => undefined);
      this.solving.set(key, task.finally(() => this.solving.delete(key)));
      this.solving.get(key).catch(() => undefined);
    }
    return this.solving.get(key);
  }

  // An answer; an endgame that is not solved yet is waited for until the deadline.
  async position(text, deadline) {
    const board = readBoard(text);
    const won = winner(board, this.rules);
    if (won) return { board: text, win: Number(won === "own"), winner: won, tries: 1, exact: true, source: "solved", error: 0, rolls: [], final: true };
    const values = await this.values(board, deadline);
    if (!values) throw new Refused(404, "this position is not in the database, and there is no estimator for the game");
    const { exact, source, error, final } = values;
    const rolls = await Promise.all(ROLLS.map(async (roll) => {
      const moves = await this.moves(board, roll, values);
      return { roll, win: moves[0].win, moves };
    }));
    const win = values.win ? await values.win(board) : null;
    return { board: text, win, winner: null, tries: triesOf(board, this.rules), exact, source, error, rolls, final };
  }

  // All legal moves, best first: of those within the tie of the largest value the one that starts on the highest square.
  // Where only best moves are stored, the others follow by descending start.
  async moves(board, roll, { win, movers, exact, tie }) {
    const found = await Promise.all(legalMoves(board, roll, this.rules).map(async (move) => {
      const next = after(board, move, roll, this.rules);
      const over = winner(next, this.rules);
      const { from, to, captures } = move;
      const written = { move: writeMove(move), from, to, captures, win: null, exact: exact || over !== null, board: writeBoard(next) };
      if (!win) return { ...written, loss: null };
      const value = over ? Number(over === "own") : await win(next);
      if (value === null) throw new Refused(404, "what comes after this position is not in the database");
      return { ...written, win: rollsAgain(roll) ? value : 1 - value };
    }));
    if (!win) {
      const first = found.find((move) => found.length === 1 || move.from === movers[roll - 1]);
      if (!first) throw new Error(`there is no best move for a ${roll}: the database is damaged`);
      return [first, ...found.filter((move) => move !== first).reverse()];
    }
    const most = Math.max(...found.map((move) => move.win));
    const best = found.findLast((move) => most - move.win <= tie);
    const others = found.filter((move) => move !== best).reverse().sort((a, b) => b.win - a.win);
    return [best, ...others].map((move) => ({ ...move, loss: Math.max(best.win - move.win, 0) }));
  }
}

export function source(found) {
  const { rules } = found;
  const advised = once(async () => new Advisor(found, await import("./endgames.js")));
  const known = new Map(); // final answers
  if (found.first) known.set(found.first.board, { ...found.first, final: true });
  const position = async (board, deadline = 0) => {
    if (known.has(board)) return known.get(board);
    const answer = await (await advised()).position(board, deadline);
    if (known.size >= KEPT) known.clear();
    if (answer.final) known.set(board, answer);
    return answer;
  };
  return {
    position: (board) => position(board),

    async positions(boards) {
      const answers = [];
      const deadline = Date.now() + PATIENCE;
      for (const board of boards) {
        try {
          answers.push(await position(board, deadline));
        } catch (error) {
          if (!(error instanceof Refused)) throw error;
          answers.push({ board, win: null, winner: null, tries: triesOf(readBoard(board), rules), exact: true, source: "database", error: null, rolls: null, final: true });
        }
      }
      return answers;
    },

    async why(board, roll, chosen, how) {
      const { pageSentences } = await import("./why.js");
      return pageSentences(await position(board), roll, rules, chosen, how);
    },

    async move(text, roll, player, seed) {
      const answer = await position(text);
      if (answer.winner) throw new Refused(400, `board '${text}': the game is over: there are no moves`);
      const { moves } = answer.rolls[roll - 1];
      const { exact, error } = answer;
      const chooser = (await facts()).players.find(({ name }) => name === player);
      if (!chooser) throw new Refused(400, `there is no player ${player}`);
      const advisor = await advised();
      let chosen = moves[0];
      if (chooser.estimates && answer.exact) {
        const estimator = await advisor.estimator();
        [chosen] = await advisor.moves(readBoard(text), roll, { win: (board) => estimator.win(board), exact: false, tie: 0 });
      } else if (chooser.rules) {
        const { choices, lot } = await import("./players.js");
        const board = readBoard(text);
        const left = choices(chooser, board, legalMoves(board, roll, rules), rules);
        chosen = left[Math.floor(lot(seed, `${text} ${roll}`) * left.length)];
      }
      const { move, win, loss } = moves.find((one) => one.move === (chosen.move ?? writeMove(chosen)));
      return { board: text, roll, player, seed, move, win, loss, exact, source: answer.source, error, moves };
    },
  };
}
