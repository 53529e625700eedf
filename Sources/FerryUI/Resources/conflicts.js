// Conflicts: what concurrent writes lost, beside what was kept.

import { chip, empty, h, title } from "/elements.js";
import { act, ask } from "/requests.js";
import { fieldTable } from "/row.js";
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

function words(conflict) {
  switch (conflict.kind) {
    case "deleted": return { what: "The row was deleted while somebody changed it", lost: "its changes", kept: "its deletion" };
    case "revived": return { what: "The row was changed while somebody deleted it", lost: "its deletion", kept: "its changes" };
    case "joined": return { what: `Two rows became one, with different values of ${conflict.column}` };
    default: return { what: `Two values of ${conflict.column}` };
  }
}

function side(name, one, rest, tone) {
  return h("div", { class: `side ${tone}` }, h("h3", {}, name),
    h("div", { class: "said" }, rest ? h("span", { class: "quiet" }, rest) : valueView(one.value)),
    h("p", { class: "by" }, device(one.device), " ", exactTime(one.timeMilliseconds)));
}

function around(conflict) {
  const inside = h("div", {}, h("p", { class: "quiet" }, "Reading…"));
  let isAsked = false;
  async function open() {
    if (isAsked) return;
    isAsked = true;
    try {
      const key = conflict.keyWords.length ? { key: conflict.keyWords } : { object: conflict.object };
      const { value } = await ask("row", { table: conflict.table, ...key });
      const row = value.rows.find((one) => one.object === conflict.object) ?? value.rows[0];
      inside.replaceChildren(h("p", { class: "quiet" }, row.presenceSentence), fieldTable(row, [conflict.column]));
    } catch (error) {
      isAsked = false;
      inside.replaceChildren(h("p", { class: "quiet" }, error.message));
    }
  }
  return h("details", { id: `around-${conflict.number}`, ontoggle: (event) => event.target.open && open() },
    h("summary", {}, "The row around it"), inside);
}

function card(conflict, context) {
  const said = words(conflict);
  const done = async (name, body, tell) => context.doing(async () => tell(await act(name, body)));
  const buttons = context.mayAct && !conflict.resolvedMilliseconds ? h("div", { class: "buttons" },
    h("button", { type: "button", id: `restore-${conflict.number}`, class: "main",
      onclick: () => done("restore-conflict", { number: conflict.number }, (answer) => `${answer.sentence} The conflict is settled.`) },
    "Bring back what was lost"),
    h("button", { type: "button", id: `settle-${conflict.number}`,
      onclick: () => done("resolve", { numbers: [conflict.number] }, () => "The conflict is settled. Nothing was changed.") }, "Keep it as it is")) : null;
  return h("article", { class: "card", "aria-labelledby": `conflict-${conflict.number}` },
    h("header", {}, h("h2", { id: `conflict-${conflict.number}` }, said.what, " in ", rowLink(conflict, `row-${conflict.number}`)),
      h("p", { class: "quiet" }, "Conflict ", number(conflict.number), ", noticed here ", time(conflict.noticedMilliseconds),
        conflict.resolvedMilliseconds ? [", ", chip("settled", "good"), " ", time(conflict.resolvedMilliseconds)] : null)),
    h("div", { class: "sides" }, side("Kept", conflict.kept, said.kept, "kept"), side("Lost", conflict.lost, said.lost, "lost")),
    buttons, around(conflict));
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
      : empty(isSettled ? "No conflict has been settled on this device." : "Nothing was lost. No two devices wrote the same field at the same time."),
    answer.nextBefore ? h("p", { class: "pages" }, h("a", { class: "button", id: "older", href: place({ before: answer.nextBefore }, route) }, "Older conflicts")) : null,
  ];
}
