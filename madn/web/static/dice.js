// A die: how it is drawn, how it falls.

import * as sound from "./sound.js";
import { svg } from "./svg.js";
import { say } from "./words.js";

const PIPS = {
  1: [[0, 0]],
  2: [[-1, -1], [1, 1]],
  3: [[-1, -1], [0, 0], [1, 1]],
  4: [[-1, -1], [1, -1], [-1, 1], [1, 1]],
  5: [[-1, -1], [1, -1], [0, 0], [-1, 1], [1, 1]],
  6: [[-1, -1], [1, -1], [-1, 0], [1, 0], [-1, 1], [1, 1]],
};

export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
export const pause = (time) => new Promise((done) => setTimeout(done, time));

// A fair roll: random bytes, and those that would favour some faces are thrown away.
export function fairRoll() {
  for (;;) {
    const [byte] = crypto.getRandomValues(new Uint8Array(1));
    if (byte < 252) return (byte % 6) + 1;
  }
}

export function drawDie(element, face) {
  element.replaceChildren(svg("rect", { class: "face", x: -42, y: -42, width: 84, height: 84, rx: 18 }));
  for (const [x, y] of PIPS[face] ?? []) {
    element.append(svg("circle", { class: "pip", cx: x * 23, cy: y * 23, r: 8.5 }));
  }
  element.setAttribute("aria-label", face ? say("die", { roll: face }) : say("noDie"));
}

export function smallDie(face) {
  const element = svg("svg", { class: "small-die", viewBox: "-50 -50 100 100", role: "img" });
  drawDie(element, face);
  return element;
}

// Let the die tumble and come to rest on a face.
export async function tumble(element, face) {
  sound.rattle();
  if (!calm()) {
    element.classList.add("tumbling");
    for (let i = 0; i < 8; i++) {
      drawDie(element, fairRoll());
      await pause(40 + 8 * i);
    }
    element.classList.remove("tumbling");
  }
  drawDie(element, face);
}
