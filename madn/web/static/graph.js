// The winning probability of red over a game.

import { svg } from "./svg.js";
import { chance, percent, say } from "./words.js";

const [LEFT, RIGHT, TOP, BOTTOM] = [44, 392, 10, 150];

// `exact` is false if the last number is an estimate.
export function drawGraph(element, wins, exact) {
  const known = wins.filter((win) => win !== null);
  const step = (RIGHT - LEFT) / Math.max(wins.length - 1, 10);
  const y = (win) => BOTTOM - win * (BOTTOM - TOP);
  const x = (at) => LEFT + at * step;
  element.replaceChildren();
  for (const win of [0, 0.25, 0.5, 0.75, 1]) {
    element.append(
      svg("line", { class: win === 0.5 ? "axis half" : "axis", x1: LEFT, x2: RIGHT, y1: y(win), y2: y(win) }),
    );
    if (win % 0.5 === 0) element.append(svg("text", { x: LEFT - 6, y: y(win) + 4 }, percent(win, 0)));
  }
  if (!known.length) return;
  const points = wins.map((win, at) => `${x(at).toFixed(1)},${y(win).toFixed(1)}`);
  const area = `${x(0)},${BOTTOM} ${points.join(" ")} ${x(wins.length - 1)},${BOTTOM}`;
  element.append(svg("polygon", { class: "area", points: area }), svg("polyline", { class: "curve", points: points.join(" ") }));
  const last = wins.length - 1;
  element.append(svg("circle", { class: "now", cx: x(last), cy: y(wins[last]), r: 4.5 }));
  element.setAttribute("aria-label", say("graphOf", { win: chance(wins[last], exact) }));
}
