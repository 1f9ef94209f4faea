// Recognizes the contract of a file from its keys: one contract has to match better than all others.

import contracts from "./contracts.js";
import { endOfRow, otherSeparator, rowOf } from "./csv.js";
import { endOfValue, skipSpace } from "./json.js";

const URN = /^(?:urn:medcontract:|.*\/)?([a-z0-9-]+)[:/]([a-z0-9-]+)[:/]v1(?:[.:]draft-07)?(?:\.json)?$/;

/** The contract of the start of a text, or the problem: {id} or {problem}. `only`: the contracts that it may be of. */
export function recognize(text, container, only, isWhole) {
  const known = only.map((id) => contracts[id]);
  const seen = container === "csv" ? columnsOf(text, isWhole) : container === "json" ? outlineOf(text) : recordOf(text);
  const schema = URN.exec(seen.schema ?? "");
  if (schema && only.includes(`${schema[1]}/${schema[2]}`)) return { id: `${schema[1]}/${schema[2]}` };
  const isColumns = (keys) => known.some((contract) => COSTS.columns({ keys }, contract) < Infinity);
  const [code, message, hint] = (seen.header && otherSeparator(seen.header, isColumns)) ?? [];
  if (code) return { problem: { code, message, hint } };
  const costs = known
    .map(({ id, ...contract }) => ({ id, cost: COSTS[seen.kind]?.(seen, contract) ?? Infinity }))
    .filter(({ cost }) => cost < Infinity)
    .sort((a, b) => a.cost - b.cost);
  const best = costs.filter(({ cost }) => cost === costs[0].cost).map(({ id }) => id);
  if (best.length === 1 && !isDoubtful(contracts[best[0]], seen, known)) return { id: best[0] };
  const about = best.length > 1 ? `it matches ${best.join(", ")} equally well` : "its keys match no contract";
  return { problem: { code: "MC009", message: `the contract cannot be recognized: ${about}`, hint: "specify the contract" } };
}

const missing = (required, keys) => required.filter((name) => !keys.has(name)).length;
const unknown = (keys, known) => [...keys].filter((name) => !known.includes(name)).length;
const cost = (keys, required, known) => missing(required, keys) + unknown(keys, known);
const halfPresent = (keys, required) => required.length > 0 && 2 * missing(required, keys) <= required.length;
const eligible = (keys, forms) => forms.filter((form) => !form.includes("error") || keys.has("error"));
const ofForms = (keys, forms, known) =>
  Math.min(...eligible(keys, forms).filter((form) => halfPresent(keys, form)).map((form) => cost(keys, form, known)));

const COSTS = {
  columns: ({ keys }, { column_forms, columns }) => ofForms(keys, column_forms, (columns ?? []).map(({ column }) => column)),
  record: ({ keys }, { forms, record }) => ofForms(keys, forms, record),
  file({ keys, lists }, { kind, list_key, header, header_required, forms, record }) {
    const requiresNothing = kind === "document" && !header_required.length;
    const mostlyKnown = requiresNothing && 2 * (keys.size - unknown(keys, header)) > keys.size;
    if (!keys.has(list_key) && !halfPresent(keys, header_required) && !mostlyKnown) return Infinity;
    let sum = cost(keys, header_required, header) + (requiresNothing && !list_key ? 1 : 0);
    if (list_key && !keys.has(list_key)) sum += Math.min(...forms.map(({ length }) => length));
    const first = lists.get(list_key);
    if (first?.size) sum += Math.min(...eligible(first, forms).map((form) => cost(first, form, record)));
    return sum;
  },
};

/** Whether a contract that allows other keys is one of several that a file may be of. */
function isDoubtful({ id, open, record, list_key }, { kind, keys, lists }, known) {
  if (!open) return false;
  const mine = kind === "file" ? (lists.get(list_key) ?? new Set()) : keys;
  const extra = new Set([...mine].filter((name) => !record.includes(name)));
  const track = id.split("/")[0];
  return known
    .filter((other) => other.id !== id && other.list_key && other.id.startsWith(`${track}/`))
    .some((other) => eligible(extra, [...other.forms, ...other.column_forms]).some((form) => halfPresent(extra, form.filter((name) => !record.includes(name)))));
}

function columnsOf(text, isWhole) {
  for (let at = 0; at < text.length; ) {
    const { closed, end } = endOfRow(text, at, isWhole || at === 0) ?? { closed: false, end: text.length };
    const row = rowOf(text.slice(at, end), closed, 1);
    if (row) return { kind: row.cells ? "columns" : "none", keys: new Set(row.cells), header: row.raw };
    at = end;
  }
  return { kind: "none", keys: new Set() };
}

function recordOf(text) {
  for (const line of text.split(/\r\n|\n|\r/, 1000)) {
    if (!line.trim()) continue;
    const found = keysOf(line, skipSpace(line, 0));
    if (found) return { kind: "record", keys: found.keys };
  }
  return { kind: "none", keys: new Set() };
}

function outlineOf(text) {
  const start = skipSpace(text, 0);
  if (text[start] === "[") {
    const first = keysOf(text, skipSpace(text, start + 1));
    return { kind: first ? "record" : "none", keys: first?.keys ?? new Set() };
  }
  const found = keysOf(text, start);
  if (!found) return { kind: "none", keys: new Set() };
  found.keys.delete("$schema");
  return { kind: "file", ...found };
}

/** The keys of the object that starts here, as far as the text goes, and the keys of the first object in each list. */
function keysOf(text, start) {
  if (text[start] !== "{") return null;
  const found = { keys: new Set(), lists: new Map(), schema: null };
  for (let at = skipSpace(text, start + 1); text[at] === '"'; at = skipSpace(text, at + 1)) {
    const colon = skipSpace(text, endOfValue(text, at));
    if (text[colon] !== ":") break;
    let key;
    try {
      key = JSON.parse(text.slice(at, endOfValue(text, at)));
    } catch {
      break;
    }
    found.keys.add(key);
    const value = skipSpace(text, colon + 1);
    if (text[value] === "[") {
      const first = keysOf(text, skipSpace(text, value + 1));
      if (first) found.lists.set(key, first.keys);
    }
    const end = endOfValue(text, value);
    if (key === "$schema" && text[value] === '"' && end > 0) found.schema = text.slice(value + 1, end - 1);
    at = skipSpace(text, end);
    if (end < 0 || text[at] !== ",") break;
  }
  return found;
}
