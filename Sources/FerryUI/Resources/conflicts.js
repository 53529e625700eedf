// Conflicts: what concurrent writes lost, beside what was kept.

import { chip, empty, h, table, title } from "/elements.js";
import { act, ask } from "/requests.js";
import { count, device, exactTime, number, rowLink, time, valueView } from "/words.js";

export const question = (route, signal) => ask("conflicts", {
  table: route.query.get("table"), resolved: route.query.get("settled") ? "true" : null, before: route.query.get("before"),
}, signal);

function place(changes, route) {
  const query = new URLSearchParams();
  for (const name of ["table", "settled", "before"]) {
    const value = name in changes ? changes[name] : route.query.get(name);
    if (value) query.set(name, value);
  }
  return `#/conflicts${query.size ? `?${query}` : ""}`;
}

/** What happened, what each side is, and what bringing back means. */
function words(conflict) {
  const row = rowLink(conflict, `row-${conflict.number}`);
  switch (conflict.kind) {
    case "deleted": return { what: [row, " was deleted while somebody changed it"], lost: "its changes", kept: "its deletion", verb: "Bring back the row" };
    case "revived": return { what: [row, " was changed while somebody deleted it"], lost: "its deletion", kept: "its changes", verb: "Delete the row again" };
    case "joined": return { what: [row, ` is two rows in one, with two values of ${conflict.column}`], verb: "Bring back the lost value" };
    default: return { what: [row, ` has two values of ${conflict.column}`], verb: "Bring back the lost value" };
  }
}

function side(name, one, rest, tone) {
  return h("div", { class: `side ${tone}` }, h("h3", {}, name),
    h("div", { class: "said" }, rest ? h("span", { class: "quiet" }, rest) : valueView(one.value)),
    h("p", { class: "by" }, device(one.device), " ", exactTime(one.timeMilliseconds)));
}

/** The row as it is now, with the field marked. */
function around(conflict) {
  if (!conflict.around.length) return h("p", { class: "quiet" }, conflict.aroundProblem ?? "The row is not known here any more.");
  const heads = conflict.around.map((one, place) => ({
    title: one.column === conflict.column ? h("span", { class: "marked" }, one.column) : one.column, isHead: place === 0,
  }));
  return table(`The row around conflict ${conflict.number}`, heads, [conflict.around.map((one) => valueView(one.value, { isShort: true }))], { class: "data" });
}

/** What became of the field since; null where the kept value is still there. */
function wordsSince(conflict) {
  const field = conflict.around.find((one) => one.column === conflict.column);
  if (!field || !("value" in conflict.kept)) return null;
  const now = JSON.stringify(field.value);
  if (now === JSON.stringify(conflict.kept.value)) return null;
  return now === JSON.stringify(conflict.lost.value) ? "The row has the lost value now."
    : "Somebody has written the field again since: the row has neither value now.";
}

function card(conflict, context) {
  const said = words(conflict);
  const since = wordsSince(conflict);
  const done = async (name, body, tell) => context.doing(async () => tell(await act(name, body)));
  const buttons = context.mayAct && !conflict.resolvedMilliseconds ? h("div", { class: "buttons" },
    h("button", { type: "button", id: `restore-${conflict.number}`, class: "main",
      onclick: () => done("restore-conflict", { number: conflict.number }, (answer) => `${answer.sentence} The conflict is settled.`) },
    said.verb),
    h("button", { type: "button", id: `settle-${conflict.number}`,
      onclick: () => done("resolve", { numbers: [conflict.number] }, () => "The conflict is settled. Nothing was changed.") }, "Keep it as it is")) : null;
  return h("article", { class: "card", "aria-labelledby": `conflict-${conflict.number}` },
    h("header", {}, h("h2", { id: `conflict-${conflict.number}` }, said.what),
      h("p", { class: "quiet" }, "Conflict ", number(conflict.number), ", noticed here ", time(conflict.noticedMilliseconds),
        conflict.resolvedMilliseconds ? [", ", chip("settled", "good"), " ", time(conflict.resolvedMilliseconds)] : null)),
    h("div", { class: "sides" }, side("Kept", conflict.kept, said.kept, "kept"), side("Lost", conflict.lost, said.lost, "lost")),
    since ? h("p", { class: "note" }, since) : null,
    h("div", { class: "around" }, h("h3", {}, "The row now"), around(conflict)), buttons);
}

export function view(answer, route, context) {
  const isSettled = Boolean(route.query.get("settled"));
  const tabs = h("div", { class: "tabs", role: "group", "aria-label": "Which conflicts" },
    h("a", { href: place({ settled: null, before: null }, route), id: "tab-open", "aria-current": !isSettled && "true" }, "Open"),
    h("a", { href: place({ settled: "1", before: null }, route), id: "tab-settled", "aria-current": isSettled && "true" }, "Settled"));
  const choice = answer.tables.length > 1 ? h("label", { class: "choice" }, "Table ",
    h("select", { id: "table", onchange: (event) => { location.hash = place({ table: event.target.value, before: null }, route); } },
      h("option", { value: "" }, "all"),
      answer.tables.map((name) => h("option", { value: name, selected: name === route.query.get("table") }, name)))) : null;
  const heading = isSettled ? `${count(answer.total, "settled conflict")}`
    : answer.total ? `${count(answer.total, "conflict")} to look at` : "No conflicts";
  return [
    title(heading),
    h("p", { class: "lead" }, "Where two devices wrote the same field before they heard of each other, the later value is kept everywhere. "
      + "The other one is here."),
    h("div", { class: "choices" }, tabs, choice),
    answer.conflicts.length ? answer.conflicts.map((one) => card(one, context))
      : empty(isSettled ? "No conflict has been settled on this device." : "No conflict waits for a look here. Settled ones are under “Settled”."),
    answer.nextBefore ? h("p", { class: "pages" }, h("a", { class: "button", id: "older", href: place({ before: answer.nextBefore }, route) }, "Older conflicts")) : null,
  ];
}
