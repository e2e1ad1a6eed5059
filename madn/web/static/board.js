// The board as a picture that can be used: by mouse, by finger, by keyboard.

import { calm, pause } from "./dice.js";
import { boxed, opponent, opposite, SEATS, shown } from "./position.js";
import * as sound from "./sound.js";
import { svg } from "./svg.js";
import { say } from "./words.js";

const CELL = 44;
const DISC = 18;
const HOP = 130; // milliseconds for a square
const FLIGHT = 600; // and for a captured piece on its way back
const centre = ([x, y]) => [(x + 1) * CELL, (y + 1) * CELL];

export class BoardView {
  // `pick(place)` is called for a click or Enter on a place, `drop(from, to)` for a drag; `may(place)` says
  // whether a drag can begin there.
  constructor(element, layout, rules, { pick, drop, may }) {
    this.element = element;
    this.layout = layout;
    this.rules = rules;
    this.decorated = layout.width === layout.height && rules.squares === 40;
    this.places = this.findPlaces();
    this.pieces = { red: [], black: [] };
    this.build();
    this.listen(pick, drop, may);
  }

  // Every place a piece can stand: main squares, finish squares, and the places of the boxes.
  findPlaces() {
    const { squares, pieces } = this.rules;
    const { bottom, top } = this.layout;
    const places = [];
    for (let n = 0; n < squares; n++) {
      places.push({ kind: "main", red: n, black: opposite(n, this.rules), at: centre(bottom.path[n]) });
    }
    for (const [seat, side] of [["red", bottom], ["black", top]]) {
      for (let n = squares; n < squares + pieces; n++) {
        places.push({ kind: "finish", seat, [seat]: n, at: centre(side.path[n]) });
      }
      side.box.forEach((cell, n) => places.push({ kind: "box", seat, n, at: centre(cell) }));
    }
    return places;
  }

  placeOf(seat, square) {
    if (square === null) return this.places.find((place) => place.kind === "box" && place.seat === seat);
    return this.places.find((place) => place[seat] === square && place.kind !== "box");
  }

  build() {
    const { width, height, bottom, top } = this.layout;
    const [w, h] = [(width + 1) * CELL, (height + 1) * CELL];
    this.element.setAttribute("viewBox", `-8 -8 ${w + 16} ${h + 16}`);
    this.element.replaceChildren(
      svg("rect", { class: "frame", x: -8, y: -8, width: w + 16, height: h + 16, rx: 22 }),
      svg("rect", { class: "ground", x: 4, y: 4, width: w - 8, height: h - 8, rx: 14 }),
      ...this.decoration(),
      this.line("track", [...bottom.path.slice(0, this.rules.squares), bottom.path[0]]),
    );
    for (const [seat, side] of [["red", bottom], ["black", top]]) this.element.append(this.home(seat, side.box));
    for (const place of this.places) this.element.append(this.draw(place));
    this.marks = svg("g", { class: "marks", "aria-hidden": "true" });
    this.figures = svg("g", { "aria-hidden": "true" });
    const numbers = svg("g", { class: "numbers", "aria-hidden": "true" }, ...this.places.map((place) => place.label));
    this.element.append(this.marks, numbers, this.figures);
    this.focused = this.placeOf("red", 0);
    this.focused.element.setAttribute("tabindex", "0");
  }

  // The two sides that a game of two leaves empty, on a board that has room for them.
  decoration() {
    const { width, bottom } = this.layout;
    if (!this.decorated) return [];
    const turned = (times) => ([x, y]) => {
      for (let i = 0; i < times; i++) [x, y] = [width - 1 - y, x];
      return [x, y];
    };
    return ["yellow", "green"].map((colour, i) => {
      const turn = turned(2 * i + 1);
      const cells = [bottom.path[0], ...bottom.path.slice(this.rules.squares), ...bottom.box].map(turn);
      const group = svg("g", { class: `idle ${colour}`, "aria-hidden": "true" });
      group.append(this.home(colour, bottom.box.map(turn)));
      for (const cell of cells) {
        const [cx, cy] = centre(cell);
        group.append(svg("circle", { cx, cy, r: DISC }));
      }
      return group;
    });
  }

  // The colour of an A-square of the sides that do not play.
  idle(place) {
    if (place.kind !== "main" || !this.decorated) return undefined;
    return { [this.rules.squares / 4]: "yellow", [(3 * this.rules.squares) / 4]: "green" }[place.red];
  }

  line(name, cells) {
    const points = cells.map((cell) => centre(cell).join(",")).join(" ");
    return svg("polyline", { class: name, points });
  }

  home(seat, cells) {
    const xs = cells.map((cell) => centre(cell)[0]);
    const ys = cells.map((cell) => centre(cell)[1]);
    const [x, y] = [Math.min(...xs) - 26, Math.min(...ys) - 26];
    const [width, height] = [Math.max(...xs) - x + 26, Math.max(...ys) - y + 26];
    return svg("rect", { class: `home ${seat}`, x, y, width, height, rx: 24 });
  }

  draw(place) {
    const [cx, cy] = place.at;
    const start = SEATS.find((seat) => place.kind === "main" && place[seat] === 0);
    const colour = place.seat ?? start ?? this.idle(place) ?? "";
    const group = svg("g", { class: `place ${place.kind} ${colour}`, role: "button", tabindex: "-1" });
    group.append(svg("circle", { class: "disc", cx, cy, r: DISC }));
    if (start) group.append(svg("text", { class: "letter", x: cx, y: cy + 6 }, "A"));
    place.label = svg("text", { class: `number ${place.kind} ${colour}`, x: cx, y: cy + 5 }, this.number(place));
    group.append(svg("circle", { class: "ring", cx, cy, r: DISC + 3 }));
    place.element = group;
    return group;
  }

  // What is written on a place: its number from red's seat, the same for everybody at any time.
  number(place) {
    if (place.kind === "box") return "";
    return String(shown(place.seat ?? "red", place[place.seat ?? "red"], this.rules));
  }

  // A move of a seat, square by square, and the way of what it captures. `show` says where everything is afterwards.
  async play(seat, move) {
    this.mark(seat, null);
    if (calm() || move.to === null) return;
    const from = this.start(seat, move);
    const piece = this.pieces[seat].find((found) => found.place === from);
    const way = move.from === null ? [move.to] : Array.from({ length: move.to - move.from }, (_, at) => move.from + at + 1);
    this.figures.append(piece.element); // above the others while it moves
    let [x, y] = from.at;
    for (const square of way) {
      const [nextX, nextY] = this.placeOf(seat, square).at;
      const high = [(x + nextX) / 2, (y + nextY) / 2 - 16];
      sound.hop();
      await glide(piece.element, [[x, y], high, [nextX, nextY]], move.from === null ? 2 * HOP : HOP);
      [x, y] = [nextX, nextY];
    }
    if (move.to >= this.rules.squares) sound.home();
    const other = opponent(seat);
    const hit = move.captures && this.pieces[other].find((found) => found.place === this.placeOf(seat, move.to));
    if (!hit) return;
    sound.capture();
    this.figures.append(hit.element);
    const boxes = this.places.filter((place) => place.kind === "box" && place.seat === other);
    const [endX, endY] = boxes[boxed(this.position, other, this.rules)].at;
    this.element.classList.add("hit");
    await glide(hit.element, [[x, y], [(x + endX) / 2, Math.min(y, endY) - 60], [endX, endY]], FLIGHT, 720);
    this.element.classList.remove("hit");
  }

  // Show a position. Pieces that moved glide to where they are now, with `still` at once.
  show(position, { selected = null, targets = [], numbers = true, movable = () => false, still = false } = {}) {
    this.position = position;
    this.element.classList.toggle("still", still);
    for (const seat of SEATS) this.arrange(seat, position);
    this.element.classList.toggle("numbered", numbers);
    for (const place of this.places) {
      const seat = this.holder(place);
      const classes = place.element.classList;
      classes.toggle("held", Boolean(seat));
      classes.toggle("selected", place === selected);
      classes.toggle("target", targets.includes(place));
      classes.toggle("movable", Boolean(seat) && movable(place));
      place.element.setAttribute("aria-label", this.name(place, seat));
      place.element.setAttribute("aria-pressed", String(place === selected));
      const [x, y] = place.at;
      place.label.setAttribute("x", seat ? x + CELL / 2 : x); // beside the piece
      place.label.setAttribute("y", seat ? y + CELL / 2 + 4 : y + 5);
      place.label.classList.toggle("beside", Boolean(seat));
    }
  }

  // The seat whose piece stands on a place.
  holder(place) {
    if (place.kind === "box") return place.n < boxed(this.position, place.seat, this.rules) ? place.seat : null;
    return SEATS.find((seat) => place[seat] !== undefined && this.position[seat].includes(place[seat])) ?? null;
  }

  // A place in words, without what stands on it.
  spot(place) {
    if (place.kind === "main") return say("placeMain", { number: place.red });
    const side = say(place.seat);
    if (place.kind === "finish") return say("placeFinish", { side, number: place[place.seat] });
    return say("placeBox", { side, number: place.n + 1, pieces: this.rules.pieces });
  }

  name(place, seat) {
    return say(seat ? "squareHeld" : "squareEmpty", { place: this.spot(place), side: seat && say(seat) });
  }

  arrange(seat, position) {
    const boxes = this.places.filter((place) => place.kind === "box" && place.seat === seat);
    const wanted = [
      ...position[seat].map((square) => this.placeOf(seat, square)),
      ...boxes.slice(0, boxed(position, seat, this.rules)),
    ];
    if (!this.pieces[seat].length) {
      this.pieces[seat] = wanted.map((place) => ({ place, element: pawn(seat) }));
      for (const { place, element } of this.pieces[seat]) put(element, place.at); // they are there from the beginning
      this.figures.append(...this.pieces[seat].map((piece) => piece.element));
    }
    const moving = this.pieces[seat].filter((piece) => !wanted.includes(piece.place));
    const free = wanted.filter((place) => !this.pieces[seat].some((piece) => piece.place === place));
    for (const piece of moving) {
      piece.place = free.shift();
      this.figures.append(piece.element); // above the others while it moves
    }
    for (const piece of this.pieces[seat]) {
      for (const flown of piece.element.getAnimations().filter((found) => !("transitionProperty" in found))) flown.cancel();
      put(piece.element, piece.place.at);
    }
  }

  // The place that a move of a seat begins on; a box empties from its last place.
  start(seat, move, gone = 0) {
    if (move.from !== null) return this.placeOf(seat, move.from);
    const boxes = this.places.filter((place) => place.kind === "box" && place.seat === seat);
    return boxes[Math.max(boxed(this.position, seat, this.rules) - 1 + gone, 0)];
  }

  // Mark a move of a seat: where it begins and where it ends. With `done` it has been made, and is marked lightly.
  mark(seat, move, done = false) {
    this.marks.replaceChildren();
    this.marks.classList.toggle("done", done);
    if (!move || move.to === null) return;
    const start = this.start(seat, move, Number(done));
    const end = this.placeOf(seat, move.to);
    const [[x1, y1], [x2, y2]] = [start.at, end.at];
    const length = Math.hypot(x2 - x1, y2 - y1);
    const short = (length - DISC - 4) / length;
    this.marks.append(
      svg("circle", { class: "from", cx: x1, cy: y1, r: DISC + 3 }),
      svg("line", { class: "way", x1, y1, x2: x1 + (x2 - x1) * short, y2: y1 + (y2 - y1) * short }),
      svg("circle", { class: move.captures ? "to hit" : "to", cx: x2, cy: y2, r: DISC + 3 }),
    );
  }

  // A box empties from its last place: the piece that leaves changes places with the one there.
  takeLast(piece) {
    const others = this.pieces[piece.place.seat].filter((other) => other.place.kind === "box");
    const last = others.reduce((best, other) => (other.place.n > best.place.n ? other : best));
    [piece.place, last.place] = [last.place, piece.place];
  }

  // The place nearest to a point of the screen, if one is near.
  nearest(event) {
    const matrix = this.element.getScreenCTM().inverse();
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix);
    const far = (place) => Math.hypot(place.at[0] - x, place.at[1] - y);
    const place = this.places.reduce((best, other) => (far(other) < far(best) ? other : best));
    return { place: far(place) < CELL * 0.7 ? place : null, x, y };
  }

  listen(pick, drop, may) {
    let held = null;
    this.element.addEventListener("pointerdown", (event) => {
      const { place } = this.nearest(event);
      if (!place || event.button !== 0) return;
      held = { place, id: event.pointerId, x: event.clientX, y: event.clientY, piece: null };
      const seat = this.holder(place);
      if (seat && may(place)) held.piece = this.pieces[seat].find((piece) => piece.place === place);
    });
    this.element.addEventListener("pointermove", (event) => {
      if (!held?.piece || event.pointerId !== held.id) return;
      if (!held.drags && Math.hypot(event.clientX - held.x, event.clientY - held.y) < 6) return;
      if (!held.drags) {
        held.drags = true;
        this.element.setPointerCapture(held.id);
        held.piece.element.classList.add("dragged");
        this.figures.append(held.piece.element);
      }
      const { x, y } = this.nearest(event);
      put(held.piece.element, [x, y - 4]);
    });
    const release = (event) => {
      if (!held || event.pointerId !== held.id) return;
      const { place, drags, piece } = held;
      held = null;
      piece?.element.classList.remove("dragged");
      const target = this.nearest(event).place;
      if (!drags && event.type === "pointerup" && target === place) {
        this.focus(place, false);
        pick(place);
      } else if (drags) {
        if (event.type === "pointerup" && target && target !== place) {
          if (place.kind === "box") this.takeLast(piece);
          drop(place, target);
        }
        put(piece.element, piece.place.at);
      }
    };
    this.element.addEventListener("pointerup", release);
    this.element.addEventListener("pointercancel", release);
    this.element.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (steps) this.step(...steps);
      else if (event.key === "Enter" || event.key === " ") pick(this.focused);
      else if (event.key === "Escape") pick(null);
      else return;
      event.preventDefault();
    });
    this.element.addEventListener("focusin", (event) => {
      const place = this.places.find((found) => found.element === event.target);
      if (place) this.focus(place, false);
    });
  }

  // The next place in a direction: near, and more ahead than aside.
  step(dx, dy) {
    const [x, y] = this.focused.at;
    const cost = (place) => {
      const ahead = (place.at[0] - x) * dx + (place.at[1] - y) * dy;
      const aside = Math.abs((place.at[0] - x) * dy) + Math.abs((place.at[1] - y) * dx);
      return ahead > 0 ? ahead + 2 * aside : Infinity;
    };
    const next = this.places.reduce((best, place) => (cost(place) < cost(best) ? place : best));
    if (cost(next) < Infinity) this.focus(next, true);
  }

  focus(place, move) {
    this.focused.element.setAttribute("tabindex", "-1");
    this.focused = place;
    place.element.setAttribute("tabindex", "0");
    if (move) place.element.focus();
  }
}

// Let an element glide along points, and turn meanwhile.
async function glide(element, points, length, turn = 0) {
  const steps = points.map(([x, y], at) => ({
    transform: `translate(${x}px, ${y}px) rotate(${(turn * at) / (points.length - 1)}deg)`,
    easing: "ease-in-out",
  }));
  // A page that is not seen does not move anything: the clock goes on all the same.
  await Promise.race([element.animate(steps, { duration: length, fill: "forwards" }).finished, pause(length + 200)]);
}

function put(element, [x, y]) {
  element.style.transform = `translate(${x}px, ${y}px)`;
}

function pawn(seat) {
  return svg(
    "g",
    { class: `pawn ${seat}` },
    svg("ellipse", { class: "shade", cx: 2, cy: 13, rx: 15, ry: 5 }),
    svg("path", { class: "body", d: "M-13 12c0-6 7-9 9-20h8c2 11 9 14 9 20a13 4.5 0 0 1-26 0z" }),
    svg("circle", { class: "body", cy: -13, r: 8.5 }),
    svg("path", { class: "shine", d: "M-8 10c1-4 6-7 7-15" }),
    svg("circle", { class: "light", cx: -2.5, cy: -16, r: 2.6 }),
  );
}

