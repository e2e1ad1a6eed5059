// The thesis' numbering of positions, as docs/format.md says it. IDs stay below 2^53.

const MOST = 48;
export const CHOOSE = Array.from({ length: MOST + 1 }, () => new Array(MOST + 1).fill(0));
for (let n = 0; n <= MOST; n++) {
  CHOOSE[n][0] = 1;
  for (let k = 1; k <= n; k++) CHOOSE[n][k] = CHOOSE[n - 1][k - 1] + (k < n ? CHOOSE[n - 1][k] : 0);
}

// All profiles that have positions, in order: { p1, f1, p2, f2, first, size }.
export function profilesOf({ pieces: P, squares: S }) {
  const profiles = [];
  let first = 0;
  for (let p1 = 0; p1 <= P; p1++) {
    for (let f1 = 0; f1 <= p1; f1++) {
      for (let p2 = 0; p2 <= P; p2++) {
        for (let f2 = 0; f2 <= p2; f2++) {
          if (f1 === P && f2 === P) continue;
          const size = CHOOSE[P][f1] * CHOOSE[P][f2] * CHOOSE[S][p1 - f1] * CHOOSE[S - (p1 - f1)][p2 - f2];
          if (size) profiles.push({ p1, f1, p2, f2, first, size });
          first += size;
        }
      }
    }
  }
  return profiles;
}

// The rank of a combination of squares, ascending, of a zone of n: the last square is string position 0.
function combination(squares, n) {
  let rank = 0;
  for (let k = 1; k <= squares.length; k++) rank += CHOOSE[n - 1 - squares[squares.length - k]][k];
  return rank;
}

export class Ranking {
  constructor(rules) {
    this.rules = rules;
    this.profiles = profilesOf(rules);
    this.byKey = new Map(this.profiles.map((profile) => [[profile.p1, profile.f1, profile.p2, profile.f2].join(), profile]));
  }

  rank({ own, other }) {
    const { pieces: P, squares: S } = this.rules;
    const split = (side) => [side.filter((q) => q < S), side.filter((q) => q >= S).map((q) => q - S)];
    const [[main1, home1], [main2, home2]] = [split(own), split(other)];
    const held = main1.map((q) => (q + S / 2) % S);
    const free = main2.map((q) => q - held.filter((square) => square < q).length); // renumbered without held squares
    const n = S - main1.length;
    const { first } = this.byKey.get([own.length, home1.length, other.length, home2.length].join());
    let rank = combination(home1, P);
    rank = rank * CHOOSE[P][home2.length] + combination(home2, P);
    rank = rank * CHOOSE[S][main1.length] + combination(main1, S);
    rank = rank * CHOOSE[n][main2.length] + combination(free, n);
    return first + rank;
  }

  // The profile that an ID is in.
  profileOf(id) {
    return this.profiles.findLast((profile) => profile.first <= id);
  }
}
