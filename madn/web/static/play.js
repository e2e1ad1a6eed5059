// The panel in which a game is played.

import { calm, drawDie, fairRoll, pause, smallDie, tumble } from "./dice.js";
import { Game } from "./game.js";
import { drawGraph } from "./graph.js";
import { costText, moveButtons, moveText } from "./moves.js";
import { startingPosition, write } from "./position.js";
import { chance, known, percent, say, signedPercent } from "./words.js";

const get = (id) => document.getElementById(id);

export class Play {
  // `table` shows positions and marks: the part of the page that has the board.
  constructor(table, source, rules, players) {
    Object.assign(this, { table, source, rules, players });
    this.game = null;
    this.turn = 0; // counts what was begun, so that what comes late is thrown away
    get("player").replaceChildren(...players.map(({ name }) => new Option(name, name)));
    get("player").addEventListener("change", () => this.about());
    get("from").addEventListener("change", () => this.about());
    get("new").addEventListener("submit", (event) => {
      event.preventDefault();
      this.begin();
    });
    get("roll").addEventListener("click", () => this.roll());
    get("undo").addEventListener("click", () => this.undo());
    get("hints").addEventListener("change", () => this.render());
    get("download").addEventListener("click", () => this.download());
    get("end").addEventListener("click", () => this.leave());
  }

  about() {
    const { name, description } = this.players.find((player) => player.name === get("player").value);
    get("first").disabled = get("from").value === "board"; // the board says whose turn it is
    get("about").textContent = known(`player.${name}`) ? say(`player.${name}`) : description;
  }

  begin() {
    const fresh = { ...startingPosition(this.rules), turn: get("first").value === "me" ? "red" : "black" };
    const position = get("from").value === "board" ? this.table.position : fresh;
    this.game = new Game(this.rules, get("player").value, position);
    get("new").hidden = true;
    get("running").hidden = false;
    drawDie(get("die"), null);
    this.status = null;
    this.next();
  }

  leave() {
    this.turn++;
    this.game = null;
    this.render();
    get("new").hidden = false;
    get("running").hidden = true;
    this.table.refresh();
    get("player").focus();
  }

  undo() {
    this.turn++;
    if (!this.game.undo()) return;
    drawDie(get("die"), this.game.roll);
    this.tell("yourMove", { roll: this.game.roll });
    this.render();
    this.focusMoves();
  }

  // Look at the position, and let black move until it is red's turn or the game is over.
  async next() {
    const turn = ++this.turn;
    const { game } = this;
    try {
      for (;;) {
        this.render();
        if (game.winner) return this.over();
        const facts = await this.source.position(write(game.position));
        if (turn !== this.turn) return;
        game.facts = facts;
        if (game.position.turn === "red") break;
        await this.answer(turn);
        if (turn !== this.turn) return;
      }
      this.tell("yourRoll");
      this.render();
      get("roll").focus({ preventScroll: true });
    } catch (error) {
      this.table.fail(error);
    }
  }

  // Black rolls and moves.
  async answer(turn) {
    const { game } = this;
    const roll = await this.thrown(turn);
    const [seed] = crypto.getRandomValues(new Uint32Array(1));
    const chosen = await this.source.move(write(game.position), roll, game.player, seed);
    if (turn !== this.turn) return;
    game.roll = roll;
    const move = game.moves.find((found) => found.move === chosen.move);
    this.tell("theirMove", { player: game.player, roll, move: moveText(move) });
    game.play(move);
    this.render();
    if (!calm()) await pause(650);
  }

  // The roll of a turn: the first 6, or the last of as many tries as there are.
  async thrown(turn) {
    for (let { tries } = this.game.facts; ; tries--) {
      const roll = fairRoll();
      await tumble(get("die"), roll);
      if (roll === 6 || tries <= 1 || turn !== this.turn) return roll;
      await pause(calm() ? 0 : 350);
    }
  }

  // Red rolls.
  async roll() {
    const { game } = this;
    if (!game?.facts || game.roll !== null || game.position.turn !== "red") return;
    const turn = ++this.turn;
    get("roll").disabled = true;
    const roll = await this.thrown(turn);
    if (turn !== this.turn) return;
    game.roll = roll;
    const [only] = game.moves;
    if (only.to === null) {
      this.tell("youPass", { roll });
      this.render();
      await pause(calm() ? 0 : 900);
      if (turn === this.turn) this.play(only);
      return;
    }
    this.tell("yourMove", { roll });
    this.render();
    this.focusMoves();
  }

  play(move) {
    this.game.play(move);
    this.table.mark(null);
    this.next();
  }

  over() {
    const { game } = this;
    this.tell(game.winner === "red" ? "youWin" : "youLose", { player: game.player });
    this.render();
    get("end").focus({ preventScroll: true });
  }

  focusMoves() {
    get("choices").querySelector("button")?.focus({ preventScroll: true });
  }

  tell(word, values = {}) {
    this.status = [word, values];
  }

  download() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([this.game.record], { type: "text/plain" }));
    link.download = "game.txt";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // The place on the board of a move's piece was clicked: play it.
  pick(place) {
    const move = this.moveFrom(place);
    if (move) this.play(move);
  }

  moveFrom(place) {
    if (!place || this.game?.position.turn !== "red") return undefined;
    return this.game.moves.find(({ from, to }) =>
      to === null ? false : from === null ? place.kind === "box" && place.seat === "red" : place.kind !== "box" && place.red === from,
    );
  }

  render() {
    const { game } = this;
    this.about();
    document.body.classList.toggle("playing", Boolean(game));
    if (!game) return;
    const mine = game.position.turn === "red" && game.roll !== null && !game.winner;
    this.table.show(game.position, { movable: (place) => mine && Boolean(this.moveFrom(place)) });
    get("status").textContent = this.status ? say(...this.status) : "";
    get("roll").disabled = !(game.facts && game.roll === null && game.position.turn === "red" && !game.winner);
    get("undo").disabled = !game.canUndo;
    const hints = get("hints").checked;
    const look = (move) => this.table.mark(move);
    const play = (move) => this.play(move);
    const moves = !mine || game.moves[0].to === null ? [] : hints ? game.moves : game.moves.toSorted((a, b) => a.from - b.from);
    get("choices").replaceChildren(...(moves.length ? [moveButtons(moves, { play, look, hints })] : []));
    get("course").hidden = !hints && !game.winner; // it would tell which move was a mistake
    drawGraph(get("graph"), game.wins, Boolean(game.winner) || (game.facts ?? game.plies.at(-1)?.facts)?.exact !== false);
    get("plies").replaceChildren(...game.plies.map((ply) => this.line(ply, hints)));
    get("plies").scrollTop = get("plies").scrollHeight;
    this.summarise();
  }

  line(ply, hints) {
    const item = document.createElement("li");
    item.className = ply.seat;
    const words = [`${say(ply.seat)}: ${moveText(ply.move)}`];
    if (ply.move.captures) words.push(say("captures"));
    if (hints && ply.move.loss) words.push(costText(ply.move));
    const text = document.createElement("span");
    text.textContent = words.join(", ");
    item.append(smallDie(ply.roll), text);
    return item;
  }

  summarise() {
    const { game } = this;
    const box = get("summary");
    box.hidden = !game.winner;
    if (!game.winner) return;
    const [red, black] = ["red", "black"].map((seat) => game.account(seat));
    const head = document.createElement("h2");
    head.textContent = say("summary");
    const text = document.createElement("p");
    text.className = "quiet";
    if (!red || !black) {
      text.textContent = say("unknownSummary");
      box.replaceChildren(head, text);
      return;
    }
    const { wins } = game;
    const exact = red.exact && black.exact;
    text.textContent = say("explain", { first: chance(wins[0], game.plies[0].facts.exact), last: percent(wins.at(-1)) });
    if (!exact) text.textContent += ` ${say("roughly")}`;
    const table = document.createElement("table");
    const row = (kind, ...cells) => {
      const line = table.insertRow();
      for (const cell of cells) {
        const element = document.createElement(kind);
        element.textContent = cell;
        line.append(element);
      }
    };
    const errors = ({ cost, errors: count }) => say(count === 1 ? "errorsOf1" : "errorsOf", { cost: chance(cost, exact), count });
    row("th", "", say("errors"), say("luck"));
    row("td", say("you"), errors(red), chance(red.luck, exact, signedPercent));
    row("td", say("opponent", { player: game.player }), errors(black), chance(black.luck, exact, signedPercent));
    box.replaceChildren(head, table, text);
  }
}
