// A row: every field with who wrote it when, and its past. A moment of it can be brought back.

import { chip, empty, h, said, section, table, title } from "/elements.js";
import { act, ask } from "/requests.js";
import { count, dateTime, device, exactTime, list, time, valueView } from "/words.js";

export function question(route, signal) {
  const [name, ...key] = route.parts;
  const object = route.query.get("object");
  return ask("row", object ? { table: name, object } : { table: name, key: key.map((part) => part === "\u0000" ? "" : part) }, signal);
}

function fieldTable(row) {
  const heads = [{ title: "Column", isHead: true }, { title: "Value" }, { title: "Written by" }, { title: "When" }];
  return table(`Fields of ${row.table}`, heads, row.fields.map((one) => [
    [one.column, one.policy ? [" ", chip(one.policy)] : null],
    valueView(one.value), one.device ? device(one.device) : h("span", { class: "quiet" }, one.column === row.fields[0].column ? "this device’s key" : "–"),
    one.device ? time(one.timeMilliseconds) : "",
  ]), { class: "fields stacked" });
}

const verbs = { insert: "added the row", update: "changed", delete: "deleted the row" };

function moment(row, change, context) {
  if (!context.mayAct || change.timeMilliseconds === undefined || change.operation === "delete") return null;
  // The row is what its newest change made of it.
  if (change === row.changes.at(-1) && row.presence === "shown" && !row.isUnpacked) return null;
  const body = { table: row.table, key: row.keyWords, object: row.object, atMilliseconds: change.timeMilliseconds, at: change.at };
  const open = () => context.asking(async () => {
    const plan = await act("restore-row", { ...body, dryRun: true });
    if (plan.action === "unchanged") return { title: "The row is as it was then", text: plan.sentence, isDone: true };
    return {
      title: `Bring back ${dateTime(change.timeMilliseconds)}?`,
      text: `${plan.sentence} This is an ordinary change: the next sync sends it, and it can be undone in the same way.`,
      notes: [...plan.gaps.map((gap) => `${gap.device}: ${gap.reason}`),
        ...plan.withoutReference.map((column) => `${column} referred to a row that is gone, and would be left out.`)],
      verb: "Bring it back",
      doIt: async () => (await act("restore-row", body)).sentence,
    };
  });
  return h("button", { type: "button", class: "slight", id: `moment-${row.object}-${change.timeMilliseconds}-${change.sequence}`, onclick: open,
    "aria-label": `Bring back the row as of ${dateTime(change.timeMilliseconds)}` }, "Bring back this moment");
}

function timeline(row, context) {
  if (!row.changes.length) return empty("The logs in the container hold no change of this row.");
  return h("ol", { class: "timeline" }, row.changes.toReversed().map((change) => {
    const values = Object.entries(change.values);
    return h("li", {},
      h("p", { class: "what" }, device(change.device), " ", verbs[change.operation], " ",
        change.operation === "update" ? h("b", {}, list(values.map(([name]) => name))) : null,
        h("span", { class: "when" }, exactTime(change.timeMilliseconds))),
      values.length ? h("dl", { class: "written" }, values.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, valueView(value))))) : null,
      moment(row, change, context));
  }));
}

const tones = { hidden: "wait", joined: "wait", deleted: "quiet", unknown: "quiet" };

function part(row, answer, context, isOne) {
  const id = row.object.slice(0, 8);
  return [
    isOne ? null : h("h2", { id: `object-${id}` }, `Object ${id}`),
    row.presence === "shown" ? null : h("p", { class: "lead" }, chip(row.presence, tones[row.presence]), " ", row.presenceSentence),
    row.isUnpacked ? h("p", { class: "quiet" }, "The row was written on this device since the last sync. Who wrote each field is told as of that sync.") : null,
    section(`fields-${id}`, "Fields", row.fields.length ? fieldTable(row) : empty("Nothing is known of its fields here.")),
    section(`past-${id}`, "Its past", timeline(row, context),
      row.furtherChanges ? h("p", { class: "quiet" }, said(`${count(row.furtherChanges, "older change")} of the row ${row.furtherChanges === 1 ? "is" : "are"} not shown. \`ferry history\` tells all.`)) : null),
  ];
}

export function view(answer, route, context) {
  const first = answer.rows[0];
  const name = first.keyWords.length ? first.keyWords.join(", ") : first.object.slice(0, 8);
  return [
    h("p", { class: "back" }, h("a", { href: `#/rows/${encodeURIComponent(first.table)}`, id: "back" }, `← ${first.table}`)),
    title(`${first.table} ${name}`.slice(0, 120)),
    answer.rows.length > 1 ? h("p", { class: "lead" }, `${answer.rows.length} rows have or had this key.`) : null,
    answer.rows.map((row) => part(row, answer, context, answer.rows.length === 1)),
    answer.gaps.length ? h("ul", { class: "sentences" }, answer.gaps.map((gap) => h("li", { class: "wait" }, `${gap.device}: ${gap.reason}`))) : null,
    answer.unpacked ? h("p", { class: "quiet" }, "What was written since the last sync is not in the past yet.") : null,
  ];
}
