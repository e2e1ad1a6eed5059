// Everything the page says, in both languages.

const WORDS = {
  en: {
    skip: "To the analysis",
    rules: "Rules",
    rulesPage: "/rules.html",
    interface: "For programs",
    database: "Database",
    other: "Deutsch",
    otherCode: "de",
    board: "Board. Arrow keys move from square to square, Enter picks a piece up or puts it down, Escape cancels.",
    keys: "Drag pieces, or click a piece and then a square. Keyboard: arrow keys, Enter, Escape.",
    gameOf: "{pieces} pieces a side, {positions} positions solved",
    gameOf1: "1 piece a side, {positions} positions solved",
    gameEstimated: "{pieces} pieces a side, {positions} positions: exact in endgames, estimated before",
    about: "about {win}",
    sourceDatabase: "Exact.",
    sourceSolved: "Exact: this endgame has been solved.",
    sourceEstimate: "An estimate: such numbers are off by {error} percentage points (root mean square).",
    sourceSoon: "An estimate; this endgame is being solved …",
    rulesOf: "{pieces} pieces, {squares} squares",
    rulesOf1: "1 piece, {squares} squares",
    otherRules: "This link is to a game of {link}; this page has {page}.",
    explore: "Explore",
    play: "Play",
    notation: "Position (side to move / other side)",
    show: "Show",
    start: "Starting position",
    clear: "Clear the board",
    swap: "Other side to move",
    copy: "Copy link",
    copied: "The link to this position is on the clipboard.",
    linkIs: "Link to this position: {link}",
    numbers: "Number the squares for the side to move",
    rolls: "Moves for each roll",
    red: "Red",
    black: "Black",
    toMove: "{side} to move",
    hasWon: "{side} has won",
    wins: "{side} wins {win} of the time",
    unknownWin: "Winning probability unknown: this database stores only best moves.",
    best: "best",
    pass: "no move",
    box: "box",
    captures: "captures",
    rollOf: "Roll {roll}",
    sixInTries: "a 6 in {tries} rolls",
    noSix: "no 6 in {tries} rolls",
    three_rolls: "three rolls for a 6",
    start_in_box: "all start in the box",
    no_jumping: "no jumping in the finish zone",
    must_capture: "captures are a duty",
    playMove: "{move}, wins {win} of the time, costs {cost}",
    overNoMoves: "The game is over; there are no moves.",
    against: "Against",
    begins: "Who moves first?",
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
    explain: "Errors: winning probability lost by moves that were not the best. Luck: what the dice gave or took. Together they account for the change from red's {first} at the start to {last} at the end.",
    roughly: "Estimates are among them, so that this holds roughly.",
    unknownSummary: "This database stores only best moves: errors and luck are unknown.",
    squareEmpty: "{place}, free",
    squareHeld: "{place}, {side} piece",
    placeMain: "square {red} of red, {black} of black",
    placeFinish: "finish square {number} of {side}",
    placeBox: "box of {side}, place {number} of {pieces}",
    taken: "{side} piece picked up ({place}): choose where it goes.",
    occupied: "There is already a piece on this square.",
    foreign: "These finish squares belong to {side}.",
    foreignBox: "This box belongs to {side}.",
    bothDone: "Both sides would have finished; a game has one winner.",
    tooMany: "{side} would have more than {pieces} pieces.",
    range: "{text} is not a square; squares are 0 to {last}.",
    twice: "{side} has two pieces on square {square}.",
    both: "Red and black would be on the same square: {own} for the side to move is {other} for the other side.",
    form: "Write a position like 3,17/0: the squares of the side to move, a slash, the squares of the other side; b if all are in the box.",
    offline: "The server is not responding: {message}",
    notThere: "This position is not in the database.",
    "player.optimal": "Knows the winning probability after every move and takes the best; estimates it where nobody knows.",
    "player.estimate": "Estimates the winning probability after every move and takes the best.",
    "player.random": "Picks a legal move at random.",
    "player.fpoc": "Captures if it can, and otherwise moves the piece that is furthest along.",
    "player.fpnpoc": "Captures if it can, otherwise jumps over as few pieces as possible, otherwise moves the piece furthest along.",
    "player.runner": "Always runs with the piece that is furthest along.",
    "player.hunter": "Captures the piece that has come furthest, and otherwise sneaks up behind yours.",
    "player.together": "Captures if it can, and otherwise keeps its pieces together.",
    "player.careful": "Captures if it can, and otherwise leaves as few pieces as possible in danger.",
  },
  de: {
    skip: "Zur Auswertung",
    rules: "Spielregeln",
    rulesPage: "/rules.de.html",
    interface: "Für Programme",
    database: "Datenbank",
    other: "English",
    otherCode: "en",
    board: "Spielbrett. Pfeiltasten gehen von Feld zu Feld, Eingabe nimmt eine Figur auf oder setzt sie ab, Escape bricht ab.",
    keys: "Figuren ziehen, oder erst eine Figur und dann ein Feld anklicken. Tastatur: Pfeiltasten, Eingabe, Escape.",
    gameOf: "{pieces} Figuren je Seite, {positions} Stellungen gelöst",
    gameOf1: "1 Figur je Seite, {positions} Stellungen gelöst",
    gameEstimated: "{pieces} Figuren je Seite, {positions} Stellungen: Endspiele genau, vorher geschätzt",
    about: "etwa {win}",
    sourceDatabase: "Genau.",
    sourceSolved: "Genau: Dieses Endspiel ist gelöst.",
    sourceEstimate: "Eine Schätzung: Solche Zahlen liegen um {error} Prozentpunkte daneben (quadratisches Mittel).",
    sourceSoon: "Eine Schätzung; dieses Endspiel wird gerade gelöst …",
    rulesOf: "{pieces} Figuren, {squares} Felder",
    rulesOf1: "1 Figur, {squares} Felder",
    otherRules: "Dieser Link gehört zu einem Spiel mit {link}; diese Seite zeigt eines mit {page}.",
    explore: "Erkunden",
    play: "Spielen",
    notation: "Stellung (am Zug / andere Seite)",
    show: "Zeigen",
    start: "Grundstellung",
    clear: "Brett leeren",
    swap: "Andere Seite am Zug",
    copy: "Link kopieren",
    copied: "Der Link zu dieser Stellung ist in der Zwischenablage.",
    linkIs: "Link zu dieser Stellung: {link}",
    numbers: "Felder aus Sicht der Seite am Zug nummerieren",
    rolls: "Züge für jeden Wurf",
    red: "Rot",
    black: "Schwarz",
    toMove: "{side} ist am Zug",
    hasWon: "{side} hat gewonnen",
    wins: "{side} gewinnt in {win} der Fälle",
    unknownWin: "Gewinnwahrscheinlichkeit unbekannt: Diese Datenbank enthält nur die besten Züge.",
    best: "bester",
    pass: "kein Zug",
    box: "Haus",
    captures: "schlägt",
    rollOf: "Wurf {roll}",
    sixInTries: "eine 6 in {tries} Würfen",
    noSix: "keine 6 in {tries} Würfen",
    three_rolls: "drei Würfe für eine 6",
    start_in_box: "alle beginnen im Haus",
    no_jumping: "kein Überspringen im Ziel",
    must_capture: "Schlagzwang",
    playMove: "{move}, gewinnt in {win} der Fälle, kostet {cost}",
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
    yourRoll: "Du bist dran: Würfle!",
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
    explain: "Fehler: Gewinnwahrscheinlichkeit, die durch schwächere Züge verloren ging. Glück: was die Würfel gaben oder nahmen. Zusammen erklären sie den Weg von {first} für Rot am Anfang zu {last} am Ende.",
    roughly: "Schätzungen sind darunter, so dass das nur ungefähr aufgeht.",
    unknownSummary: "Diese Datenbank enthält nur die besten Züge: Fehler und Glück sind unbekannt.",
    squareEmpty: "{place}, frei",
    squareHeld: "{place}, Figur von {side}",
    placeMain: "Feld {red} von Rot, {black} von Schwarz",
    placeFinish: "Zielfeld {number} von {side}",
    placeBox: "Haus von {side}, Platz {number} von {pieces}",
    taken: "Figur von {side} aufgenommen ({place}): Wähle, wohin sie soll.",
    occupied: "Auf diesem Feld steht schon eine Figur.",
    foreign: "Diese Zielfelder gehören {side}.",
    foreignBox: "Dieses Haus gehört {side}.",
    bothDone: "Dann wären beide Seiten am Ziel; ein Spiel hat nur einen Gewinner.",
    tooMany: "{side} hätte mehr als {pieces} Figuren.",
    range: "{text} ist kein Feld; Felder sind 0 bis {last}.",
    twice: "{side} hat zwei Figuren auf Feld {square}.",
    both: "Rot und Schwarz stünden auf demselben Feld: {own} der Seite am Zug ist {other} der anderen Seite.",
    form: "Schreibe eine Stellung wie 3,17/0: die Felder der Seite am Zug, ein Schrägstrich, die Felder der anderen Seite; b, wenn alle im Haus sind.",
    offline: "Der Server antwortet nicht: {message}",
    notThere: "Diese Stellung ist nicht in der Datenbank.",
    "player.optimal": "Kennt die Gewinnwahrscheinlichkeit nach jedem Zug und nimmt den besten; schätzt sie, wo niemand sie kennt.",
    "player.estimate": "Schätzt die Gewinnwahrscheinlichkeit nach jedem Zug und nimmt den besten.",
    "player.random": "Nimmt einen zufälligen erlaubten Zug.",
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

// A number that may be an estimate; those are rounded, and marked.
export function chance(value, exact, form = percent) {
  return exact ? form(value) : say("about", { win: form(value, 1) });
}

export function signedPercent(value, digits = 2) {
  const shape = { style: "percent", minimumFractionDigits: digits, maximumFractionDigits: digits, signDisplay: "exceptZero" };
  return new Intl.NumberFormat(language, shape).format(value);
}

export function points(value) {
  return new Intl.NumberFormat(language, { maximumSignificantDigits: 2 }).format(100 * value);
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
