// Checks one file against its contract, piece by piece.

import contracts from "./contracts.js";
import { Layout, endOfRow, isJson, isOpen, isTotal, linesIn, otherSeparator, rowOf } from "./csv.js";
import { Broken, Scanner, afterEnd, endOfValue, findPlace, quickParse, readString, scan, skipSpace, trailingComma } from "./json.js";
import { ofPath, ofColumn, renameHint, wrongNameHint } from "./messages.js";
import { recognize } from "./recognize.js";
import { beginList, checkObject } from "./rules.js";
import { compile } from "./schema.js";
import { Decoder, Places, isBlankLine, joined, otherKind, pieces } from "./text.js";

const HEAD_SIZE = 1 << 12;
const WINDOW = 1 << 18;
const MAX_RECORD = 1 << 24;
const MAX_PROBLEMS = 10_000;
const compiled = new Map();

/** A contract with its compiled checks. Throws for an unknown id. */
export function contractOf(id) {
  const contract = Object.hasOwn(contracts, id) ? contracts[id] : null;
  if (compiled.get(id)?.source !== contract || !contract) {
    if (!contract) throw new TypeError(`unknown contract '${id}'`);
    const noError = contract.record_rules?.find(({ kind, field, items }) => kind === "forbid-pattern" && field === "error" && !items)?.pattern;
    const checks = { ...contract, check: compile(contract.schema, noError) };
    if (contract.record_schema) checks.checkRecord = compile(contract.record_schema, noError);
    checks.listRules = contract.rules.filter(({ scope }) => scope === "list");
    checks.headerRules = contract.rules.filter(({ scope, within }) => scope === "object" && !within);
    checks.recordRules = contract.record_rules.filter(({ scope }) => scope === "object");
    compiled.set(id, checks);
  }
  return compiled.get(id);
}

export const contractIds = () => Object.keys(contracts);

/**
 * Check a file: a string, bytes, a Blob or a stream. Resolves to what `medcontract validate` reports for it.
 * `contract` and `container` are recognized if they are not given; `only`: the contracts that it may be of.
 * `seen` gets each valid record, each other record, whether the file breaks off, and the header; `progress` the bytes read so far; `window`: how much is read at a time.
 */
export async function validate(source, { contract = null, container = null, only = null, progress = null, seen = {}, window = WINDOW } = {}) {
  const file = new File(contract && contractOf(contract), container, seen, only ?? contractIds(), window);
  const decoder = new Decoder();
  let [run, step, head, size, read, kept] = [null, null, [], 0, 0, ""];
  const give = (bytes, isLast) => {
    const text = kept + decoder.decode(bytes, isLast);
    kept = !isLast && text.endsWith("\r") ? "\r" : ""; // a line end is not cut in two
    file.append(kept ? text.slice(0, -1) : text, decoder.hasBadBytes, isLast);
    if (isLast || file.length >= (step?.value ?? 0)) step = run.next();
  };
  const giveAll = (bytes) => {
    for (let at = 0; at < bytes.length && !step?.done; at += window) give(bytes.subarray(at, at + window), false);
  };
  const begin = () => {
    const bytes = joined(head);
    run = file.run(bytes.subarray(0, HEAD_SIZE));
    giveAll(bytes);
  };
  for await (const bytes of pieces(source)) {
    read += bytes.length;
    progress?.(read);
    if (run) giveAll(bytes);
    else {
      head.push(bytes);
      if ((size += bytes.length) >= HEAD_SIZE) begin();
    }
    if (step?.done) break;
  }
  if (!run) begin();
  while (!step?.done) give(new Uint8Array(0), true);
  return file.report();
}

/** JSON knows no other white space, such as U+2028. */
const isBlank = (text) => !/[^ \t\r\n]/.test(text);

/** Scan a value in a text that goes on with `next`: then `1e` and `fals` do not break off. */
function scanPart(raw, next) {
  try {
    scan(raw);
  } catch (error) {
    if (error.code === "MC011" && next !== undefined) scan(raw + next);
    throw error;
  }
}

class File {
  constructor(contract, container, seen, only, window) {
    Object.assign(this, { container, seen, only, window, found: [], omitted: { error: 0, warning: 0 }, broken: false });
    Object.assign(this, { text: "", at: 0, base: 0, done: false, hasBadBytes: false, places: new Places("") });
    [this.contract, this.records, this.states] = [null, null, []];
    if (contract) this.use(contract);
  }

  use(contract) {
    this.contract = contract;
    this.records = contract.kind === "document" ? null : 0;
    this.states = contract.listRules.map(beginList);
    this.seen.contract?.(contract);
  }

  // --- the window of the text that is being checked

  get length() {
    return this.text.length - this.at;
  }

  append(text, hasBadBytes, isLast) {
    this.text += text;
    this.places.text = this.text;
    this.places.returns ||= text.includes("\r");
    this.hasBadBytes = hasBadBytes;
    this.done = isLast;
  }

  /** Forget what is before the current place, and wait for more text. */
  *more() {
    const rest = this.text.slice(this.at);
    this.places.move(this.at, rest);
    this.base += this.at;
    [this.text, this.at] = [rest, 0];
    yield Math.max(this.window, 2 * rest.length);
  }

  *run(head) {
    const other = otherKind(head);
    if (other) {
      this.add({ ...other, at: 0 });
      this.records = null;
      return;
    }
    if (!this.contract) {
      while (!this.done && this.text.length < MAX_RECORD / 4) yield this.text.length * 2;
      if (isBlank(this.text)) return this.empty();
      this.container ??= containerOf(this.text);
      const { id, problem } = recognize(this.text, this.container, this.only, this.done);
      if (!id) {
        yield* this.syntaxOnly();
        if (!this.found.length) this.add({ ...problem, line: 1, column: null });
        return;
      }
      this.use(contractOf(id));
    }
    this.container ??= containerOf(this.text);
    if (this.container === "csv") yield* this.table();
    else if (this.contract.kind === "document") yield* this.document();
    else if (this.container === "json") yield* this.collection();
    else yield* this.lines();
  }

  /** What is wrong with the syntax of a file whose contract is not known. */
  *syntaxOnly() {
    if (this.container !== "json") return;
    while (!this.done) yield Infinity;
    try {
      scan(this.text);
    } catch (error) {
      this.breakOff(error);
    }
  }

  add(finding) {
    const all = { severity: "error", hint: null, path: [], record: null, ...finding };
    if (this.found.length >= MAX_PROBLEMS) this.omitted[all.severity] += 1;
    else if (all.line) this.found.push({ ...all, column: all.column ?? null, order: all.order ?? all.line });
    else {
      const { line, column } = this.places.find(all.at);
      this.found.push({ ...all, line, column, order: this.base + all.at });
    }
  }

  /** Add a finding at the path of a rule. */
  addRule(rule, finding) {
    const { code, message, severity, hint = null } = rule;
    this.add({ code, message, severity, hint, ...finding });
  }

  report() {
    const cell = ({ field }) => this.header?.indexOf(field) ?? -1;
    const inLists = new Set([...(this.spread?.values() ?? [])].flat());
    const problems = this.found
      .map((finding, index) => ({ finding, index }))
      .sort((a, b) => a.finding.order - b.finding.order || cell(a.finding) - cell(b.finding) || a.index - b.index)
      .map(({ finding }) => {
        const { code, severity, hint, path, record, line, column, fromSchema } = finding;
        const field = this.header ? (finding.field ?? null) : null;
        const isColumn = field !== null && (COLUMNS.has(code) || (fromSchema && inLists.has(field)));
        const name = isColumn ? ofColumn(field) : fromSchema ? ofPath(path) : "";
        return { code, severity, message: name + finding.message, hint, pointer: pointer(path), record, line, column, field };
      });
    const count = (which) => problems.filter(({ severity }) => severity === which).length + this.omitted[which];
    const [errors, warnings] = [count("error"), count("warning")];
    const { records, omitted } = this;
    return { contract: this.contract?.id ?? null, ok: errors === 0, records, errors, warnings, omitted: omitted.error + omitted.warning, problems };
  }

  // --- records, in any container

  /** Check a record of JSON. Throws `Broken`, with a place in the record. */
  jsonRecord(raw, index, prefix, depth) {
    const { contract, at } = this;
    let value = quickParse(raw, this.hasBadBytes);
    let findings = [];
    let scanned = null;
    let faults = [];
    if (value !== undefined) contract.checkRecord(value, [], findings);
    if (value === undefined || findings.length) {
      scanned = scan(raw, 0, depth);
      [value, faults] = [scanned.value, scanned.faults];
      if (faults.some(({ code }) => code === "MC019")) [faults, findings] = [faults.slice(0, 1), []];
      else {
        findings = [];
        contract.checkRecord(value, [], findings);
        findings = withoutConsequences(findings, faults);
      }
    }
    const placed = (path, atKey) => {
      if (!scanned && !atKey && !path.length) return 0;
      const quick = !scanned && !atKey && path.length === 1 ? valueOfKey(raw, path[0]) : -1;
      if (quick >= 0) return quick;
      scanned ??= scan(raw, 0, depth);
      const place = findPlace(scanned.place, path);
      return atKey ? place.key : place.value;
    };
    let isMarked = false;
    const locate = (path, more = {}) => {
      if (!isMarked) this.places.mark(at);
      isMarked = true;
      const place = at + (more.at ?? placed(path, more.atKey));
      const { line, column } = this.places.find(place);
      return { path: [...prefix, ...path], record: index, line, column, order: this.base + place };
    };
    this.record(value, index, faults, findings, locate);
  }

  /** Check a record with the faults and findings about its structure. `locate` returns the place of a path in it. */
  record(value, index, faults, findings, locate, isInvalid = faults.length > 0 || findings.length > 0) {
    for (const finding of [...faults, ...findings]) this.add({ ...finding, ...locate(finding.path, finding) });
    if (isInvalid) {
      for (const state of this.states) state.miss(value);
      this.seen.invalid?.(value);
      return;
    }
    let valid = true;
    for (const rule of this.contract.recordRules)
      for (const path of checkObject(rule, value)) {
        this.addRule(rule, locate(path));
        valid &&= rule.severity !== "error";
      }
    for (const state of this.states) {
      const now = state.see(value, index, locate);
      if (now) this.addRule(state.rule, { ...locate(now.path), isRepeat: now.isRepeat });
    }
    if (valid) this.seen.record?.(value, index, locate);
    else this.seen.invalid?.(value);
  }

  /** Findings that are known only at the end of the list. */
  endOfList() {
    if (this.broken) {
      this.seen.broken?.();
      this.found = this.found.filter(({ isRepeat }) => !isRepeat);
      this.records = 0;
      return;
    }
    for (const state of this.states) for (const place of state.finish?.() ?? []) this.addRule(state.rule, place);
  }

  breakOff(error) {
    if (!(error instanceof Broken)) throw error;
    this.add({ code: error.code, message: error.message, hint: error.hint, at: error.at });
    this.broken = true;
  }

  // --- JSON

  *document() {
    const { contract } = this;
    while (!this.done) yield Infinity;
    const { text } = this;
    if (isBlank(text)) return this.empty();
    let scanned;
    try {
      scanned = scan(text);
    } catch (error) {
      return this.breakOff(error);
    }
    const { value, place } = scanned;
    let { faults } = scanned;
    let findings = [];
    if (faults.some(({ code }) => code === "MC019")) faults = faults.slice(0, 1);
    else {
      contract.check(value, [], findings);
      findings = withoutConsequences(findings, faults);
    }
    const at = (path, atKey) => findPlace(place, path)[atKey ? "key" : "value"];
    for (const each of [...faults, ...findings]) this.add({ ...each, at: each.at ?? at(each.path, each.atKey) });
    if (faults.length || findings.length) return;
    for (const rule of contract.headerRules) for (const path of checkObject(rule, value)) this.addRule(rule, { path, at: at(path) });
    for (const rule of contract.listRules) {
      const state = beginList(rule);
      value[rule.within].forEach((item, index) => {
        const locate = (path) => ({ path: [rule.within, index, ...path], at: at([rule.within, index, ...path]) });
        const now = state.see(item, index, locate);
        if (now) this.addRule(rule, locate(now.path));
      });
      for (const found of state.finish?.() ?? []) this.addRule(rule, found);
    }
    this.seen.header?.(value, (path) => ({ path, record: null, ...this.places.find(at(path)) }));
  }

  *collection() {
    const { contract } = this;
    this.members = [];
    try {
      const first = yield* this.skip();
      this.isObject = first === "{";
      this.isList = first === "[";
      const { line, column } = this.places.find(this.at);
      this.start = { line, column, order: this.base + this.at };
      if (this.isObject) yield* this.allMembers();
      else yield* this.otherValue(first);
      const rest = yield* this.skip();
      if (rest !== undefined) throw afterEnd(this.text, this.at);
    } catch (error) {
      this.breakOff(error);
    }
    if (!this.broken) this.header_();
    this.endOfList();
    if (!this.broken && this.value !== undefined) {
      const place = (path) => ({ path, record: null, ...this.placeInHeader(path) });
      for (const rule of contract.headerRules) for (const path of checkObject(rule, this.value)) this.addRule(rule, place(path));
      this.seen.header?.(this.value, place);
    }
  }

  /** The next character that is not white space; undefined at the end. */
  *skip() {
    for (;;) {
      this.at = skipSpace(this.text, this.at);
      if (this.at < this.text.length || this.done) return this.text[this.at];
      yield* this.more();
    }
  }

  /** The text of the value that starts here. Throws the syntax error if the text ends first. */
  *raw(levels) {
    for (;;) {
      const { text, at, done } = this;
      const end = endOfValue(text, at);
      if (end === at) throw noValue(text, at);
      if (end > at && (end < text.length || done)) return text.slice(at, end);
      if (done) {
        scan(text, at, levels, false);
        return text.slice(at);
      }
      if (text.length - at > MAX_RECORD) throw new Broken("MC020", at, "one record is larger than 16 MiB", "remove what the contract does not require");
      yield* this.more();
    }
  }

  *otherValue(first) {
    if (first === undefined) {
      this.broken = true;
      return this.empty();
    }
    if ("}],:".includes(first)) throw noValue(this.text, this.at);
    if (first === "[") {
      this.at += 1;
      return yield* this.items(1, (raw) => this.shifted(() => scanPart(raw, this.text[this.at + raw.length])));
    }
    while (!this.done) yield* this.more();
    const { text, at } = this;
    const raw = yield* this.raw(0);
    try {
      scan(raw);
    } catch (error) {
      error.at += at;
      if (["MC022", "MC023"].includes(error.code) && isBeforeJson(text.slice(at))) error.code = "MC010";
      throw error;
    }
    this.at += raw.length;
  }

  *allMembers() {
    const { contract } = this;
    let afterComma = false;
    this.at += 1;
    for (;;) {
      let next = yield* this.skip();
      if (next === "}" && !afterComma) break;
      if (next !== '"') {
        const closing = afterComma && (next === "}" || next === "]");
        throw closing ? trailingComma(this.at) : new Scanner(this.text).noKey(this.at);
      }
      const member = { key: "", keyPlace: this.here() };
      const quoted = yield* this.raw(1);
      member.key = this.shifted(() => readString(quoted, 0)).value;
      this.at += quoted.length;
      if ((yield* this.skip()) !== ":") throw new Scanner(this.text).noColon(this.at);
      this.at += 1;
      next = yield* this.skip();
      member.place = this.here();
      if (member.key === contract.list_key && next === "[" && !this.hasList) {
        this.hasList = true;
        this.members.push({ ...member, raw: "[]" });
        const prefix = contract.list_key;
        this.at += 1;
        yield* this.items(2, (raw, index) => {
          this.shifted(() => this.jsonRecord(raw, index, [prefix, index], 2));
          this.records = index + 1;
        });
      } else {
        if (next === undefined || "}],:".includes(next)) throw noValue(this.text, this.at);
        const raw = yield* this.raw(1);
        this.shifted(() => scanPart(raw, this.text[this.at + raw.length]));
        this.members.push({ ...member, raw });
        this.at += raw.length;
      }
      next = yield* this.skip();
      afterComma = next === ",";
      if (next === "}") break;
      if (!afterComma) throw new Scanner(this.text).noComma(this.at, "}");
      this.at += 1;
    }
    this.at += 1;
  }

  *items(levels, take) {
    if ((yield* this.skip()) === "]") {
      this.at += 1;
      return;
    }
    for (let index = 0; ; index++) {
      let next = yield* this.skip();
      if (next === "}" || next === "]") throw trailingComma(this.at);
      if (next === undefined || next === "," || next === ":") throw noValue(this.text, this.at);
      const raw = yield* this.raw(levels);
      take(raw, index);
      this.at += raw.length;
      next = yield* this.skip();
      if (next !== "," && next !== "]") throw new Scanner(this.text).noComma(this.at, "]");
      this.at += 1;
      if (next === "]") return;
    }
  }

  here() {
    const { line, column } = this.places.find(this.at);
    return { line, column, order: this.base + this.at };
  }

  /** Run a function about the value that starts here, and move its syntax error to this place. */
  shifted(run) {
    try {
      return run();
    } catch (error) {
      if (error instanceof Broken) error.at += this.at;
      throw error;
    }
  }

  /** Check the header like a file with an empty list. */
  header_() {
    const { contract } = this;
    if (!this.isObject) {
      const message = `expected an object, got ${this.isList ? "a list" : "another value"}`;
      this.add({ code: "MC103", message, ...this.start });
      this.broken = true;
      return;
    }
    const header = {};
    const spoilt = [];
    this.known = new Map();
    let faulty = false;
    for (const member of this.members) {
      let { key } = member;
      if (!key.isWellFormed()) {
        this.add({ code: "MC018", message: "a key with a lone surrogate", ...member.keyPlace });
        key = key.toWellFormed();
        spoilt.push([key]);
        faulty = true;
      }
      const scanned = scan(member.raw, 0, 1);
      let faults = scanned.faults.map((fault) => ({ ...fault, path: [key, ...fault.path], ...inMember(member, fault.at) }));
      if (this.known.has(key)) faults = [{ code: "MC015", message: "this key is repeated", hint: "keep one of them", path: [key], ...member.keyPlace }];
      else {
        Object.defineProperty(header, key, { value: scanned.value, enumerable: true, writable: true, configurable: true });
        this.known.set(key, { ...member, tree: scanned.place });
        spoilt.push(...faults.map(({ path }) => path));
      }
      for (const fault of faults) this.add(fault);
      faulty ||= faults.length > 0;
    }
    const findings = [];
    contract.check(header, [], findings);
    for (const finding of findings) {
      const isSpoilt = spoilt.some((path) => path.every((token, place) => finding.path[place] === token));
      if (!isSpoilt) this.add({ ...finding, ...this.placeInHeader(finding.path, finding.atKey) });
    }
    if (!findings.length && !faulty) this.value = header;
  }

  placeInHeader(path, atKey) {
    const member = path.length ? this.known.get(path[0]) : null;
    if (!member) return this.start;
    if (atKey && path.length === 1) return member.keyPlace;
    return inMember(member, findPlace(member.tree, path.slice(1))[atKey ? "key" : "value"]);
  }

  *lines() {
    let index = 0;
    for (;;) {
      const { text, at } = this;
      let end = text.indexOf("\n", at);
      if (end < 0) end = text.length;
      const back = this.places.returns ? text.indexOf("\r", at) : -1;
      if (back >= 0 && back < end) end = back;
      if (end === text.length && !this.done) {
        if (text.length - at > MAX_RECORD) return this.breakOff(new Broken("MC020", at, "one record is larger than 16 MiB", "write one record per line"));
        yield* this.more();
        continue;
      }
      if (at >= text.length) break;
      const line = text.slice(at, end);
      if (!isBlankLine(line)) {
        try {
          this.jsonRecord(line, index, [], 0);
        } catch (error) {
          if (!(error instanceof Broken)) throw error;
          const { code, message, hint } = error;
          this.add({ code, message, hint, record: index, at: at + error.at });
          for (const state of this.states) state.miss(null);
        }
        index += 1;
      }
      this.at = end + (text[end] === "\r" && text[end + 1] === "\n" ? 2 : 1);
    }
    this.records = index;
    if (!index) this.empty();
    this.endOfList();
  }

  empty() {
    this.add({ code: "MC004", message: "the file is empty", hint: EMPTY, line: 1, column: 1 });
  }

  // --- tables

  /** The next row that is not blank; null at the end. */
  *row() {
    for (;;) {
      const found = endOfRow(this.text, this.at, this.done);
      if (!found) {
        if (this.length > MAX_RECORD) throw new Broken("MC020", this.at, "one record is larger than 16 MiB", "is a quote not closed?");
        yield* this.more();
        continue;
      }
      if (this.at >= this.text.length) return null;
      const raw = this.text.slice(this.at, found.end);
      const row = rowOf(raw, found.closed, this.line, this.hasBadBytes);
      this.line += linesIn(raw);
      this.at = found.end;
      if (row) return row;
    }
  }

  *table() {
    this.line = 1;
    try {
      yield* this.allRows();
    } catch (error) {
      if (!(error instanceof Broken)) throw error;
      this.add({ code: error.code, message: error.message, hint: error.hint, line: this.line });
      this.broken = true;
    }
    this.endOfList();
  }

  *allRows() {
    const { contract } = this;
    const first = yield* this.row();
    if (!first) return this.empty();
    const isKnown = (keys) => contract.columns.filter(({ column }) => keys.has(column)).length > 1;
    const mark = first.cells?.[0].startsWith("\ufeff");
    const broken = mark ? ["MC032", "a byte order mark (U+FEFF) in the header", "remove it"] : isJson(first.raw) ? ["MC005", "this is JSON, not CSV", "name it .json, or .jsonl if each line is a record"] : (otherSeparator(first.raw, isKnown) ?? first.problem);
    if (broken) {
      const [code, message, hint] = broken;
      this.add({ code, message, hint, line: 1 });
      this.records = 0;
      return;
    }
    const header = first.cells;
    this.header = header;
    this.names = new Set(header);
    this.lacking = new Set();
    this.columnOf = new Map();
    const spread = new Map();
    for (const { column, pointer: place } of contract.columns) {
      const path = place.split("/").slice(1);
      this.columnOf.set(path.join("/"), column);
      if (path.length > 1) {
        if (!spread.has(path[0])) this.columnOf.set(path[0], column);
        spread.set(path[0], [...(spread.get(path[0]) ?? []), column]);
      }
    }
    this.spread = spread;
    this.columns(header);
    const layout = new Layout(contract, header);
    let index = 0;
    let last = null;
    for (let row; (row = yield* this.row()); index++) {
      const locate = (path) => this.cell(path, row.line, index);
      if (row.problem || row.cells.length !== header.length) {
        const [code, message, hint] = row.problem ?? raggedRow(row.cells.length, header.length);
        this.add({ code, message, hint, record: index, line: row.line });
        for (const state of this.states) state.miss(null);
        last = null;
      } else {
        const { value, faults } = layout.record(row.cells);
        const findings = [];
        contract.checkRecord(value, [], findings);
        const kept = findings.length ? withoutConsequences(findings, faults).filter((finding) => !this.isAboutColumn(finding)) : findings;
        const at = index;
        const isInvalid = faults.length + findings.length > 0;
        this.record(value, index, faults, kept, (path) => this.cell(path, row.line, at), isInvalid);
        last = { value, line: row.line, index };
      }
      this.records = index + 1;
    }
    if (!index) this.add({ code: "MC511", severity: "warning", message: "there are no rows", hint: "check that the rows were written", line: 1, order: 0 });
    const name = contract.columns[0]?.column;
    const cell = last?.value[name];
    if (typeof cell === "string" && isTotal(cell))
      this.add({ code: "MC503", severity: "warning", message: "the last row seems to be a total", ...this.cell([name], last.line, last.index) });
  }

  columns(header) {
    const { contract } = this;
    const known = new Set(contract.columns.map(({ column }) => column));
    const open = isOpen(contract);
    const seen = new Set();
    const add = (code, name, message, hint = null) => this.add({ code, message, hint, path: [name], field: name, line: 1 });
    const missing = contract.columns.map(({ column }) => column).filter((name) => !this.names.has(name));
    for (const name of header) {
      if (seen.has(name)) {
        if (name || open) add("MC015", name, "is repeated", "keep one of them");
      } else if (!known.has(name) && !open) add("MC102", name, "is not in this contract", renameHint(name, missing));
      seen.add(name);
    }
    for (const { column, nullable } of contract.columns) if (!nullable && !seen.has(column)) this.lacks(column);
  }

  lacks(name) {
    if (this.lacking.has(name)) return;
    this.lacking.add(name);
    const hint = wrongNameHint(name, this.header.filter((each) => !this.columnOf.has(each)));
    this.add({ code: "MC101", message: "is missing", hint, path: [name], field: name, line: 1 });
  }

  /** Whether a finding about a record is one about a missing column, which is reported once. */
  isAboutColumn(finding) {
    if (finding.code === "MC101" && finding.field) {
      for (const name of this.spread.get(finding.field) ?? [finding.field]) this.lacks(name);
      return true;
    }
    const { field } = this.cell(finding.path, 0, 0);
    if (field === undefined || this.names.has(field)) return false;
    this.lacks(field);
    return true;
  }

  cell(path, line, record) {
    const field = this.columnOf.get(path.slice(0, 2).join("/")) ?? this.columnOf.get(path[0]) ?? path[0];
    return { path: field === undefined ? [] : [field], field, line, column: null, order: line, record };
  }
}

const COLUMNS = new Set(["MC101", "MC102", "MC015"]);
const EMPTY = "check that it was written completely";
const pointer = (path) => path.map((token) => `/${String(token).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

const raggedRow = (cells, columns) => ["MC031", `the row has ${cells} cell${cells === 1 ? "" : "s"}, the header ${columns}`, null];

/** The place of an offset in the text of a member of the header. */
function inMember({ raw, place }, at) {
  const { line, column } = new Places(raw, place.line, place.column).find(at);
  return { line, column, order: place.order + at };
}

/** Where the value of a key starts, if the key occurs only once in the text of a record; otherwise -1. */
function valueOfKey(raw, key) {
  const quoted = `"${key}"`;
  const at = raw.indexOf(quoted);
  if (at < 0 || raw.includes("\\u") || raw.indexOf(quoted, at + 1) >= 0) return -1;
  const colon = skipSpace(raw, at + quoted.length);
  return raw[colon] === ":" ? skipSpace(raw, colon + 1) : -1;
}

/** The container of a text that has no name. */
function containerOf(text) {
  const start = skipSpace(text, 0);
  if (text[start] !== "{") return text[start] === "[" ? "json" : "csv";
  const end = endOfValue(text, start);
  return end > 0 && text[skipSpace(text, end)] === "{" ? "jsonl" : "json";
}

/** The findings about a structure, except what only results from a fault of the same value. */
function withoutConsequences(findings, faults) {
  if (!findings.length) return findings;
  const key = (path) => JSON.stringify(path);
  const errorIsBad = findings.some(({ path }) => path.length === 1 && path[0] === "error");
  const faulty = new Set(faults.filter(({ atKey }) => !atKey).map(({ path }) => key(path)));
  const badKeys = new Set(faults.filter(({ code, atKey }) => code === "MC018" && atKey).map(({ path }) => key(path)));
  return findings.filter(({ code, path }) => {
    if (faulty.size && Array.from({ length: path.length + 1 }, (_, length) => path.slice(0, length)).some((part) => faulty.has(key(part)))) return false;
    if (code === "MC109") return !errorIsBad || path[0] === "error";
    return !(code === "MC102" && badKeys.has(key(path.slice(0, -1))) && String(path.at(-1)).includes("\ufffd"));
  });
}

function noValue(text, at) {
  const scanner = new Scanner(text);
  scanner.path.push("");
  return scanner.noValue(at);
}

/** What precedes the JSON in a text: [J26]. */
const BEFORE_JSON = [
  /^[^{[]{1,2000}(?<=\n)[ \t]*```/,
  /^(?:(?:var|let|const)\s+)?[A-Za-z_$][\w.$]*\s*=\s*[{[]/,
  /^[A-Za-z_$][\w.$]*\(\s*[{[]/,
  /^[^{[]{1,4000}(?:(?<=\n)|:)[ \t]*[{[]/,
  /^(?:[A-Za-z_][\w ]*[,;\t])+[A-Za-z_][\w ]*\n[^{[]/,
  /^(?:---\s+)?[A-Za-z_][\w-]*:[ \t]*[^\n{[]*\n(?:[ \t]*-[ \t]|[ \t]*[A-Za-z_][\w-]*:)/,
];

function isBeforeJson(text) {
  const lines = text.slice(0, 65536).replace(/\r\n?/g, "\n");
  return BEFORE_JSON.some((pattern) => pattern.test(lines));
}
