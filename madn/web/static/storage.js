// What the browser keeps: settings, and games with the roll that has fallen. A browser may refuse, or be full: then the
// page goes on without, and `trouble` says so.

import { rulesText, VERSION } from "./position.js";

const SETTINGS = "madn.settings";
const GAMES = "madn.games";
const TAB = "madn.tab"; // the game of this tab
const MOST = 40; // games that are kept

export let trouble = false;

function load(key, otherwise, place = () => localStorage) {
  try {
    return JSON.parse(place().getItem(key)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

function save(key, value, place = () => localStorage) {
  try {
    place().setItem(key, JSON.stringify(value));
    trouble = false;
  } catch {
    trouble = true;
  }
  return !trouble;
}

const settings = { hints: true, numbers: true, sound: false, quiz: { answers: 0, cost: 0, best: 0 }, ...load(SETTINGS, {}) };
export const setting = (name) => settings[name];
export function set(name, value) {
  settings[name] = value;
  save(SETTINGS, settings);
}

// The games, latest first: {id, code, roll, done, when}.
export function games() {
  const found = load(GAMES, []);
  return Array.isArray(found) ? found.filter((game) => typeof game?.id === "string" && typeof game.code === "string") : [];
}

// The game that this tab goes on with: its own, or else the latest that is not over; with `rules` only one of these. One
// of a newer version stays where it is.
export function current(rules = null) {
  const own = load(TAB, null, () => sessionStorage);
  const begin = rules ? `${VERSION}~${rulesText(rules)}~` : `${VERSION}~`;
  const open = games().filter((game) => !game.done && game.code.startsWith(begin));
  return open.find((game) => game.id === own) ?? open[0] ?? null;
}

export function keep(game) {
  const others = games().filter(({ id }) => id !== game.id);
  const list = [{ ...game, when: Date.now() }, ...others];
  while (list.length > MOST) list.splice(list.findLastIndex(({ done }, at) => done || at === list.length - 1), 1);
  save(TAB, game.id, () => sessionStorage);
  return save(GAMES, list); // if there is no room, the others stay
}
