// Every answer that the page shows comes through these functions, from the server that the page came from.
//
//   games()    -> [{name, rules}]: the games that can be chosen, the first by default; rules has all fields of madn.Rules
//   game(name) -> what is known of one game: {name, version, rules, positions, exact, players: [name], boards, opening};
//                 `exact` is false if some answers are estimates, `boards.start` is {board, win}, `opening` is the board that
//                 a visitor sees first
//   layout(name) -> {width, height, bottom: {path, box}, top: {path, box}}: the cell, [column, row], of every square
//   players()  -> [{name, description}]
//   source(game) -> the questions to one game (what `game` gave), each of which gives a promise:
//     position(board)  -> {board, win, winner, tries, exact, source, error, rolls: [{roll, win, moves: [Move]}], final};
//                         `final` is false if a better answer is being computed
//     positions(boards) -> the same for many boards, in their order; one that nobody knows has `rolls: null`
//     why(board, roll, chosen, {language, shift}) -> [sentence]: in what the best move differs from the chosen one, or from
//                         the second best; `shift` is added to the numbers of main squares
//     move(board, roll, player, seed) -> {move, win, loss, exact, moves: [Move]}: what a player plays
//   Move is {move, from, to, captures, win, loss, exact, board}, best first; from and to are null for the box and for a
//   lost roll, `board` is what the next player to roll sees. Boards and moves are written as everywhere in madn, in the
//   numbers of the side to move. What is unknown is null.
//
// An error is `Refused` with the status of HTTP (404: nobody knows this position) and a line for people; anything else
// that is thrown means that there was no answer at all.

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export const served = true; // by madn: there is an interface for programs

const BATCH = 250; // boards in one request
const KEPT = 4000; // answers that are remembered, some kB each

async function ask(path, parameters = {}, body = undefined) {
  const address = new URL(path, location.origin);
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
  const post = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(address, body && post);
  const found = await answer.json();
  if (!answer.ok) throw new Refused(answer.status, found.message);
  return [found, answer.headers.get("cache-control") !== "no-store"];
}

const first = async (question) => (await question)[0];

export const games = async () => (await first(ask("/api/games"))).games;
export const game = (name) => first(ask("/api/game", { db: name }));
export const layout = (name) => first(ask("/api/layout", { db: name }));
export const players = async () => (await first(ask("/api/players"))).players;

export function source({ name, version, rules }) {
  const which = { db: name, version };
  const known = new Map(); // final answers
  const keep = (board, answer) => {
    if (known.size >= KEPT) known.clear();
    if (answer.final) known.set(board, answer);
    return answer;
  };
  return {
    async position(board) {
      if (known.has(board)) return known.get(board);
      const [answer, final] = await ask("/api/position", { board, ...which });
      return keep(board, { ...answer, final });
    },

    async positions(boards) {
      const missing = [...new Set(boards)].filter((board) => !known.has(board));
      const found = new Map();
      for (let at = 0; at < missing.length; at += BATCH) {
        const [{ positions }] = await ask("/api/positions", which, { boards: missing.slice(at, at + BATCH) });
        // a batch does not say whether something is being solved; an estimate is asked again where it is shown alone
        for (const answer of positions) found.set(answer.board, keep(answer.board, { ...answer, final: answer.exact && answer.rolls !== null }));
      }
      return boards.map((board) => known.get(board) ?? found.get(board));
    },

    async why(board, roll, chosen, how) {
      const { pageSentences } = await import("./why.js"); // the first view does without it
      return pageSentences(await this.position(board), roll, rules, chosen, how);
    },

    move: (board, roll, player, seed) => first(ask("/api/move", { board, roll, player, seed, ...which })),
  };
}
