// Makes elements. What comes from a database becomes text, and never markup: the page's policy forbids everything else.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(4)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

/** An element of HTML with attributes, listeners (`onclick`) and children. */
export function h(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** An element of SVG. */
export function s(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/** A table in a frame that scrolls by itself where the window is narrow. */
export function table(label, heads, rows, attributes = {}) {
  const head = h("tr", {}, heads.map((one) =>
    h("th", { scope: "col", class: one.isNumber && "number" }, one.isSilent ? h("span", { class: "unseen" }, one.title) : one.title)));
  const body = rows.map((cells) => h("tr", {}, cells.map((cell, place) => {
    const isHead = heads[place].isHead;
    return h(isHead ? "th" : "td", {
      scope: isHead && "row", class: heads[place].isNumber && "number", "data-label": typeof heads[place].title === "string" && heads[place].title,
    }, cell);
  })));
  return h("div", { class: "frame", role: "region", "aria-label": label },
    h("table", attributes, h("caption", { class: "unseen" }, label), h("thead", {}, head), h("tbody", {}, body)));
}

/** A heading with what belongs to it. */
export function section(id, title, ...children) {
  return h("section", { "aria-labelledby": id }, h("h2", { id }, title), children);
}

/** A title of a view, which gets the focus when the view opens. */
export function title(text, ...more) {
  return h("h1", { id: "title", tabindex: "-1" }, text, more);
}

/** A sentence whose words in backquotes are for a command line. */
export function said(text) {
  return String(text).split(/`([^`\n]+)`/).map((part, place) => place % 2 ? h("code", {}, part) : part);
}

/** What a view says where there is nothing. */
export function empty(sentence, more = "") {
  return h("div", { class: "empty" }, h("p", {}, said(sentence)), more && h("p", { class: "quiet" }, said(more)));
}

/** A short word in a frame. */
export function chip(words, tone = "") {
  return h("span", { class: `chip ${tone}` }, words);
}

/** Puts fresh content in the place of other content. The focus, opened details and half-written words stay. */
export function swap(place, ...fresh) {
  const active = document.activeElement;
  const focus = place.contains(active) ? active.id : null;
  const selection = active instanceof HTMLInputElement && focus ? [active.selectionStart, active.selectionEnd] : null;
  const opened = [...place.querySelectorAll("details[open][id]")].map((one) => one.id);
  const written = [...place.querySelectorAll("input[id]")].map((one) => [one.id, one.value]);
  const scrolled = [...place.querySelectorAll(".frame")].map((one) => one.scrollLeft);
  place.replaceChildren(...fresh);
  for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
  for (const [id, value] of written) {
    const input = document.getElementById(id);
    if (input) input.value = value;
  }
  place.querySelectorAll(".frame").forEach((one, index) => {
    // What scrolls can be scrolled by keyboard.
    if (one.scrollWidth > one.clientWidth) one.tabIndex = 0;
    one.scrollLeft = scrolled[index] ?? 0;
  });
  const target = focus && document.getElementById(focus);
  if (target) {
    target.focus({ preventScroll: true });
    if (selection) target.setSelectionRange(...selection);
  }
}
