// Everything the page says: the words are in en.js and de.js, of which the one that is spoken is loaded.

const LANGUAGES = { en: async () => (await import("./en.js")).EN, de: async () => (await import("./de.js")).DE };
const KEPT = "language";

let spoken = navigator.language.toLowerCase().startsWith("de") ? "de" : "en";
try {
  const kept = localStorage.getItem(KEPT);
  if (kept in LANGUAGES) spoken = kept;
} catch {
  // a browser that keeps nothing
}

let words = await LANGUAGES[spoken]();

export const language = () => spoken;

export async function switchLanguage() {
  const other = words.otherCode;
  words = await LANGUAGES[other]();
  spoken = other;
  try {
    localStorage.setItem(KEPT, spoken);
  } catch {
    // as above
  }
}

export const known = (name) => name in words;

export function say(name, values = {}) {
  return words[name].replace(/\{(\w+)\}/g, (_, key) => values[key]);
}

const fixed = (digits) => ({ minimumFractionDigits: digits, maximumFractionDigits: digits });

export const percent = (value, digits = 2) =>
  new Intl.NumberFormat(spoken, { style: "percent", ...fixed(digits) }).format(value);

// A probability that may be an estimate; those are rounded, and marked.
export const chance = (value, exact) => (exact ? percent(value) : say("aboutWin", { win: percent(value, 1) }));

// A difference of probabilities in percentage points, and any number with few digits.
export const points = (value, digits = 2) => new Intl.NumberFormat(spoken, fixed(digits)).format(100 * value);
export const few = (value) => new Intl.NumberFormat(spoken, { maximumSignificantDigits: 2 }).format(value);
export const whole = (value) => new Intl.NumberFormat(spoken).format(value);

// Put the words of the language into the page.
export function translate(root) {
  root.documentElement.lang = spoken;
  for (const element of root.querySelectorAll("[data-t]")) element.textContent = say(element.dataset.t);
  for (const element of root.querySelectorAll("[data-label]")) {
    element.setAttribute("aria-label", say(element.dataset.label));
  }
}
