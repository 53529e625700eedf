// The page: which view is shown, when it asks anew, and what a person is told.

import * as conflicts from "/conflicts.js";
import * as container from "/container.js";
import { empty, h, said, swap, title } from "/elements.js";
import * as hidden from "/hidden.js";
import * as overview from "/overview.js";
import { ask, listen, Refusal } from "/requests.js";
import * as row from "/row.js";
import * as rows from "/rows.js";
import { growOlder, meet, number, setClock } from "/words.js";

const views = {
  "": { name: "Overview", module: overview },
  conflicts: { name: "Conflicts", module: conflicts, count: (known) => known.conflicts },
  rows: { name: "Rows", module: rows },
  hidden: { name: "Not shown as written", module: hidden, count: (known) => known.notShown },
  container: { name: "Container", module: container },
};
const modules = { ...Object.fromEntries(Object.entries(views).map(([place, one]) => [place, one.module])), row };

const byID = (id) => document.getElementById(id);
const main = byID("content");

let summary = null;
let shown = { place: null, text: null };
// What is being asked now.
let asking = null;

function decoded(part) {
  try { return decodeURIComponent(part); } catch { return part; }
}

function route() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [view, ...parts] = path.split("/");
  return { view, parts: parts.filter((part) => part !== "").map(decoded), query: new URLSearchParams(query), place: location.hash };
}

function drawViews() {
  const present = route().view === "row" ? "rows" : route().view;
  swap(byID("views"), h("ul", {}, Object.entries(views).map(([place, one]) => {
    const found = summary && one.count ? one.count(summary) : 0;
    return h("li", {}, h("a", { href: `#/${place}`, id: `view-${place}`, "aria-current": place === present && "page" }, one.name,
      found ? h("span", { class: "badge" }, h("span", { class: "unseen" }, ", "), number(found)) : null));
  })));
}

function say(words, isBad = false) {
  const place = byID(isBad ? "alert" : "notice");
  place.replaceChildren(...said(words));
  clearTimeout(place.timer);
  if (words) place.timer = setTimeout(() => place.replaceChildren(), isBad ? 12000 : 7000);
}

function problem(error) {
  if (error instanceof Refusal && error.status === 401) {
    return [title("This page is locked"), empty(error.message, "The address has a token behind the #. It changes whenever `ferry ui` starts.")];
  }
  return [title("There is nothing to show now"), empty(error.message)];
}

// A program that writes all the time does not keep the database busy with questions: nine tenths of the time it has for itself.
let quietUntil = 0;
let timer = null;

/** Shows news, now or after a while. */
function hear() {
  if (timer) return;
  const rest = quietUntil - performance.now();
  if (rest <= 0) return show();
  timer = setTimeout(() => { timer = null; show(); }, rest);
}

/** Asks for the present view, and shows it where anything is new. News that come meanwhile are asked for afterwards. */
async function show({ isNew = false } = {}) {
  const here = route();
  const module = Object.hasOwn(modules, here.view) ? modules[here.view] : null;
  if (!module) { location.hash = "#/"; return; }
  if (asking && asking.place === here.place && !isNew) { asking.isAgain = true; return; }
  asking?.abort.abort();
  const own = asking = { place: here.place, abort: new AbortController(), isAgain: false };
  const start = performance.now();
  if (isNew) main.setAttribute("aria-busy", "true");
  let text, content;
  try {
    const signal = own.abort.signal;
    const [answer, known] = await Promise.all([module.question(here, signal), ask("summary", {}, signal)]);
    learn(known.value);
    [text, content] = [answer.text, module.view(answer.value, here, context)];
  } catch (error) {
    if (error.name === "AbortError") return;
    [text, content] = [`problem ${error.message}`, problem(error)];
  }
  if (own !== asking) return;
  asking = null;
  quietUntil = performance.now() + Math.max(1000, 10 * (performance.now() - start));
  if (own.isAgain) hear();
  main.removeAttribute("aria-busy");
  drawViews();
  // The time of the answer alone is no news.
  const bare = text.replace(/"(nowMilliseconds|durationMilliseconds)":\d+/g, "");
  if (shown.place === here.place && shown.text === bare && !isNew) return growOlder();
  shown = { place: here.place, text: bare };
  main.classList.toggle("wide", here.view === "rows");
  main.dataset.shown = here.place;
  const former = byID("title")?.textContent;
  swap(main, ...content.flat(4).filter(Boolean));
  const heading = byID("title");
  // Whoever does not see the page hears of news that change what the view says first.
  byID("news").textContent = isNew || heading?.textContent === former ? "" : heading?.textContent ?? "";
  document.title = `${heading?.textContent ?? "Ferry"} · ${summary?.database ?? "Ferry"}`;
  if (isNew) {
    scrollTo(0, 0);
    // On a phone the names of the views are wider than the window.
    document.querySelector(".views [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
    heading?.focus({ preventScroll: true });
  }
}

/** Takes up what every view needs: names, the clock, and the counts beside the names of views. */
function learn(answer) {
  summary = answer;
  setClock(answer.nowMilliseconds);
  meet(answer.devices);
  byID("database").textContent = answer.database;
  context.mayAct = !answer.readOnly;
}

const context = {
  mayAct: false,
  /** Does something, tells what came of it, and shows the view anew. */
  async doing(work) {
    try { say(await work()); } catch (error) { say(error.message, true); }
    await show();
  },
  /** Asks before something is done. */
  async asking(prepare) {
    let plan;
    try { plan = await prepare(); } catch (error) { return say(error.message, true); }
    const dialog = byID("question");
    const buttons = [h("button", { type: "button", id: "question-no", onclick: () => dialog.close() }, plan.isDone ? "Close" : "Leave it")];
    if (!plan.isDone) {
      buttons.push(h("button", { type: "button", class: "main", id: "question-yes", onclick: () => {
        dialog.close();
        context.doing(plan.doIt);
      } }, plan.verb));
    }
    dialog.replaceChildren(h("h2", { id: "question-title" }, plan.title), h("p", {}, said(plan.text)),
      plan.notes?.length ? h("ul", {}, plan.notes.map((note) => h("li", {}, note))) : "", h("div", { class: "buttons" }, buttons));
    dialog.showModal();
  },
};

function live(words, tone) {
  byID("live").className = `live ${tone}`;
  if (byID("live-words").textContent !== words) byID("live-words").textContent = words;
}

let known = null;
let stop = null;

function begin() {
  stop?.();
  stop = listen({
    onOpen: () => live("Live", "good"),
    onNews: (news) => {
      if (known !== news) hear();
      known = news;
    },
    onLoss: (error) => {
      known = null;
      live(error.status === 401 ? "Locked" : "Not connected", "bad");
    },
  });
}

// A page that nobody sees asks nothing.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) { stop?.(); stop = null; known = null; } else if (!stop) begin();
});
addEventListener("hashchange", () => show({ isNew: true }));
byID("skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
// The plot is drawn for the width of the window.
matchMedia("(max-width: 46rem)").addEventListener("change", () => { shown.text = null; show(); });
setInterval(growOlder, 15000);

drawViews();
show({ isNew: true });
begin();
