// Red's winning probability over a game: above the line it is red's game, below it black's.

import { svg } from "./svg.js";
import { chance, percent, say } from "./words.js";

const [LEFT, RIGHT, TOP, BOTTOM] = [44, 392, 10, 150];

// `wins` before each ply and now; `marks` are {at, name}: dots with a class; `at` is the ply that is shown, if one is.
export function drawGraph(element, wins, { exact = true, marks = [], at = null } = {}) {
  const step = (RIGHT - LEFT) / Math.max(wins.length - 1, 10);
  const y = (win) => BOTTOM - win * (BOTTOM - TOP);
  const x = (ply) => LEFT + ply * step;
  element.replaceChildren(svg("rect", { class: "back", x: LEFT, y: TOP, width: RIGHT - LEFT, height: BOTTOM - TOP }));
  for (const win of [0, 0.25, 0.5, 0.75, 1]) {
    element.append(svg("line", { class: win === 0.5 ? "axis half" : "axis", x1: LEFT, x2: RIGHT, y1: y(win), y2: y(win) }));
    if (win % 0.5 === 0) element.append(svg("text", { x: LEFT - 6, y: y(win) + 4 }, percent(win, 0)));
  }
  const known = wins.map((win, ply) => [win, ply]).filter(([win]) => win !== null);
  if (!known.length) return;
  const points = known.map(([win, ply]) => `${x(ply).toFixed(1)},${y(win).toFixed(1)}`);
  const [[, begin], [last, end]] = [known[0], known.at(-1)];
  const area = `${x(begin)},${BOTTOM} ${points.join(" ")} ${x(end)},${BOTTOM}`;
  element.append(svg("polygon", { class: "area", points: area }), svg("polyline", { class: "curve", points: points.join(" ") }));
  for (const { at: ply, name } of marks) {
    if (wins[ply] !== null) element.append(svg("circle", { class: `dot ${name}`, cx: x(ply), cy: y(wins[ply]), r: 4 }));
  }
  const here = at ?? end;
  if (at !== null) element.append(svg("line", { class: "cursor", x1: x(at), x2: x(at), y1: TOP, y2: BOTTOM }));
  if (wins[here] !== null) element.append(svg("circle", { class: "now", cx: x(here), cy: y(wins[here]), r: 5 }));
  element.setAttribute("aria-label", say("graphOf", { win: chance(wins[here] ?? last, exact) }));
}

// The ply that a click on the graph means.
export function plyAt(element, event, count) {
  const { x } = new DOMPoint(event.clientX, event.clientY).matrixTransform(element.getScreenCTM().inverse());
  const step = (RIGHT - LEFT) / Math.max(count - 1, 10);
  return Math.min(Math.max(Math.round((x - LEFT) / step), 0), count - 1);
}
