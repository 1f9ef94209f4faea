// A tolerant JSON parser that says exactly what is wrong with a text, and where.
//
// Faults (a repeated key, NaN, a number that is too large, a lone surrogate) concern one value, and parsing goes on.
// A syntax error (`Broken`) ends it. Places are indexes of the text.

import { BAD_BYTE } from "./text.js";

export const MAX_DEPTH = 100;

export class Broken extends Error {
  constructor(code, at, message, hint = null) {
    super(message);
    Object.assign(this, { code, at, hint });
  }
}

const SPACE = /[ \t\n\r]*/y;
const STRING = /"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"/y;
const STRING_START = /"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9A-Za-z_.+-])/y;
const WORD = /-?[A-Za-z_$][A-Za-z0-9_$]*/y;
const TOKEN = /"[^"\\]*(?:\\[^][^"\\]*)*"|["{}[\]]/g;
const ANY_STRING = /"[^"\\]*(?:\\[^][^"\\]*)*"/y;
const SCALAR_END = /[ \t\n\r,\]}]/g;
const CUT_OFF =
  /(?:-?(?:0|[1-9][0-9]*)?(?:\.[0-9]*)?(?:[eE][+-]?)?|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?|N(?:a)?|-?I(?:n(?:f(?:i(?:n(?:it?)?)?)?)?)?)$/y;
const RUN = /[^ \t\n\r,:"\]}]*/y;
const WORDS = { true: true, false: false, null: null };
const NOT_FINITE = new Set(["NaN", "Infinity", "-Infinity"]);
const FROM_PYTHON = "if it is Python data, write it with json.dump(data, file), not with str(data)";
const WORD_HINTS = {
  True: `write true; ${FROM_PYTHON}`, False: `write false; ${FROM_PYTHON}`, None: `write null; ${FROM_PYTHON}`,
  undefined: "write null", nan: "omit the value, or write null where that is allowed", inf: "write a finite number",
};
const LATE_MARK_HINT = "remove it: it is only allowed at the start of a file; were files concatenated?";

function matchAt(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

export function skipSpace(text, at) {
  SPACE.lastIndex = at;
  SPACE.test(text);
  return SPACE.lastIndex;
}

const notUtf8 = (at) => new Broken("MC007", at, "this byte is not valid UTF-8", "save the file as UTF-8");
const truncated = (text, where) =>
  new Broken("MC011", text.length, `the text ends ${where}`, "the file may be truncated; check that it was written completely");
const isBadByte = (text, at) => BAD_BYTE.test(text.slice(Math.max(0, at - 1), at + 1).slice(at ? 1 : 0)) && isLone(text, at);
const isLone = (text, at) => (text.charCodeAt(at) & 0xfc00) === 0xdc00 && (text.charCodeAt(at - 1) & 0xfc00) !== 0xd800;

/** The string that opens here, and the place after it. */
export function readString(text, at) {
  const match = matchAt(STRING, text, at);
  const bad = BAD_BYTE.exec(match ? match[0] : (matchAt(STRING_START, text, at)?.[0] ?? ""));
  if (bad) throw notUtf8(at + bad.index);
  if (!match) throw badString(text, at);
  return { value: JSON.parse(match[0]), end: at + match[0].length };
}

function badString(text, at) {
  matchAt(STRING_START, text, at);
  const stop = STRING_START.lastIndex;
  if (stop >= text.length) return truncated(text, "inside a string");
  const char = text[stop];
  if (char === "\0") return new Broken("MC008", stop, "a NUL byte in a string", "remove it; the file may be damaged or binary");
  if (char === "\\") {
    if (text.length - stop < 6 && /^\\(?:u[0-9a-fA-F]*)?$/.test(text.slice(stop))) return truncated(text, "inside a string");
    const cut = /^\\(?:u[0-9a-fA-F]{0,3})?/.exec(text.slice(stop, stop + 6))[0];
    if (isBadByte(text, stop + cut.length)) return notUtf8(stop + cut.length);
    return new Broken("MC021", stop, "an invalid escape", "write \\\\ for a backslash");
  }
  const code = text.charCodeAt(stop).toString(16).padStart(4, "0");
  if (char === "\t") return new Broken("MC021", stop, "a tab in a string", "write \\t");
  if (char === "\n" || char === "\r")
    return new Broken("MC021", stop, "a line break in a string", "close the string, or write \\n for a line break in it");
  return new Broken("MC021", stop, `the control character U+${code.toUpperCase()} in a string`, `remove it or write \\u${code}`);
}

/** The place after the value that starts here; -1 if the text ends first. Brackets are counted, whatever their kind. */
export function endOfValue(text, at) {
  const first = text[at];
  if (first === '"') return matchAt(ANY_STRING, text, at) ? ANY_STRING.lastIndex : -1;
  if (first !== "{" && first !== "[") {
    const found = matchAt(SCALAR_END, text, at);
    return found ? found.index : text.length;
  }
  TOKEN.lastIndex = at;
  let depth = 0;
  for (let match; (match = TOKEN.exec(text)); ) {
    const token = match[0];
    if (token === "{" || token === "[") depth += 1;
    else if (token === "}" || token === "]") {
      depth -= 1;
      if (depth === 0) return TOKEN.lastIndex;
    } else if (token === '"') return -1;
  }
  return -1;
}

/** The error for text after the end of a JSON value. */
export function afterEnd(text, at) {
  const first = text[at];
  if (first === "\0") return new Broken("MC008", at, "a NUL byte", "remove it; the file may be damaged or binary");
  if (first === "/" || first === "#") return comment(at);
  if (first === "\ufeff") return lateMark("MC014", at);
  if (isBadByte(text, at)) return notUtf8(at);
  let hint = null;
  if (first === "}" || first === "]") hint = "remove the extra closing bracket";
  else if (first === "{" || first === "[")
    hint = "keep one JSON value; for several records, write one per line and name the file .jsonl, or put them into a list";
  else if (first === ",") hint = "remove the comma";
  return new Broken("MC014", at, "text after the end of the JSON value", hint);
}

const comment = (at) => new Broken("MC013", at, "JSON does not allow comments", "remove all comments");
const lateMark = (code, at) => new Broken(code, at, "a byte order mark (U+FEFF) in the middle of the file", LATE_MARK_HINT);
export const trailingComma = (at) => new Broken("MC012", at, "a comma before the closing bracket", "remove the comma");

/** Parse the value at `at`; with `whole`, only white space may follow. `depth`: the levels around it. */
export function scan(text, at = 0, depth = 0, whole = true) {
  const scanned = new Scanner(text, depth).run(at);
  const rest = whole ? skipSpace(text, scanned.end) : text.length;
  if (rest < text.length) throw afterEnd(text, rest);
  return scanned;
}

/** One pass over one value. `place` has the places of all that is in it: {at, keys, values}. */
export class Scanner {
  constructor(text, depth = 0) {
    this.text = text;
    this.depth = depth;
    this.faults = [];
    this.path = [];
  }

  run(start) {
    const { text } = this;
    const stack = [];
    let at = skipSpace(text, start);
    for (;;) {
      const char = text[at];
      let value, place;
      if (char === "{" || char === "[") {
        if (this.depth + stack.length >= MAX_DEPTH) {
          place = { at };
          [value, at] = [null, this.#tooDeep(at)];
        } else {
          const isObject = char === "{";
          const inside = { value: isObject ? {} : [], isObject, place: { at, keys: new Map(), values: new Map() } };
          const after = skipSpace(text, at + 1);
          if (text[after] === (isObject ? "}" : "]")) [value, place, at] = [inside.value, inside.place, after + 1];
          else {
            stack.push(inside);
            at = isObject ? this.#key(inside, after) : after;
            if (!isObject) this.path.push(0);
            continue;
          }
        }
      } else {
        place = { at };
        [value, at] = this.#scalar(at);
      }
      for (;;) {
        if (!stack.length) return { value, place, end: at, faults: this.faults };
        const inside = stack[stack.length - 1];
        const token = this.path.pop();
        inside.place.values.set(token, place);
        if (!inside.isObject) inside.value.push(value);
        else if (token === "__proto__") Object.defineProperty(inside.value, token, { value, enumerable: true, writable: true });
        else inside.value[token] = value;
        at = skipSpace(text, at);
        const next = text[at];
        const closing = inside.isObject ? "}" : "]";
        if (next === ",") {
          at = this.#afterComma(inside, skipSpace(text, at + 1));
          break;
        }
        if (next !== closing) throw this.noComma(at, closing);
        stack.pop();
        [value, place, at] = [inside.value, inside.place, at + 1];
      }
    }
  }

  #afterComma(inside, at) {
    if (this.text[at] === "}" || this.text[at] === "]") throw trailingComma(at);
    if (inside.isObject) return this.#key(inside, at);
    this.path.push(inside.value.length);
    return at;
  }

  #key(inside, at) {
    const { text } = this;
    if (text[at] !== '"') throw this.noKey(at);
    const read = readString(text, at);
    let key = read.value;
    if (!key.isWellFormed()) {
      this.#fault("MC018", "a key with a lone surrogate", SURROGATE_HINT, at, [...this.path], true);
      key = key.toWellFormed();
    }
    if (Object.hasOwn(inside.value, key))
      this.#fault("MC015", "this key is repeated", "keep one of them", at, [...this.path, key], true);
    const colon = skipSpace(text, read.end);
    if (text[colon] !== ":") throw this.noColon(colon);
    inside.place.keys.set(key, at);
    this.path.push(key);
    return skipSpace(text, colon + 1);
  }

  #fault(code, message, hint, at, path = [...this.path], atKey = false) {
    this.faults.push({ code, message, hint, at, path, atKey });
  }

  #scalar(at) {
    const { text } = this;
    if (text[at] === '"') {
      const read = readString(text, at);
      if (read.value.isWellFormed()) return [read.value, read.end];
      this.#fault("MC018", "a lone surrogate", SURROGATE_HINT, at);
      return [read.value.toWellFormed(), read.end];
    }
    const number = matchAt(NUMBER, text, at);
    if (number) {
      const value = Number(number[0]);
      if (Number.isFinite(value)) return [value, at + number[0].length];
      this.#fault("MC017", "a number too large for a double", "the limit is about 1.8e308", at);
      return [0, at + number[0].length];
    }
    const word = matchAt(WORD, text, at);
    if (word) {
      if (Object.hasOwn(WORDS, word[0])) return [WORDS[word[0]], at + word[0].length];
      if (NOT_FINITE.has(word[0])) {
        this.#fault("MC016", "not a finite number", "write a number, or null where that is allowed", at);
        return [0, at + word[0].length];
      }
    }
    throw this.noValue(at);
  }

  #tooDeep(at) {
    this.#fault("MC019", `nested deeper than ${MAX_DEPTH} levels`, "flatten the structure", at, []);
    const end = endOfValue(this.text, at);
    if (end < 0) throw new Broken("MC019", at, `nested deeper than ${MAX_DEPTH} levels`, "flatten the structure");
    return end;
  }

  noValue(at) {
    const { text } = this;
    if (at >= text.length) return truncated(text, this.path.length ? "where a value is expected" : "before the first value");
    if ("}],:".includes(text[at])) return new Broken("MC010", at, `a value is missing before '${text[at]}'`);
    return this.unexpected(at, "expected a value");
  }

  noKey(at) {
    const { text } = this;
    if (at >= text.length) return truncated(text, "where a key is expected");
    const decimal = /[0-9],$/.test(text.slice(Math.max(0, at - 2), at)) && /[0-9]/.test(text[at]);
    return this.unexpected(at, "expected a key in double quotes", "MC023", decimal ? "write decimal numbers with a dot, not a comma" : null);
  }

  noColon(at) {
    if (at >= this.text.length) return truncated(this.text, "after a key");
    return this.unexpected(at, "expected ':' after the key", "MC010");
  }

  noComma(at, closing) {
    const { text } = this;
    if (at >= text.length) return truncated(text, `before the closing '${closing}'`);
    if (text[at] === "}" || text[at] === "]") return new Broken("MC010", at, `expected '${closing}', got '${text[at]}'`);
    return this.unexpected(at, text[at] === ":" ? "expected ',' or the end, got ':'" : "expected ','", "MC010");
  }

  /** The most specific error for an unexpected character. */
  unexpected(at, expected, wordCode = "MC023", hint = null) {
    const { text } = this;
    const rest = text.slice(at, at + 32);
    const bad = BAD_BYTE.exec(matchAt(RUN, text, at)[0]);
    if (bad && matchAt(CUT_OFF, text.slice(at, at + bad.index), 0)) return notUtf8(at + bad.index);
    if (matchAt(CUT_OFF, text, at)) return truncated(text, "inside a value");
    if (rest[0] === "\0") return new Broken("MC008", at, "a NUL byte", "remove it; the file may be damaged or binary");
    if (rest.startsWith("//") || rest.startsWith("/*") || rest[0] === "#") return comment(at);
    if (rest[0] === "\ufeff") return lateMark("MC010", at);
    if (rest.startsWith("```")) return new Broken("MC010", at, "a Markdown code fence", "keep only the JSON: remove the ``` lines and all other text around it");
    if (rest[0] === "'") return new Broken("MC023", at, "JSON strings need double quotes", `write "…"; ${FROM_PYTHON}`);
    if ("`‘’“”".includes(rest[0])) return new Broken("MC023", at, "JSON strings need double quotes", 'write "…" with straight quotes');
    const isKey = expected.includes("key in");
    if (/^(?:[-+]?\.?[0-9]|[-+]\.?)/.test(rest)) {
      if (wordCode === "MC010" || isKey) return new Broken("MC010", at, expected, hint);
      return new Broken("MC022", at, "not a JSON number", "omit leading zeros and '+', and write digits on both sides of the dot");
    }
    const word = matchAt(WORD, rest, 0);
    if (word && wordCode !== "MC010") {
      const about = isKey ? "put the key in double quotes" : (Object.hasOwn(WORD_HINTS, word[0]) ? WORD_HINTS[word[0]] : null);
      return new Broken("MC023", at, `${expected}, got a bare word`, about);
    }
    if (isBadByte(text, at)) return notUtf8(at);
    if (rest[0] === "\xa0") return new Broken("MC010", at, expected, "replace the no-break space (U+00A0) with a plain space");
    return new Broken("MC010", at, expected);
  }
}

const SURROGATE_HINT = "write the complete surrogate pair, or the character itself in UTF-8";

/** Where the value at a path is, and its key; of what is not there, the longest part of the path that is. */
export function findPlace(place, path) {
  let [value, key] = [place, place.at];
  for (const token of path) {
    const inside = value.values?.get(token);
    if (!inside) break;
    key = value.keys.get(token) ?? inside.at;
    value = inside;
  }
  return { value: value.at, key };
}

/** The value of a text if it is certainly right; undefined if it needs a closer look. `bad`: it may have bad bytes. */
export function quickParse(text, bad = true) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  // A repeated key is lost when parsing: as many colons are then missing from what was read.
  const seen = { keys: 0, colons: 0, doubtful: text.includes("\\u") || (bad && BAD_BYTE.test(text)) };
  if (!seen.doubtful) count(value, seen, 0);
  return seen.doubtful || seen.keys + seen.colons !== colonsIn(text) ? undefined : value;
}

function count(value, seen, depth) {
  if (typeof value === "string") seen.colons += colonsIn(value);
  else if (typeof value === "number") seen.doubtful ||= !Number.isFinite(value);
  else if (typeof value === "object" && value !== null) {
    if (depth >= MAX_DEPTH - 2) seen.doubtful = true;
    else if (Array.isArray(value)) for (const item of value) count(item, seen, depth + 1);
    else
      for (const key in value) {
        seen.keys += 1;
        seen.colons += colonsIn(key);
        count(value[key], seen, depth + 1);
      }
  }
}

function colonsIn(text) {
  let found = 0;
  for (let at = text.indexOf(":"); at >= 0; at = text.indexOf(":", at + 1)) found += 1;
  return found;
}
