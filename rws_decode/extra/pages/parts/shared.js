"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const byId = id => document.getElementById(id);
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

/** Make an element of HTML. Strings among its children become text, never markup. */
function make(name, attributes = {}, ...children) {
  return dress(document.createElement(name), attributes, children);
}

/** Make an element of SVG. */
function draw(name, attributes = {}, ...children) {
  return dress(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function dress(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** Return a number as it is read: four digits, with a true minus. */
function figures(value, digits = 4) {
  if (value === null || Number.isNaN(value)) return "not known";
  if (!Number.isFinite(value)) return value > 0 ? "infinite" : "\u2212infinite";
  return String(Number(value.toPrecision(digits))).replace("-", "\u2212");
}

/** Return a word as it is shown: blanks at its ends left out, line ends and lone blanks made visible. */
function shown(word) {
  const visible = word.replace(/\r?\n/g, "\u21b5").replace(/\t/g, "\u21e5");
  return visible.trim() || (visible ? "\u2423" : "\u2205");
}

/** Return the colours that a property of the style sheet lists; they change with the colour scheme. */
function colours(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim().split(/\s+/);
}

/** Return the colour at a place from 0 to 1 of a list of colours, mixed between neighbours. */
function mixed(list, place) {
  const at = clamp(place, 0, 1) * (list.length - 1), first = Math.min(Math.floor(at), list.length - 2);
  const channels = colour => [1, 3, 5].map(from => parseInt(colour.slice(from, from + 2), 16));
  const [low, high] = [channels(list[first]), channels(list[first + 1])];
  return `rgb(${low.map((value, c) => Math.round(value + (high[c] - value) * (at - first))).join(" ")})`;
}

/** Return round numbers from low to high, about `most` of them. */
function ticks(low, high, most) {
  const rough = (high - low) / Math.max(1, most) || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(times => times * power).find(size => size >= rough * 0.999);
  const values = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + 1e-9 * step; n += 1) values.push(n * step);
  return values;
}

/** Call `paint` now, when the width changes, and when the colour scheme does. */
function repaint(element, paint) {
  let width = 0;
  new ResizeObserver(() => {
    if (element.clientWidth !== width) paint(width = element.clientWidth);
  }).observe(element);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => paint(width));
  paint(width = element.clientWidth);
}

/** Give a sentence as much room as the longest of all takes, so that what stands below stays where it is. */
function keepRoom(element, sentences) {
  const longest = sentences.reduce((one, other) => (other.length > one.length ? other : one), "");
  repaint(element, () => {
    const said = element.textContent;
    element.style.minHeight = "";
    element.textContent = longest;
    element.style.minHeight = `${element.offsetHeight}px`;
    element.textContent = said;
  });
}

/** Let an element grow and never shrink while its width stays, for the same reason: call the result after a change. */
function onlyGrows(element) {
  repaint(element, () => { element.style.minHeight = ""; });
  return () => { element.style.minHeight = `${element.offsetHeight}px`; };
}

/** Say a sentence to screen readers once nothing has changed for a while, so that dragging and playing stay quiet. */
const say = (() => {
  let waiting = 0;
  return sentence => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { byId("status").textContent = sentence; }, 700);
  };
})();

/** The box with details, at a point of the window: `lines`, the first one large. Without lines it goes. */
function tip(lines, x, y) {
  const box = byId("tip");
  box.hidden = !lines;
  if (!lines) return;
  box.replaceChildren(make("b", {}, lines[0]), ...lines.slice(1).map(line => make("span", {}, line)));
  const { width, height } = box.getBoundingClientRect(), room = document.documentElement.clientWidth;
  const above = y - height - 14 > 0 ? y - height - 14 : y + 18;
  box.style.left = `${clamp(x - width / 2, 4, Math.max(4, room - width - 4)) + scrollX}px`;
  box.style.top = `${above + scrollY}px`;
}

/** Keys for the whole page: `keys` maps a key to what it does, unless the element with the focus uses that key. */
function onKeys(keys) {
  document.addEventListener("keydown", event => {
    if (event.altKey || event.ctrlKey || event.metaKey || !(event.key in keys)) return;
    const at = event.target;
    if (at.matches("textarea, select, input[type=text]")) return;
    const own = at.matches("input[type=range]") ? event.key !== " "
      : event.key === " " && at.matches("button, input, a, summary, select");
    if (own) return;
    event.preventDefault();
    keys[event.key]();
  });
}

/** Make the frame of a notebook as high as the page. */
function fitFrame() {
  let frame = null;
  try { frame = window.frameElement; } catch { /* a frame of another origin keeps its height */ }
  if (!frame) return;
  const fit = () => { frame.style.height = `${Math.ceil(document.body.getBoundingClientRect().height)}px`; };
  new ResizeObserver(fit).observe(document.body);
  fit();
}

addEventListener("scroll", () => tip(null), { passive: true });
// Nothing moves before the reader has done something.
for (const kind of ["keydown", "pointerdown"]) {
  addEventListener(kind, () => document.documentElement.classList.add("moving"), { capture: true, once: true });
}
fitFrame();
