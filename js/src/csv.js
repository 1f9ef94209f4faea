// A CSV file (RFC 4180) as rows, and rows as records.

import { BAD_BYTE, isBlankLine, stripBlanks } from "./text.js";

const CELL = '(?:"[^"]*(?:""[^"]*)*"(?!")[^,\\r\\n]*|[^",\\r\\n][^,\\r\\n]*|)';
const ROW = new RegExp(`${CELL}(?:,${CELL})*(?:\\r\\n|\\n|\\r)`, "y");
const LAST_ROW = new RegExp(`^${ROW.source}$`);
const ONE_CELL = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|$)/y;
const NUMBER_CELL = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
const JSON_START = /^[ \t]*[[{][ \t]*(?:["[{\]}]|[\r\n])/;
const BREAKS = /\r\n|\n|\r/g;
const BOOLEANS = { true: true, false: false, 1: true, 0: false };
const NOT_FINITE_CELLS = new Set(["nan", "infinity", "inf", "-infinity", "-inf"]);

/** The end of the row that starts here, and whether it is closed; null if the text may go on. */
export function endOfRow(text, at, isLast) {
  ROW.lastIndex = at;
  const closed = ROW.test(text);
  if (!isLast && !(closed && ROW.lastIndex < text.length)) return null;
  return { closed, end: closed ? ROW.lastIndex : text.length };
}

/** The cells of a row, or what is wrong with it, from its text and the number of the line where it starts. */
export function rowOf(raw, closed, line, mayBeBad = true) {
  const bare = withoutEnd(raw);
  if (isBlankLine(bare)) return null;
  const whole = closed || LAST_ROW.test(`${raw}\n`);
  return { line, raw: bare, ...(whole ? cellsOf(bare, mayBeBad) : { problem: ["MC030", "a quote in this row is not closed", 'close it with "'] }) };
}

const isBreak = (code) => code === 10 || code === 13;

function withoutEnd(raw) {
  let end = raw.length;
  while (end > 0 && isBreak(raw.charCodeAt(end - 1))) end -= 1;
  return raw.slice(0, end);
}

/** The number of line ends in the text of a row. */
export const linesIn = (raw) => (raw.includes('"') ? (raw.match(BREAKS)?.length ?? 0) : 1);

function cellsOf(text, mayBeBad) {
  if (text.includes("\0")) return { problem: ["MC008", "a NUL byte", "remove it; the file may be damaged or binary"] };
  if (mayBeBad && BAD_BYTE.test(text)) return { problem: ["MC007", "this byte is not valid UTF-8", "save the file as UTF-8"] };
  if (!text.includes('"')) return { cells: text.split(",") };
  const cells = [];
  ONE_CELL.lastIndex = 0;
  for (;;) {
    const match = ONE_CELL.exec(text);
    if (!match) {
      const mark = cells.length === 0 && text.startsWith("\ufeff");
      return { problem: ["MC032", mark ? "a byte order mark (U+FEFF) before the quote" : "a quote is not allowed here",
        'put the cell in double quotes and double those inside: "say ""hello"""'] };
    }
    cells.push(match[1] === undefined ? match[2] : match[1].replaceAll('""', '"'));
    if (!match[3]) return { cells };
  }
}

const SEPARATORS = { ";": "semicolons", "\t": "tabs", "|": "vertical bars" };

/** What is wrong with a header that has one cell, but columns that fit if they are separated in another way; otherwise null. */
export function otherSeparator(raw, fits) {
  for (const [separator, name] of Object.entries(SEPARATORS)) {
    const cells = raw.split(separator).map((cell) => stripBlanks(cell).replace(/^"(.*)"$/, "$1"));
    if (!raw.includes(",") && cells.length > 1 && fits(new Set(cells)))
      return ["MC005", `the columns are separated by ${name}, not by commas`, "separate the columns by commas"];
  }
  return null;
}

/** Whether a header is the text of a JSON file. */
export const isJson = (raw) => JSON_START.test(raw);

/** Converts the cells of rows to records. */
export class Layout {
  constructor(contract, header) {
    const place = new Map();
    header.forEach((name, index) => place.has(name) || place.set(name, index));
    this.error = place.get("error");
    this.single = [];
    this.lists = new Map();
    for (const column of contract.columns) {
      const path = column.pointer.split("/").slice(1);
      const entry = { column, path, at: place.get(column.column) };
      if (path.length > 1) this.lists.set(path[0], [...(this.lists.get(path[0]) ?? []), entry]);
      else if (entry.at !== undefined) this.single.push(entry);
    }
    for (const [name, group] of this.lists) if (group.every(({ at }) => at === undefined)) this.lists.delete(name);
    if (isOpen(contract)) {
      const known = new Set(contract.columns.map(({ column }) => column));
      for (const [name, at] of place)
        if (!known.has(name)) this.single.push({ column: { type: "text", nullable: false }, path: [name], at });
    }
  }

  /** The record of a row, and the faults of its cells. */
  record(cells) {
    const value = {};
    const faults = [];
    const read = ({ column, at }, path) => (at === undefined ? null : valueOf(cells[at], column, path, faults));
    const isFailed = this.error !== undefined && stripBlanks(cells[this.error] ?? "") !== "";
    for (const entry of this.single) {
      const { column, at, path } = entry;
      if (column.separator != null && cells[at] !== "") value[path[0]] = cells[at].split(column.separator);
      else if (column.filled && cells[at] === "" && !isFailed) value[path[0]] = column.separator != null ? [] : "";
      else value[path[0]] = read(entry, path);
    }
    for (const [name, group] of this.lists) {
      const items = group.map((entry, index) => read(entry, [name, index]));
      value[name] = items.every((item) => item === null) ? null : items;
    }
    return { value, faults };
  }
}

export const isOpen = (contract) => {
  const { additionalProperties } = contract.record_schema ?? contract.schema;
  return additionalProperties === true || (additionalProperties === undefined && !contract.record_schema?.oneOf);
};

function valueOf(cell, column, path, faults) {
  if (cell === "") return column.nullable ? null : "";
  if (column.type === "number") {
    if (NUMBER_CELL.test(cell)) {
      const number = Number(cell);
      if (Number.isFinite(number)) return number;
      faults.push({ code: "MC017", message: "a number too large for a double", hint: "the limit is about 1.8e308", path });
      return 0;
    }
    if (NOT_FINITE_CELLS.has(cell.toLowerCase())) {
      faults.push({ code: "MC016", message: "not a finite number", hint: "write a number, or null where that is allowed", path });
      return 0;
    }
  } else if (column.type === "boolean" && Object.hasOwn(BOOLEANS, cell.toLowerCase())) return BOOLEANS[cell.toLowerCase()];
  return cell;
}

const TOTAL = [
  /^\s*(?:(?:grand |sub-?)?total(?:es|s)?|suma?|mean|media|average|avg|promedio|median|mediana|count|std)\s*[:=]?\s*[0-9.,]*\s*$/iu,
  /^\s*\(?[0-9]+ (?:rows?|records?|filas?|registros?)\b[ \w]{0,20}\)?\s*$/iu,
];
/** Whether the first cell of a row says that it is a total of the rows above. */
export const isTotal = (cell) => cell.length < 40 && TOTAL.some((pattern) => pattern.test(cell));
