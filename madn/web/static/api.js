// Questions to the server. Answers that carry the version of the database never change, so the browser keeps them.

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function ask(path, parameters = {}) {
  const address = new URL(path, location.origin);
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
  const answer = await fetch(address);
  const found = await answer.json();
  if (!answer.ok) throw new Refused(answer.status, found.message);
  found.final = answer.headers.get("cache-control") !== "no-store"; // otherwise a better answer is being computed
  return found;
}

export const databases = async () => (await ask("/api/databases")).databases;
export const players = async () => (await ask("/api/players")).players;

// The questions to one database.
export function source({ name, version }) {
  const which = { db: name, version };
  return {
    layout: () => ask("/api/layout", which),
    position: (board) => ask("/api/position", { board, ...which }),
    move: (board, roll, player, seed) => ask("/api/move", { board, roll, player, seed, ...which }),
  };
}
