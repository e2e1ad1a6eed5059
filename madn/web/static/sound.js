// Sounds without files; they are off unless the visitor wants them.

import { setting } from "./storage.js";

let context = null;

function ready() {
  if (!setting("sound")) return null;
  try {
    context ??= new AudioContext();
    context.resume();
    return context;
  } catch {
    return null; // no sound here
  }
}

function tone(frequency, begin, length, { end = frequency, type = "sine", loud = 0.18 } = {}) {
  const audio = ready();
  if (!audio) return;
  const now = audio.currentTime + begin;
  const [source, volume] = [audio.createOscillator(), audio.createGain()];
  source.type = type;
  source.frequency.setValueAtTime(frequency, now);
  source.frequency.exponentialRampToValueAtTime(end, now + length);
  volume.gain.setValueAtTime(loud, now);
  volume.gain.exponentialRampToValueAtTime(0.001, now + length);
  source.connect(volume).connect(audio.destination);
  source.start(now);
  source.stop(now + length);
}

export const hop = () => tone(420, 0, 0.07, { end: 640, type: "triangle" });
export const rattle = () => [0, 0.07, 0.13, 0.2, 0.3, 0.42].forEach((begin) => tone(1900 - 300 * Math.random(), begin, 0.03, { end: 700, type: "square", loud: 0.05 }));
export const capture = () => tone(330, 0, 0.4, { end: 70, type: "sawtooth", loud: 0.14 });
export const home = () => [660, 880].forEach((frequency, at) => tone(frequency, at * 0.09, 0.16));
export const win = () => [523, 659, 784, 1047].forEach((frequency, at) => tone(frequency, at * 0.13, 0.3));
export const lose = () => [392, 349, 311, 262].forEach((frequency, at) => tone(frequency, at * 0.16, 0.3, { type: "triangle" }));
