// The texts of problems, from the same templates as the Python implementation, and guesses about misspelled names.

import { messages as texts } from "./contracts.js";

export const { messages: MESSAGES, hints: HINTS, names: NAMES, patterns: PATTERNS } = texts;
const { types: TYPES } = texts;

export const filled = (template, values) => template.replace(/\{(\w+)\}/g, (_, name) => values[name]);
export const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
export const isPlain = (name) => /^[A-Za-z_$][A-Za-z0-9_-]{0,63}$/.test(name);
export const expected = (types) => types.map((type) => TYPES[type] ?? type).join(" or ");

/** What a value is, in words. */
export function gotten(value) {
  if (value === null || typeof value === "boolean") return String(value);
  return TYPES[Array.isArray(value) ? "array" : typeof value];
}

const MOST_LISTED = 50;

export function listed(values) {
  const first = values.slice(0, MOST_LISTED).map((value) => (String(value).includes(",") ? `"${value}"` : value)).join(", ");
  return values.length <= MOST_LISTED ? first : `${first}, … (${values.length.toLocaleString("en")} values)`;
}

/** What to call the value at a path, before a message about it: the nearest key, unless it may be data. */
export function ofPath(path) {
  if (!path.length) return "";
  const name = path.findLast((token) => typeof token === "string");
  if (name === undefined || !isPlain(name)) return `${NAMES["may be data"]} `;
  return `${filled(typeof path.at(-1) === "number" ? NAMES.item : NAMES.key, { name })} `;
}

export function ofColumn(name) {
  if (name && isPlain(name)) return `${filled(NAMES.column, { name })} `;
  return `${NAMES[name ? "column that may be data" : "column without a name"]} `;
}

const folded = (name) => name.slice(0, 200).normalize("NFKD").toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");

/** A hint with the known name that is certainly meant: another spelling, or one or two typos; otherwise null. */
export function nearest(name, known, hint) {
  const mine = folded(name);
  const near = known.filter((each) => typeof each === "string" && isNear(mine, folded(each)));
  const same = near.filter((each) => folded(each) === mine);
  const found = same.length ? same : near;
  return found.length === 1 ? filled(HINTS[hint], { name: found[0] }) : null;
}

export const renameHint = (name, missing) => nearest(name, missing, "rename");

export function wrongNameHint(field, unknown) {
  const found = unknown.filter((name) => isPlain(name) && nearest(name, [field], "rename"));
  return found.length === 1 ? `rename '${found[0]}'` : null;
}

/** Whether two names differ by one typo, or by two if they are long. Short names must be equal. */
function isNear(one, other) {
  const shorter = Math.min(one.length, other.length);
  const limit = shorter < 4 ? 0 : shorter < 8 ? 1 : 2;
  return one === other || (limit > 0 && Math.abs(one.length - other.length) <= limit && distance(one, other) <= limit);
}

/** Insertions, deletions, replacements and swaps of neighbors. */
function distance(one, other) {
  let [before, row] = [[], Array.from({ length: other.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const cost = one[i - 1] === other[j - 1] ? 0 : 1;
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + cost);
      if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]) next[j] = Math.min(next[j], before[j - 2] + 1);
    }
    [before, row] = [row, next];
  }
  return row[other.length];
}
