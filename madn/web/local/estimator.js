// Values of positions from a small model. The twin of madn/estimator.py and madn/_estimator.pxi: the same whole numbers.

import { decompress } from "./zstd.js";

const NAME = "madn estimator 1";
const DIGEST = 32;
const SECOND = 32; // units of the second layer
const ONE = 1 << 13;
const RANGE = 2 ** 33; // log odds of 16, in steps of 2^-29
const STEP = 2 ** 23; // between two points of the curve
const CERTAIN = 2 ** 31;

export class Damaged extends Error {}

// The model in a file of the package (docs/estimator.md): a line, a header, a zstd frame, a SHA-256.
export async function readModel(bytes, source) {
  const damaged = (what) => new Damaged(`${source}: damaged: ${what}`);
  const ends = [bytes.indexOf(10)];
  ends.push(bytes.indexOf(10, ends[0] + 1));
  const text = (begin, end) => new TextDecoder().decode(bytes.subarray(begin, end));
  if (ends[0] < 0 || ends[0] > 64 || ends[1] < 0 || text(0, ends[0]) !== NAME) throw damaged("this is not an estimator of version 1");
  if (globalThis.crypto?.subtle) { // only a secure page has it
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes.subarray(0, -DIGEST)));
    if (digest.some((byte, at) => byte !== bytes[bytes.length - DIGEST + at])) throw damaged("SHA-256 mismatch");
  }
  const shape = JSON.parse(text(ends[0] + 1, ends[1]));
  const frame = bytes.subarray(ends[1] + 1, -DIGEST);
  if (frame.length !== shape.bytes) throw damaged(`expected ${shape.bytes} bytes of numbers, found ${frame.length}`);
  return { ...shape, ...readArrays(shape, decompress(frame), damaged) };
}

function readArrays(shape, planes, damaged) {
  const { pieces, first } = shape;
  const buckets = pieces ** 2;
  const kinds = [
    ["rows", Int16Array, rowsOf(shape).count * first],
    ["first_bias", Int32Array, first],
    ["second", Int16Array, buckets * first * SECOND],
    ["second_bias", Int32Array, buckets * SECOND],
    ["last", Int32Array, buckets * SECOND],
    ["last_bias", BigInt64Array, buckets],
    ["curve", Uint32Array, 2 * 16 * 64 + 2],
  ];
  const whole = kinds.reduce((sum, [, kind, size]) => sum + kind.BYTES_PER_ELEMENT * size, 0);
  if (planes.length !== whole) throw damaged(`the network does not have ${whole} bytes`);
  const arrays = {};
  let begin = 0;
  for (const [name, kind, size] of kinds) {
    const width = kind.BYTES_PER_ELEMENT; // all lowest bytes come first, then those above
    const numbers = new kind(size);
    const bytes = new Uint8Array(numbers.buffer); // little-endian, as every browser is
    for (let plane = 0; plane < width; plane++) {
      for (let i = 0; i < size; i++) bytes[i * width + plane] = planes[begin + plane * size + i];
    }
    arrays[name] = numbers;
    begin += width * size;
  }
  arrays.last_bias = Float64Array.from(arrays.last_bias, Number);
  return arrays;
}

// The first row of each kind; madn/_estimator_rows.pxd has the table.
function rowsOf({ pieces, squares, distances, stretch }) {
  const parts = Math.ceil(squares / stretch);
  const [zones, boxes] = [2 << pieces, 2 * (pieces + 1)];
  const rows = {};
  let count = 2 * squares;
  const sizes = { Zone: zones, Box: boxes, Entered: pieces, Attacks: distances * parts, Duties: distances };
  for (const [kind, size] of Object.entries(sizes)) {
    for (const side of ["own", "other"]) {
      rows[`${side}${kind}`] = count;
      count += size;
    }
  }
  return { ...rows, parts, rules: count, count: count + 8 };
}

export class Estimator {
  constructor(model, rules) {
    this.model = model;
    this.rules = rules;
    this.key = rules.three_rolls + 2 * rules.no_jumping + 4 * rules.must_capture;
    this.error = model.errors[this.key];
    this.rows = rowsOf(model);
    this.units = new Int32Array(model.first);
    this.sums = new Int32Array(SECOND);
    if (model.pieces !== rules.pieces || model.squares !== rules.squares || this.error === undefined) {
      throw new Damaged(`this estimator is not for ${rules.pieces} pieces, ${rules.squares} squares`);
    }
  }

  // The mover's chance before it rolls; 1 and 0 in finished games.
  win({ own, other }) {
    const { pieces, squares } = this.rules;
    const home = (side) => side.filter((square) => square >= squares).length;
    const [mine, theirs] = [home(own), home(other)];
    if (mine === pieces) return 1;
    if (theirs === pieces) return 0;
    return this.chance(this.logOdds(this.active(own, other), mine * pieces + theirs));
  }

  // The rows of the first layer that a position adds up.
  active(own, other) {
    const { model, rows, rules, key } = this;
    const { pieces, squares: S } = rules;
    const half = S / 2;
    const zone = (side) => side.reduce((mask, square) => (square < S ? mask : mask | (1 << (square - S))), 0);
    const [boxed, othersBoxed] = [pieces - own.length, pieces - other.length];
    const jumping = rules.no_jumping ? 1 << pieces : 0;
    const tries = rules.three_rolls ? pieces + 1 : 0;
    const found = [
      rows.ownZone + jumping + zone(own),
      rows.otherZone + jumping + zone(other),
      rows.ownBox + tries + boxed,
      rows.otherBox + tries + othersBoxed,
      rows.rules + key,
    ];
    if (othersBoxed && own.includes(half)) found.push(rows.ownEntered + othersBoxed - 1);
    if (boxed && other.includes(half)) found.push(rows.otherEntered + boxed - 1);
    const attack = (from, to, kind) => {
      const distance = (to < half ? to + half : to - half) - from;
      if (distance <= 0 || distance > model.distances) return;
      found.push(rows[`${kind}Attacks`] + (distance - 1) * rows.parts + Math.floor(to / model.stretch));
      if (rules.must_capture) found.push(rows[`${kind}Duties`] + distance - 1);
    };
    for (const b of other) if (b < S) found.push(S + b);
    for (const a of own) {
      if (a >= S) continue;
      found.push(a);
      for (const b of other) {
        if (b >= S) continue;
        attack(a, b, "own");
        attack(b, a, "other");
      }
    }
    return found;
  }

  logOdds(active, bucket) {
    const { first, second_bits: bits, rows, first_bias: firstBias, second, second_bias: secondBias, last, last_bias: lastBias } = this.model;
    const { units, sums } = this;
    units.set(firstBias);
    for (const row of active) for (let h = 0, at = row * first; h < first; h++) units[h] += rows[at + h];
    sums.set(secondBias.subarray(bucket * SECOND, (bucket + 1) * SECOND));
    for (let h = 0, at = bucket * first * SECOND; h < first; h++, at += SECOND) {
      const unit = Math.min(Math.max(units[h], 0), ONE);
      if (unit) for (let j = 0; j < SECOND; j++) sums[j] += Math.imul(unit, second[at + j]);
    }
    let total = lastBias[bucket];
    for (let j = 0; j < SECOND; j++) total += Math.min(Math.max(sums[j], 0) >> bits, ONE) * last[bucket * SECOND + j];
    return total; // below 2^53: exact
  }

  chance(odds) {
    const { curve } = this.model;
    const place = Math.min(Math.max(odds, -RANGE), RANGE) + RANGE;
    const point = Math.floor(place / STEP);
    return (curve[point] + Math.floor(((curve[point + 1] - curve[point]) * (place % STEP)) / STEP)) / CERTAIN;
  }
}
