// A database on any static host: its blocks are read by range requests and decoded here (docs/format.md).
//
// `madn export-web` writes NAME-index.json and NAME-index.bin beside the frames: the catalogue without SQLite. A row of
// the second has 44 bytes, little-endian: first ID (8), count (4), file (2), encoding (2), offset (8), length (4), digest (16).
// The first has the first ID of every PAGE-th row, so that one block takes two requests, and later ones mostly one.
// Best moves have frames of their own (madn/web/best_moves.py).

import { CHOOSE, Ranking } from "./ranking.js";
import { ROLLS } from "./rules.js";
import { decompress } from "./zstd.js";

const ROW = 44;
const HEADER = 20;
const MOST_POSITIONS = 1 << 20; // of a block
const KEPT_BLOCKS = 200;
const KEPT_PAGES = 50;

export class Damaged extends Error {}

export class Database {
  constructor(facts, address) {
    Object.assign(this, facts); // rules, files, encodings, index, page, keys, rows, tie, error
    this.address = address;
    this.onlyMoves = this.encodings.some(({ moves }) => moves); // no values
    this.ranking = new Ranking(this.rules);
    this.blocks = new Map(); // promises of decoded blocks, by first ID; those used last at the end
    this.pages = new Map();
  }

  // The value of a board before the roll; null if it is not stored.
  async win(board) {
    const found = await this.find(board);
    return found && found.block[found.at];
  }

  // The square of the piece that the best move moves, for each roll; where that is forced it may be any, or undefined.
  async movers(board) {
    const { block, at } = await this.find(board);
    return ROLLS.map((_, roll) => board.own[block[roll * (block.length / ROLLS.length) + at]]);
  }

  // The block of a board, and its place there; null if it is not stored.
  async find(board) {
    const id = this.ranking.rank(board);
    const row = await this.row(id);
    if (row === null) return null;
    return { block: await kept(this.blocks, row.first, KEPT_BLOCKS, () => this.block(row)), at: id - row.first };
  }

  // The row of the block that an ID is in; null if there is none.
  async row(id) {
    const number = this.keys.findLastIndex((key) => key <= id);
    if (number < 0) return null;
    const page = await kept(this.pages, number, KEPT_PAGES, async () => {
      const begin = number * this.page;
      const bytes = await read(new URL(this.index, this.address), begin * ROW, Math.min(this.page, this.rows - begin) * ROW);
      return rowsOf(bytes);
    });
    const row = page.findLast((one) => one.first <= id);
    return row && id < row.first + row.count ? row : null;
  }

  async block(row) {
    const damaged = (what) => new Damaged(`${this.files[row.file]}: block of position ${row.first}: ${what}`);
    const encoding = this.encodings[row.encoding];
    if (!encoding || !this.files[row.file] || row.count > MOST_POSITIONS) throw damaged("the index is damaged");
    const frame = await read(new URL(this.files[row.file], this.address), row.offset, row.length);
    if (globalThis.crypto?.subtle) { // only a secure page has it
      const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", frame));
      if (row.digest.some((byte, at) => byte !== digest[at])) throw damaged("SHA-256 mismatch");
    }
    const content = decompress(frame, new Uint8Array(HEADER + row.count * encoding.planes));
    const view = new DataView(content.buffer, content.byteOffset, HEADER);
    const found = [view.getUint32(0), view.getUint32(4, true), Number(view.getBigUint64(8, true)), view.getUint32(16, true)];
    const expected = [0x6d61646e, encoding.code, row.first, row.count];
    if (String(found) !== String(expected)) throw damaged(`block header is ${found}, expected ${expected}`);
    const bytes = content.subarray(HEADER);
    if (encoding.moves) {
      if (bytes.some((piece) => piece >= this.rules.pieces)) throw damaged("there is no such piece");
      return bytes;
    }
    const profile = this.ranking.profileOf(row.first);
    const width = Math.ceil(encoding.bits / 8); // proved bounds come after the values
    const words = joined(bytes, row.count, width);
    addPredictions(words, this.rules.squares, profile.p1 - profile.f1, profile.p2 - profile.f2, row.first - profile.first);
    const wins = probabilities(words, encoding, width);
    if (wins.some((win) => !(win >= 0 && win <= 1))) throw damaged("a value is not a probability");
    return wins;
  }
}

export async function openDatabase(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Damaged(`${address}: HTTP ${answer.status}`);
  return new Database(await answer.json(), new URL(address, globalThis.location?.href));
}

// What was computed for a key, or is being computed; what was used longest ago goes first. A failure is forgotten.
function kept(cache, key, most, compute) {
  const found = cache.get(key) ?? compute();
  cache.delete(key);
  cache.set(key, found);
  found.catch(() => cache.delete(key));
  if (cache.size > most) cache.delete(cache.keys().next().value);
  return found;
}

// Bytes of a file. A host that ignores ranges sends the whole file.
async function read(address, offset, length) {
  const answer = await fetch(address, { headers: { range: `bytes=${offset}-${offset + length - 1}` } }).catch((error) => {
    throw new Damaged(`${address}: ${error.message}`);
  });
  if (answer.status !== 206 && answer.status !== 200) throw new Damaged(`${address}: HTTP ${answer.status}`);
  let bytes = new Uint8Array(await answer.arrayBuffer());
  if (answer.status === 200) bytes = bytes.slice(offset, offset + length);
  if (bytes.length !== length) throw new Damaged(`${address}: expected ${length} bytes at ${offset}, found ${bytes.length}`);
  return bytes;
}

function rowsOf(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Array.from({ length: bytes.length / ROW }, (_, n) => {
    const at = n * ROW;
    return {
      first: Number(view.getBigUint64(at, true)),
      count: view.getUint32(at + 8, true),
      file: view.getUint16(at + 12, true),
      encoding: view.getUint16(at + 14, true),
      offset: Number(view.getBigUint64(at + 16, true)),
      length: view.getUint32(at + 24, true),
      digest: bytes.subarray(at + 28, at + 44),
    };
  });
}

// Planes of bytes as words, without the 0x80 that was added to every byte.
function joined(planes, count, width) {
  if (width > 4) {
    const words = new BigUint64Array(count);
    for (let i = 0; i < count; i++) {
      let word = 0n;
      for (let plane = width - 1; plane >= 0; plane--) word = (word << 8n) | BigInt(planes[plane * count + i]);
      words[i] = word - 0x8080808080808080n;
    }
    return words;
  }
  const words = new Uint32Array(count);
  const balance = 0x80808080 >>> (8 * (4 - width));
  for (let plane = width - 1; plane >= 0; plane--) {
    for (let i = 0, at = plane * count; i < count; i++) words[i] = (words[i] << 8) | planes[at + i];
  }
  for (let i = 0; i < count; i++) words[i] -= balance;
  return words;
}

// Undo the prediction: each value was stored as the difference from that with one piece one place lower, piece after piece.
function addPredictions(words, squares, own, other, first) {
  const end = first + words.length;
  const row = CHOOSE[squares - own][other];
  const table = row * CHOOSE[squares][own];
  for (const [places, pieces, period, unit] of [[squares, own, table, row], [squares - own, other, row, 1]]) {
    for (let piece = pieces; piece >= 1; piece--) {
      for (let base = first - (first % period); base < end; base += period) chunks(places, pieces, piece, base);
    }

    // The arrangements of `count` pieces on `n` places, which begin at `base`: where `piece` stands one place higher
    // than in those before, these are added.
    function chunks(n, count, piece, base) {
      for (let q = count - 1; q < n; q++) {
        const start = base + CHOOSE[q][count] * unit;
        if (start >= end) return;
        if (start + CHOOSE[q][count - 1] * unit <= first) continue;
        if (count > piece) {
          chunks(q, count - 1, piece, start);
        } else if (q >= piece) {
          const lag = CHOOSE[q - 1][piece - 1] * unit;
          const last = Math.min(start + lag, end) - first;
          for (let i = Math.max(start, first + lag) - first; i < last; i++) words[i] += words[i - lag];
        }
      }
    }
  }
}

function probabilities(words, { bits, zero, scale }, width) {
  if (bits === 64) return new Float64Array(words.buffer);
  const numbers = bits === 32 ? new Int32Array(words.buffer) : words;
  const mask = width < 4 ? 2 ** (8 * width) - 1 : null;
  return Float64Array.from(numbers, (word) => zero + (mask === null ? word : word & mask) / scale);
}
