# ruff: noqa: E501
"""The card as a page to print, in English and German: docs/card/card.html and docs/card/card.de.html."""

from pathlib import Path

from madn.players import PLAYERS, RulePlayer

ROOT = Path(__file__).resolve().parent.parent
PAGES = {"card.html": "en", "card.de.html": "de"}  # in docs/card
WORDS = {
    "en": {
        "title": "Mensch ärgere Dich nicht: the points card",
        "how": "For every move that you could make, add up the points. Make the move with the most; if several tie, move "
        "the piece that is furthest along. A quarter is ten squares of a piece's own way, a half is twenty: the second half "
        "begins on the opponent's start square.",
        "for": "for",
        "points": "points",
        "squares": "Squares",
        "rules": "Or six rules: the first that tells two moves apart decides",
        "foot": "For two players. Found by search, with the values of the solved game and estimates of them.",
    },
    "de": {
        "title": "Mensch ärgere Dich nicht: die Punktekarte",
        "how": "Zähle für jeden möglichen Zug die Punkte zusammen und ziehe den mit den meisten; bei Gleichstand die Figur, die "
        "am weitesten ist. Ein Viertel sind zehn Felder auf dem Weg einer Figur, eine Hälfte zwanzig: Die zweite beginnt "
        "auf dem Startfeld des Gegners.",
        "for": "wofür",
        "points": "Punkte",
        "squares": "Felder",
        "rules": "Oder sechs Regeln: Die erste, die zwei Züge unterscheidet, entscheidet",
        "foot": "Für zwei Spieler. Gefunden durch Suche mit den Werten des gelösten Spiels und Schätzungen davon.",
    },
}
# By feature: how many points a unit is on the page, and for what; {0} is the points of the card, {1} multiples of it.
LINES = {
    "spoils": {
        "en": "{+1}, {+2}, {+3} or {+4}|You capture a piece in its 1st, 2nd, 3rd or 4th quarter.",
        "de": "{+1}, {+2}, {+3} oder {+4}|Du schlägst eine Figur in ihrem 1., 2., 3. oder 4. Viertel.",
    },
    "passing": {
        "en": "{0}|Each opponent that you jump over.",
        "de": "{0}|Jede gegnerische Figur, die du überspringst.",
    },
    "targets": {
        "en": "{0}, after a 6 {x3}|Each opponent 1 to 6 squares in front of where you land.",
        "de": "{0}, nach einer 6 {x3}|Jede gegnerische Figur 1 bis 6 Felder vor deinem neuen Feld.",
    },
    "safety": {
        "en": "±{x6}, after a 6 ±{x3}; all pieces out: ±{x2}, after a 6 ±{x1}|Plus for each opponent that can capture your "
        "piece where it stands, minus for each that can where it lands: those 1 to 6 squares behind it, or 1 to 5 while the "
        "opponent has pieces in the box. Times 2 if that square is 15 or more squares from your start, times 3 from 30 on.",
        "de": "±{x6}, nach einer 6 ±{x3}; alle Figuren draußen: ±{x2}, nach einer 6 ±{x1}|Plus für jede gegnerische Figur, "
        "die deine schlagen kann, wo sie steht, minus für jede, die es kann, wo sie landet: 1 bis 6 Felder dahinter, oder 1 bis "
        "5, solange der Gegner Figuren im Haus hat. Mal 2, wenn das Feld 15 oder mehr Felder hinter deinem Startfeld liegt, mal "
        "3 ab 30.",
    },
    "square": {
        "en": "see below|The square that you leave and the square that you land on.",
        "de": "siehe unten|Das Feld, das du verlässt, und das Feld, auf dem du landest.",
    },
    "pursuers": {
        "en": "{x3} near, {0} far|Each opponent 1 to 6 (near) or 7 to 12 (far) squares behind where you land.",
        "de": "{x3} nah, {0} fern|Jede gegnerische Figur 1 bis 6 (nah) oder 7 bis 12 (fern) Felder hinter deinem neuen Feld.",
    },
    "between": {
        "en": "{x2}, or {x1}|Each opponent between where you land and its own start square: in front of you in your first half, "
        "behind you or on that square in your second half. Those behind you count {x1} if all your pieces are out.",
        "de": "{x2}, oder {x1}|Jede gegnerische Figur zwischen deinem neuen Feld und ihrem Startfeld: in deiner ersten Hälfte vor "
        "dir, in deiner zweiten hinter dir oder auf dem Startfeld. Die hinter dir zählen {x1}, wenn alle deine Figuren "
        "draußen sind.",
    },
    "stay": {
        "en": "{0}|You move a piece that is in the finish zone, while you have pieces in the box. Or the opponent has one piece "
        "left to bring home, and you move a piece in your first half that it has yet to pass, or land in front of it in your "
        "second half.",
        "de": "{0}|Du ziehst eine Figur im Ziel, solange du Figuren im Haus hast. Oder dem Gegner fehlt nur noch eine Figur, und "
        "du ziehst in deiner ersten Hälfte eine weg, an der sie noch vorbei muss, oder landest in deiner zweiten Hälfte vor ihr.",
    },
}
SQUARES = {
    "en": [
        ("-6", "leaving your own start square"),
        ("-4", "landing on one of the last two squares before your finish zone; +4 for leaving one of them"),
        ("-7", "landing on the opponent's start square or one of the six after it, while its box is not empty"),
        ("+7", "leaving the opponent's start square, while its box is not empty"),
        ("+1", "landing on one of the six squares before it, while its box is not empty"),
    ],
    "de": [
        ("-6", "dein eigenes Startfeld verlassen"),
        ("-4", "auf einem der letzten zwei Felder vor deinem Ziel landen; +4, wenn du sie verlässt"),
        (
            "-7",
            "auf dem gegnerischen Startfeld oder den sechs dahinter landen, solange das Haus des Gegners nicht leer ist",
        ),
        ("+7", "das gegnerische Startfeld verlassen, solange das Haus des Gegners nicht leer ist"),
        ("+1", "auf den sechs Feldern davor landen, solange das Haus des Gegners nicht leer ist"),
    ],
}
RULES = {
    "en": [
        "Capture; if you can capture two, the one that has come furthest.",
        "Jump over as few opponents as possible.",
        "Land where as few opponents as possible can capture you.",
        "Leave pieces in the finish zone alone.",
        "Stay behind opponents that are on their way home.",
        "Take the better square (the list above).",
    ],
    "de": [
        "Schlage; bei zwei Möglichkeiten die Figur, die am weitesten ist.",
        "Überspringe so wenige gegnerische Figuren wie möglich.",
        "Lande dort, wo dich möglichst wenige schlagen können.",
        "Lass Figuren im Ziel stehen.",
        "Bleib hinter Gegnern, die nach Hause wollen.",
        "Nimm das bessere Feld (die Liste oben).",
    ],
}
STYLE = """@page { size: A4; margin: 11mm 16mm; }
@media print { body { margin: 0 !important; } }
body { font: 10.5pt/1.3 Georgia, serif; color: #23211c; max-width: 178mm; margin: 8mm auto; }
h1 { font-size: 19pt; border-bottom: 3px solid #b3241d; padding-bottom: 2mm; }
h2 { font-size: 14pt; margin: 6mm 0 2mm; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; padding: 1.6mm 2mm; border-bottom: 1px solid #c9c9c6; }
td:first-child { width: 42mm; font-weight: bold; color: #b3241d; }
.squares td:first-child { width: 14mm; }
ol { margin: 0; padding-left: 7mm; }
footer { margin-top: 6mm; font-size: 10pt; color: #666; }
"""


def rules_of(name: str) -> tuple[tuple[str, int], ...]:
    """The features of a player and what it gives for them."""
    player = PLAYERS[name]
    assert isinstance(player, RulePlayer)
    return tuple((rule.feature, rule.weight) for rule in player.rules)


def signed(points: int) -> str:
    """Points as they are printed, with a proper minus sign."""
    return f"{points:+d}".replace("-", "\N{MINUS SIGN}")


def page(name: str) -> str:
    """One of `PAGES`."""
    language = PAGES[name]
    words = WORDS[language]
    rows = []
    for feature, points in rules_of("card"):
        line = LINES[feature][language].replace("{0}", signed(points))
        for times in (1, 2, 3, 4, 6):
            line = line.replace(f"{{+{times}}}", signed(points * (times + 1)))
            size = signed(points * times) if feature != "safety" else str(points * times)
            line = line.replace(f"{{x{times}}}", size)
        left, right = line.split("|")
        rows.append(f"<tr><td>{left}</td><td>{right}</td></tr>")
    squares = [
        f"<tr><td>{left.replace('-', chr(0x2212))}</td><td>{right}</td></tr>" for left, right in SQUARES[language]
    ]
    rules = [f"<li>{rule}</li>" for rule in RULES[language]]
    assert len(rules) == len(rules_of("handful"))
    return f"""<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<title>{words["title"]}</title>
<style>
{STYLE}</style>
</head>
<body>
<h1>{words["title"]}</h1>
<p>{words["how"]}</p>
<table>
<tr><th>{words["points"]}</th><th>{words["for"]}</th></tr>
{chr(10).join(rows)}
</table>
<h2>{words["squares"]}</h2>
<table class="squares">
{chr(10).join(squares)}
</table>
<h2>{words["rules"]}</h2>
<ol>
{chr(10).join(rules)}
</ol>
<footer>{words["foot"]}</footer>
</body>
</html>
"""
