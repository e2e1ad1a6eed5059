// Everything the page says, in both languages.

const WORDS = {
  en: {
    skip: "To the analysis",
    interface: "For programs",
    database: "Database",
    other: "Deutsch",
    otherCode: "de",
    board: "Board. Arrow keys go from square to square, Enter takes a piece and puts it down, Escape lets go.",
    keys: "Drag pieces, or click a piece and then a square. Keyboard: arrow keys, Enter, Escape.",
    gameOf: "{pieces} pieces a side, {positions} positions solved",
    gameOf1: "1 piece a side, {positions} positions solved",
    explore: "Explore",
    play: "Play",
    notation: "Position (side to move / other side)",
    show: "Show",
    start: "Starting position",
    clear: "All into the box",
    swap: "Other side to move",
    copy: "Copy link",
    copied: "The link to this position is on the clipboard.",
    linkIs: "This is the link: {link}",
    numbers: "Numbers of the side to move on the squares",
    rolls: "What to do with each roll",
    red: "Red",
    black: "Black",
    toMove: "{side} to move",
    hasWon: "{side} has won",
    wins: "{side} wins with {win}",
    unknownWin: "The winning probability is not known: this database has only the best moves.",
    best: "best",
    pass: "no move",
    box: "box",
    captures: "captures",
    rollOf: "Roll {roll}",
    playMove: "{move}, wins with {win}, costs {cost}",
    overNoMoves: "The game is over; there are no moves.",
    against: "Against",
    begins: "Who begins?",
    me: "I do (red)",
    them: "The other player (black)",
    from: "From",
    shown: "Position on the board",
    begin: "Start the game",
    roll: "Roll",
    hints: "Hints",
    undo: "Undo",
    download: "Download record",
    end: "New game",
    graph: "Winning probability of red",
    graphOf: "Winning probability of red after each roll and move, now {win}.",
    moves: "Moves",
    yourRoll: "Your turn: roll.",
    yourMove: "You rolled {roll}: choose a move.",
    youPass: "You rolled {roll}: no move.",
    theirMove: "{player} rolled {roll}: {move}.",
    youWin: "You have won!",
    youLose: "{player} has won.",
    die: "Die showing {roll}",
    noDie: "Die",
    summary: "The game in numbers",
    errors: "Errors",
    errorsOf: "{cost} in {count} moves",
    errorsOf1: "{cost} in 1 move",
    luck: "Luck",
    you: "You (red)",
    opponent: "{player} (black)",
    explain: "Errors: winning probability lost by moves that were not the best. Luck: what the dice gave or took. Together they lead from the {first} that red had at the start to the {last} at the end.",
    unknownSummary: "This database has only the best moves: errors and luck are not known.",
    squareEmpty: "{place}, free",
    squareHeld: "{place}, {side} piece",
    placeMain: "square {red} of red, {black} of black",
    placeFinish: "finish square {number} of {side}",
    placeBox: "box of {side}, {count} pieces",
    taken: "{side} piece on {place} taken: choose where it goes.",
    occupied: "There is a piece on this square already.",
    foreign: "These finish squares belong to {side}.",
    foreignBox: "This box belongs to {side}.",
    bothDone: "Both sides would have finished; a game has one winner.",
    tooMany: "{side} would have more than {pieces} pieces.",
    range: "{text} is not a square; squares are 0 to {last}.",
    twice: "Two pieces of {side} on square {square}.",
    both: "Red and black would stand on the same square: {own} of the side to move is {other} of the other side.",
    form: "Write a position like 3,17/0: the squares of the side to move, a slash, the squares of the other side; b if all are in the box.",
    offline: "The server does not answer: {message}",
    notThere: "This position is not in the database.",
    "player.optimal": "Knows the winning probability after every move and takes the best.",
    "player.random": "Picks any legal move, each as likely as the others.",
    "player.fpoc": "Captures if it can, and otherwise moves the piece that is furthest along.",
    "player.fpnpoc": "Captures if it can, otherwise jumps over as few pieces as possible, otherwise the piece furthest along.",
    "player.runner": "Always runs with the piece that is furthest along.",
    "player.hunter": "Captures the piece that has come furthest, and otherwise sneaks up behind yours.",
    "player.together": "Captures if it can, and otherwise keeps its pieces together.",
    "player.careful": "Captures if it can, and otherwise leaves as few pieces as possible in danger.",
  },
  de: {
    skip: "Zur Auswertung",
    interface: "Für Programme",
    database: "Datenbank",
    other: "English",
    otherCode: "en",
    board: "Spielbrett. Pfeiltasten gehen von Feld zu Feld, Eingabe nimmt eine Figur und setzt sie ab, Escape lässt los.",
    keys: "Figuren ziehen, oder erst eine Figur und dann ein Feld anklicken. Tastatur: Pfeiltasten, Eingabe, Escape.",
    gameOf: "{pieces} Figuren je Seite, {positions} Stellungen gelöst",
    gameOf1: "1 Figur je Seite, {positions} Stellungen gelöst",
    explore: "Erkunden",
    play: "Spielen",
    notation: "Stellung (am Zug / andere Seite)",
    show: "Zeigen",
    start: "Grundstellung",
    clear: "Alle ins Haus",
    swap: "Andere Seite am Zug",
    copy: "Link kopieren",
    copied: "Der Link zu dieser Stellung ist in der Zwischenablage.",
    linkIs: "Das ist der Link: {link}",
    numbers: "Nummern der Seite am Zug auf den Feldern",
    rolls: "Was tun bei welchem Wurf",
    red: "Rot",
    black: "Schwarz",
    toMove: "{side} ist am Zug",
    hasWon: "{side} hat gewonnen",
    wins: "{side} gewinnt mit {win}",
    unknownWin: "Die Gewinnwahrscheinlichkeit ist nicht bekannt: Diese Datenbank hat nur die besten Züge.",
    best: "bester",
    pass: "kein Zug",
    box: "Haus",
    captures: "schlägt",
    rollOf: "Wurf {roll}",
    playMove: "{move}, gewinnt mit {win}, kostet {cost}",
    overNoMoves: "Das Spiel ist zu Ende; es gibt keine Züge.",
    against: "Gegen",
    begins: "Wer beginnt?",
    me: "Ich (Rot)",
    them: "Der andere Spieler (Schwarz)",
    from: "Von",
    shown: "Stellung auf dem Brett",
    begin: "Spiel beginnen",
    roll: "Würfeln",
    hints: "Hinweise",
    undo: "Zurücknehmen",
    download: "Partie speichern",
    end: "Neues Spiel",
    graph: "Gewinnwahrscheinlichkeit von Rot",
    graphOf: "Gewinnwahrscheinlichkeit von Rot nach jedem Wurf und Zug, jetzt {win}.",
    moves: "Züge",
    yourRoll: "Du bist dran: würfeln.",
    yourMove: "Du hast {roll} gewürfelt: Wähle einen Zug.",
    youPass: "Du hast {roll} gewürfelt: kein Zug.",
    theirMove: "{player} würfelt {roll}: {move}.",
    youWin: "Du hast gewonnen!",
    youLose: "{player} hat gewonnen.",
    die: "Würfel zeigt {roll}",
    noDie: "Würfel",
    summary: "Das Spiel in Zahlen",
    errors: "Fehler",
    errorsOf: "{cost} in {count} Zügen",
    errorsOf1: "{cost} in 1 Zug",
    luck: "Glück",
    you: "Du (Rot)",
    opponent: "{player} (Schwarz)",
    explain: "Fehler: Gewinnwahrscheinlichkeit, die durch nicht beste Züge verloren ging. Glück: was die Würfel gaben oder nahmen. Zusammen führen sie von den {first}, die Rot am Anfang hatte, zu den {last} am Ende.",
    unknownSummary: "Diese Datenbank hat nur die besten Züge: Fehler und Glück sind nicht bekannt.",
    squareEmpty: "{place}, frei",
    squareHeld: "{place}, Figur von {side}",
    placeMain: "Feld {red} von Rot, {black} von Schwarz",
    placeFinish: "Zielfeld {number} von {side}",
    placeBox: "Haus von {side}, {count} Figuren",
    taken: "Figur von {side} genommen ({place}): Wähle, wohin sie geht.",
    occupied: "Auf diesem Feld steht schon eine Figur.",
    foreign: "Diese Zielfelder gehören {side}.",
    foreignBox: "Dieses Haus gehört {side}.",
    bothDone: "Dann wären beide Seiten am Ziel; ein Spiel hat nur einen Gewinner.",
    tooMany: "{side} hätte mehr als {pieces} Figuren.",
    range: "{text} ist kein Feld; Felder sind 0 bis {last}.",
    twice: "Zwei Figuren von {side} auf Feld {square}.",
    both: "Rot und Schwarz stünden auf demselben Feld: {own} der Seite am Zug ist {other} der anderen Seite.",
    form: "Schreibe eine Stellung wie 3,17/0: die Felder der Seite am Zug, ein Schrägstrich, die Felder der anderen Seite; b, wenn alle im Haus sind.",
    offline: "Der Server antwortet nicht: {message}",
    notThere: "Diese Stellung ist nicht in der Datenbank.",
    "player.optimal": "Kennt die Gewinnwahrscheinlichkeit nach jedem Zug und nimmt den besten.",
    "player.random": "Nimmt irgendeinen erlaubten Zug, jeden gleich oft.",
    "player.fpoc": "Schlägt, wenn es geht, und zieht sonst mit der vordersten Figur.",
    "player.fpnpoc": "Schlägt, wenn es geht, überholt sonst möglichst wenige Figuren, zieht sonst mit der vordersten.",
    "player.runner": "Läuft immer mit der vordersten Figur.",
    "player.hunter": "Schlägt die am weitesten gekommene Figur und schleicht sich sonst hinter deine.",
    "player.together": "Schlägt, wenn es geht, und hält sonst seine Figuren zusammen.",
    "player.careful": "Schlägt, wenn es geht, und lässt sonst möglichst wenige Figuren in Gefahr.",
  },
};

const KEPT = "madn.language";
let language = firstLanguage();

function firstLanguage() {
  let kept = null;
  try {
    kept = localStorage.getItem(KEPT);
  } catch {
    // A browser may forbid it; then the choice lasts as long as the page.
  }
  return kept in WORDS ? kept : navigator.language.startsWith("de") ? "de" : "en";
}

export function currentLanguage() {
  return language;
}

export function switchLanguage() {
  language = WORDS[language].otherCode;
  try {
    localStorage.setItem(KEPT, language);
  } catch {
    // as above
  }
}

export function known(name) {
  return name in WORDS[language];
}

export function say(name, values = {}) {
  return WORDS[language][name].replace(/\{(\w+)\}/g, (_, key) => values[key]);
}

export function percent(value, digits = 2) {
  const shape = { style: "percent", minimumFractionDigits: digits, maximumFractionDigits: digits };
  return new Intl.NumberFormat(language, shape).format(value);
}

export function signedPercent(value) {
  const shape = { style: "percent", minimumFractionDigits: 2, maximumFractionDigits: 2, signDisplay: "exceptZero" };
  return new Intl.NumberFormat(language, shape).format(value);
}

export function whole(value) {
  return new Intl.NumberFormat(language).format(value);
}

// Put the words of the language into the page.
export function translate(root) {
  root.documentElement.lang = language;
  for (const element of root.querySelectorAll("[data-t]")) element.textContent = say(element.dataset.t);
  for (const element of root.querySelectorAll("[data-label]")) {
    element.setAttribute("aria-label", say(element.dataset.label));
  }
}
