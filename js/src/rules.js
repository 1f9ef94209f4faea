// The rules that are published with the schemas as data: about one object, and about all objects of a list.

import { StringSet, stripBlanks } from "./text.js";

export const get = (value, name) => value?.[name] ?? null;
const nested = (value, name) => name.split(".").reduce((each, part) => (each === null ? null : get(each, part)), value);

export function hasContent(value) {
  if (value === null || value === undefined || value === false) return false;
  if (typeof value === "string") return stripBlanks(value) !== "";
  if (Array.isArray(value)) return value.length > 0;
  return typeof value === "object" ? Object.keys(value).length > 0 : true;
}

/** Case, accents and punctuation removed, as the README of the schemas says, step by step. */
export function fold(text) {
  return text
    .toLowerCase()
    .normalize("NFD")
    .replace(/\p{M}+/gu, "")
    .replaceAll("\u00b5", "\u03bc")
    .replace(/(?<=\p{L})[\u2080-\u2089]+/gu, (digits) => [...digits].map((d) => d.charCodeAt(0) - 0x2080).join(""))
    .replace(/[^\p{L}\p{N}%.]|(?<!\p{Nd})\.|\.(?!\p{Nd})/gu, " ")
    .replace(/ +/g, " ")
    .trim();
}

/** The exact sum of doubles, rounded once (Shewchuk). */
export function exactSum(numbers) {
  let partials = [];
  for (let x of numbers) {
    const next = [];
    for (let y of partials) {
      if (Math.abs(x) < Math.abs(y)) [x, y] = [y, x];
      const high = x + y;
      const low = y - (high - x);
      if (low) next.push(low);
      x = high;
    }
    partials = [...next, x];
  }
  let n = partials.length;
  if (!n) return 0;
  let high = partials[--n];
  let low = 0;
  while (n > 0) {
    const x = high;
    const y = partials[--n];
    high = x + y;
    low = y - (high - x);
    if (low) break;
  }
  if (n > 0 && ((low < 0 && partials[n - 1] < 0) || (low > 0 && partials[n - 1] > 0))) {
    const y = low * 2;
    const x = high + y;
    if (y === x - high) high = x;
  }
  return high;
}

function dayExists(text) {
  const [year, month, day] = [text.slice(0, 4), text.slice(5, 7), text.slice(8, 10)].map(Number);
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
  return year >= 1 && day >= 1 && day <= (days[month - 1] ?? 0);
}

/** For each kind: the paths in an object at which the rule is violated. */
const OF_OBJECTS = {
  sum(rule, value) {
    const numbers = get(value, rule.field);
    if (numbers === null) return [];
    const total = exactSum(numbers);
    return total < rule.minimum || total > rule.maximum ? [[rule.field]] : [];
  },
  order(rule, value) {
    const [low, high] = rule.fields.map((name) => get(value, name));
    return low !== null && high !== null && high < low ? [[rule.fields[1]]] : [];
  },
  "calendar-date"(rule, value) {
    const date = get(value, rule.field);
    if (date === null) return [];
    if (typeof date === "string") return dayExists(date) ? [] : [[rule.field]];
    return date.flatMap((each, index) => (dayExists(each) ? [] : [[rule.field, index]]));
  },
  limit(rule, value) {
    const number = get(value, rule.field);
    const below = rule.below ?? null;
    return number !== null && number >= rule.minimum && (below === null || number < below) ? [[rule.field]] : [];
  },
  distinct(rule, value) {
    const seen = new Set();
    return (get(value, rule.field) ?? []).flatMap((item, index) => {
      const again = seen.has(item);
      seen.add(item);
      return again ? [[rule.field, index]] : [];
    });
  },
  requires(rule, value) {
    const mine = get(value, rule.field);
    const applies = (rule.value ?? null) === null ? hasContent(mine) : mine === rule.value;
    return applies && !hasContent(get(value, rule.requires)) ? [[rule.field]] : [];
  },
  "empty-when-failed"(rule, value) {
    const failed = !get(value, rule.flag) || hasContent(get(value, rule.text));
    return failed && get(value, rule.field)?.length ? [[rule.field]] : [];
  },
  "forbid-value"(rule, value) {
    return get(value, rule.field) === rule.value ? [[rule.field]] : [];
  },
  "forbid-pattern"(rule, value) {
    const pattern = new RegExp(rule.pattern, "u");
    const matches = (item) => pattern.test(stripBlanks(get(item, rule.field) ?? ""));
    if ((rule.items ?? null) === null) return matches(value) ? [[rule.field]] : [];
    return get(value, rule.items).flatMap((item, index) => (matches(item) ? [[rule.items, index, rule.field]] : []));
  },
  "any-above"(rule, value) {
    return Object.values(get(value, rule.field)).some((number) => number > rule.above) ? [] : [[rule.field]];
  },
  "require-any"(rule, value) {
    const found =
      [...(rule.texts ?? []), ...(rule.filled ?? [])].some((name) => hasContent(nested(value, name))) ||
      (rule.present ?? []).some((name) => nested(value, name) !== null);
    return found ? [] : [[rule.field]];
  },
  disjoint(rule, value) {
    const first = new Map();
    return rule.fields.flatMap((name) =>
      (nested(value, name) ?? []).flatMap((term, index) => {
        const folded = fold(term);
        if (!first.has(folded)) first.set(folded, name);
        return first.get(folded) === name ? [] : [[...name.split("."), index]];
      }),
    );
  },
  "unique-spellings"(rule, value) {
    const spellings = get(value, rule.field) ?? {};
    const listed = (rule.names ?? []).flatMap((name) => nested(value, name) ?? []);
    const owner = new Map([...listed, ...Object.keys(spellings)].map((name) => [fold(name), fold(name)]));
    return Object.entries(spellings).flatMap(([name, terms]) =>
      terms.flatMap((term, index) => {
        const folded = fold(term);
        if (!owner.has(folded)) owner.set(folded, fold(name));
        return owner.get(folded) === fold(name) ? [] : [[rule.field, name, index]];
      }),
    );
  },
};

/** The paths at which an object that the schema accepts violates a rule. */
export function checkObject(rule, value) {
  const check = OF_OBJECTS[rule.kind];
  if (!check) throw new Error(`the rule '${rule.kind}' is not supported`);
  return check(rule, value);
}

/**
 * The state of a rule about a list. `see` gets each valid record, and a function that locates a path in it. It returns the
 * path that violates the rule at once; `finish` returns the places of what is known only at the end.
 */
const OF_LISTS = {
  unique(rule) {
    const defaults = Object.fromEntries(rule.defaults ?? []);
    const part = (value, name) => get(value, name) ?? defaults[name] ?? null;
    const [only, ...more] = rule.fields;
    const keyOf = more.length ? (value) => JSON.stringify(rule.fields.map((name) => part(value, name))) : (value) => part(value, only);
    const seen = new StringSet();
    return { see: (value) => (seen.add(keyOf(value)) ? null : { path: [rule.fields.at(-1)], isRepeat: true }) };
  },
  constant(rule) {
    let first = null;
    let done = false;
    return {
      see(value) {
        const mine = get(value, rule.field);
        if (mine === null || done || first === null || mine.toLowerCase() === first.toLowerCase()) {
          first ??= mine;
          return null;
        }
        done = true;
        return { path: [rule.field] };
      },
    };
  },
  monotonic(rule) {
    const seen = [];
    return {
      see(value, index, locate) {
        const [by, mine] = [get(value, rule.by), get(value, rule.field)];
        if (by !== null && mine !== null) seen.push({ by, mine, place: locate([rule.field]) });
        return null;
      },
      finish() {
        const sorted = [...seen].sort((a, b) => a.by - b.by);
        return sorted.filter(({ mine }, place) => place > 0 && mine < sorted[place - 1].mine).map(({ place }) => place);
      },
    };
  },
  flag(rule) {
    const groups = new Map();
    const unsure = new Set();
    const by = rule.by ?? [];
    return {
      see(value, index, locate) {
        const name = get(value, rule.group);
        if (!groups.has(name)) groups.set(name, { first: locate([]), edge: null, flagged: [] });
        const group = groups.get(name);
        const key = by.map((field) => get(value, field));
        const order = group.edge === null ? 0 : compare(key, group.edge);
        if (group.edge === null || (rule.at === "first" ? order < 0 : order > 0)) group.edge = key;
        if (get(value, rule.field)) group.flagged.push({ key, place: locate([rule.field]) });
        return null;
      },
      miss(parsed) {
        const name = parsed?.[rule.group];
        unsure.add(typeof name === "string" ? name : null);
      },
      finish() {
        return [...groups].flatMap(([name, group]) => {
          const sure = !unsure.has(null) && !unsure.has(name);
          if (!group.flagged.length) return rule.at && sure ? [group.first] : [];
          const isRight = ({ key }) => !rule.at || compare(key, group.edge) === 0;
          const right = group.flagged.find(isRight) ?? (sure ? null : group.flagged[0]);
          return group.flagged.filter((each) => each !== right).map(({ place }) => place);
        });
      },
    };
  },
};

/** Compare two lists item by item: numbers as numbers, strings by code point. */
export function compare(one, other) {
  for (let place = 0; place < one.length; place++) {
    const [a, b] = [one[place], other[place]];
    const order = typeof a === "string" ? byCodePoint(a, String(b)) : a - b;
    if (order) return order;
  }
  return 0;
}

function byCodePoint(one, other) {
  const [a, b] = [[...one], [...other]];
  for (let place = 0; place < Math.min(a.length, b.length); place++)
    if (a[place] !== b[place]) return a[place].codePointAt(0) - b[place].codePointAt(0);
  return a.length - b.length;
}

export function beginList(rule) {
  const begin = OF_LISTS[rule.kind];
  if (!begin) throw new Error(`the rule '${rule.kind}' is not supported`);
  return { miss() {}, ...begin(rule), rule };
}
