// Checks one file against its contract.

import contracts from "./contracts.js";
import { Layout, isJson, isOpen, isTotal, rows } from "./csv.js";
import { Broken, Scanner, afterEnd, endOfValue, findPlace, quickParse, readString, scan, skipSpace, trailingComma } from "./json.js";
import { beginList, checkObject } from "./rules.js";
import { compile } from "./schema.js";
import { BAD_BYTE, Places, decode, isBlankLine, lines, otherKind } from "./text.js";

const compiled = new Map();

/** A contract with its compiled checks. Throws for an unknown id. */
export function contractOf(id) {
  if (!compiled.has(id)) {
    const contract = contracts[id];
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

/** Check the bytes of a file. `seen`, if given, gets the value of each valid record, and the header. */
export function checkFile(bytes, id, container, seen = {}) {
  const file = new File(contractOf(id), seen);
  const other = otherKind(bytes);
  if (other) {
    file.text = "";
    file.add({ ...other, at: 0 });
    file.records = null;
  } else {
    file.text = decode(bytes);
    file.hasBadBytes = BAD_BYTE.test(file.text);
    if (container === "csv") file.table();
    else if (file.contract.kind === "document") file.document();
    else if (container === "jsonl") file.lines();
    else file.collection();
  }
  return file.report();
}

class File {
  constructor(contract, seen) {
    this.contract = contract;
    this.seen = seen;
    this.found = [];
    this.records = contract.kind === "document" ? null : 0;
    this.broken = false;
    this.states = contract.listRules.map(beginList);
    this.keepsPlaces = this.states.some(({ finish }) => finish);
    this.placesOf = [];
  }

  add(finding) {
    this.found.push({ severity: "error", hint: null, path: [], record: null, ...finding });
  }

  /** Add a finding at the path of a rule. */
  addRule(rule, finding) {
    const { code, message, severity, hint = null } = rule;
    this.add({ code, message, severity, hint, ...finding });
  }

  empty() {
    this.add({ code: "MC004", message: "the file is empty", at: 0 });
  }

  report() {
    const places = new Places(this.text);
    const order = (finding) => finding.line ?? finding.at;
    const cell = ({ field }) => this.header?.indexOf(field) ?? -1;
    const problems = [...this.found]
      .map((finding, index) => ({ finding, index }))
      .sort((a, b) => order(a.finding) - order(b.finding) || cell(a.finding) - cell(b.finding) || a.index - b.index)
      .map(({ finding }) => {
        const { code, severity, message, hint, path, record, field = null } = finding;
        const place = finding.line ? { line: finding.line, column: null } : places.find(finding.at);
        const pointer = path.map((token) => `/${String(token).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
        return { code, severity, message, hint, pointer, record, ...place, field };
      });
    const errors = problems.filter(({ severity }) => severity === "error").length;
    return { ok: errors === 0, contract: this.contract.id, records: this.records, errors, warnings: problems.length - errors, problems };
  }

  // --- records, in any container

  /** Check a record of JSON. Throws `Broken`. */
  jsonRecord(raw, at, index, prefix, depth) {
    const { contract } = this;
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
      scanned ??= scan(raw, 0, depth);
      const place = findPlace(scanned.place, path);
      return at + (atKey ? place.key : place.value);
    };
    const locate = (path, more = {}) => ({ path: [...prefix, ...path], record: index, at: more.at === undefined ? placed(path, more.atKey) : at + more.at });
    this.record(value, index, faults, findings, locate);
  }

  /** Check a record with the faults and findings about its structure. `locate` returns the place of a path in it. */
  record(value, index, faults, findings, locate, isInvalid = faults.length > 0 || findings.length > 0) {
    for (const finding of [...faults, ...findings]) this.add({ ...finding, ...locate(finding.path, finding) });
    if (isInvalid) {
      for (const state of this.states) state.miss(value);
      return;
    }
    let valid = true;
    for (const rule of this.contract.recordRules)
      for (const path of checkObject(rule, value)) {
        this.addRule(rule, locate(path));
        valid &&= rule.severity !== "error";
      }
    if (this.keepsPlaces) this.placesOf[index] = locate;
    for (const state of this.states) {
      const now = state.see(value, index);
      if (now) this.addRule(state.rule, { ...locate(now.path), isRepeat: now.isRepeat });
    }
    if (valid) this.seen.record?.(value, index, locate);
  }

  /** Findings that are known only at the end of the list. */
  endOfList() {
    if (this.broken) {
      this.found = this.found.filter(({ isRepeat }) => !isRepeat);
      this.records = 0;
      return;
    }
    for (const state of this.states)
      for (const { index, path } of state.finish?.() ?? []) this.addRule(state.rule, this.placesOf[index](path));
  }

  breakOff(error) {
    if (!(error instanceof Broken)) throw error;
    this.add({ code: error.code, message: error.message, hint: error.hint, at: error.at });
    this.broken = true;
  }

  // --- JSON

  document() {
    const { contract, text } = this;
    if (!text.trim()) return this.empty();
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
      const add = (index, path) => this.addRule(rule, { path: [rule.within, index, ...path], at: at([rule.within, index, ...path]) });
      value[rule.within].forEach((item, index) => {
        const now = state.see(item, index);
        if (now) add(index, now.path);
      });
      for (const { index, path } of state.finish?.() ?? []) add(index, path);
    }
    this.seen.header?.(value, (path) => ({ path, record: null, at: at(path) }));
  }

  collection() {
    const { text, contract } = this;
    this.members = [];
    try {
      this.start = skipSpace(text, 0);
      const end = text[this.start] === "{" ? this.#members(this.start + 1) : this.#otherValue(this.start);
      const rest = skipSpace(text, end);
      if (rest < text.length) throw afterEnd(text, rest);
    } catch (error) {
      this.breakOff(error);
    }
    if (!this.broken) this.#header();
    this.endOfList();
    if (!this.broken && this.value !== undefined) {
      const place = (path) => ({ path, record: null, at: this.#placeInHeader(path) });
      for (const rule of contract.headerRules)
        for (const path of checkObject(rule, this.value)) this.addRule(rule, place(path));
      this.seen.header?.(this.value, place);
    }
  }

  /** The end of a text that is not an object. */
  #otherValue(at) {
    const { text } = this;
    if (at >= text.length) throw new Broken("MC004", 0, "the file is empty");
    if ("}],:".includes(text[at])) throw noValue(text, at);
    if (text[at] === "[") return this.#items(at + 1, (raw, from) => shifted(() => scan(raw), from), 1);
    const raw = text.slice(at, cut(text, at));
    try {
      scan(raw);
    } catch (error) {
      error.at += at;
      if (["MC022", "MC023"].includes(error.code) && isProse(text)) error.code = "MC010";
      throw error;
    }
    return at + raw.length;
  }

  #members(at) {
    const { text, contract } = this;
    let afterComma = false;
    for (;;) {
      at = skipSpace(text, at);
      if (text[at] === "}" && !afterComma) return at + 1;
      if (text[at] !== '"') {
        const closing = afterComma && (text[at] === "}" || text[at] === "]");
        throw closing ? trailingComma(at) : new Scanner(text).noKey(at);
      }
      const keyAt = at;
      const key = readString(text.slice(0, cut(text, at, 1)), at);
      at = skipSpace(text, key.end);
      if (text[at] !== ":") throw new Scanner(text).noColon(at);
      at = skipSpace(text, at + 1);
      if (key.value === contract.list_key && text[at] === "[" && this.listAt === undefined) {
        this.listAt = at;
        this.members.push({ key: key.value, keyAt, at, raw: "[]" });
        const prefix = contract.list_key;
        at = this.#items(at + 1, (raw, from, index) => {
          shifted(() => this.jsonRecord(raw, from, index, [prefix, index], 2), from);
          this.records = index + 1;
        }, 2);
      } else {
        if (at >= text.length || "}],:".includes(text[at])) throw noValue(text, at);
        const raw = text.slice(at, cut(text, at, 1));
        shifted(() => scan(raw), at);
        this.members.push({ key: key.value, keyAt, at, raw });
        at += raw.length;
      }
      at = skipSpace(text, at);
      afterComma = text[at] === ",";
      if (text[at] === "}") return at + 1;
      if (!afterComma) throw new Scanner(text).noComma(at, "}");
      at += 1;
    }
  }

  #items(at, take, levels) {
    const { text } = this;
    at = skipSpace(text, at);
    if (text[at] === "]") return at + 1;
    for (let index = 0; ; index++) {
      at = skipSpace(text, at);
      if (text[at] === "}" || text[at] === "]") throw trailingComma(at);
      if (at >= text.length || text[at] === "," || text[at] === ":") throw noValue(text, at);
      const end = cut(text, at, levels);
      take(text.slice(at, end), at, index);
      at = skipSpace(text, end);
      if (text[at] === "]") return at + 1;
      if (text[at] !== ",") throw new Scanner(text).noComma(at, "]");
      at += 1;
    }
  }

  /** Check the header like a file with an empty list. */
  #header() {
    const { contract, text } = this;
    if (text[this.start] !== "{") {
      const what = text[this.start] === "[" ? "a list" : "this";
      this.add({ code: "MC103", message: `expected an object, got ${what}`, at: this.start });
      this.broken = true;
      return;
    }
    const header = {};
    const spoilt = [];
    this.places = new Map();
    let faulty = false;
    for (const member of this.members) {
      let { key } = member;
      if (!key.isWellFormed()) {
        this.add({ code: "MC018", message: "a key with a lone surrogate", at: member.keyAt });
        key = key.toWellFormed();
        spoilt.push([key]);
        faulty = true;
      }
      const scanned = shifted(() => scan(member.raw, 0, 1), member.at);
      let faults = scanned.faults.map((fault) => ({ ...fault, path: [key, ...fault.path], at: member.at + fault.at }));
      if (this.places.has(key)) faults = [{ code: "MC015", message: "this key is repeated", hint: "keep one of them", path: [key], at: member.keyAt }];
      else {
        header[key] = scanned.value;
        this.places.set(key, { ...member, place: scanned.place });
        spoilt.push(...faults.map(({ path }) => path));
      }
      for (const fault of faults) this.add(fault);
      faulty ||= faults.length > 0;
    }
    const findings = [];
    contract.check(header, [], findings);
    for (const finding of findings) {
      const isSpoilt = spoilt.some((path) => path.every((token, place) => finding.path[place] === token));
      if (!isSpoilt) this.add({ ...finding, at: this.#placeInHeader(finding.path, finding.atKey) });
    }
    if (!findings.length && !faulty) this.value = header;
  }

  #placeInHeader(path, atKey) {
    if (!path.length) return this.start;
    const member = this.places.get(path[0]);
    if (!member) return this.start;
    if (atKey && path.length === 1) return member.keyAt;
    return member.at + findPlace(member.place, path.slice(1))[atKey ? "key" : "value"];
  }

  lines() {
    let index = 0;
    for (const line of lines(this.text)) {
      if (isBlankLine(line.text)) continue;
      try {
        this.jsonRecord(line.text, line.at, index, [], 0);
      } catch (error) {
        if (!(error instanceof Broken)) throw error;
        const { code, message, hint } = error;
        this.add({ code, message, hint, record: index, at: line.at + error.at });
        for (const state of this.states) state.miss(null);
      }
      index += 1;
    }
    this.records = index;
    if (!index) this.empty();
    this.endOfList();
  }

  // --- tables

  table() {
    const { contract } = this;
    const all = rows(this.text);
    const first = all.next().value;
    if (!first) return this.empty();
    const mark = first.cells?.[0].startsWith("\ufeff");
    const broken = mark ? ["MC032", "a byte order mark (U+FEFF) in the header", "remove it"] : isJson(first.raw) ? ["MC005", "this is JSON, not CSV", "name it .json, or .jsonl if each line is a record"] : first.problem;
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
    for (const { column, pointer } of contract.columns) {
      const path = pointer.split("/").slice(1);
      this.columnOf.set(path.join("/"), column);
      if (path.length > 1) {
        if (!spread.has(path[0])) this.columnOf.set(path[0], column);
        spread.set(path[0], [...(spread.get(path[0]) ?? []), column]);
      }
    }
    this.spread = spread;
    this.#columns(header);
    const layout = new Layout(contract, header);
    let index = 0;
    let last = null;
    for (const row of all) {
      const locate = (path) => this.#cell(path, row.line, index);
      if (row.problem || row.cells.length !== header.length) {
        const [code, message, hint] = row.problem ?? ["MC031", `the row has ${row.cells.length} cells, the header ${header.length}`, null];
        this.add({ code, message, hint, record: index, line: row.line });
        for (const state of this.states) state.miss(null);
        last = null;
      } else {
        const { value, faults } = layout.record(row.cells);
        const findings = [];
        contract.checkRecord(value, [], findings);
        const kept = withoutConsequences(findings, faults).filter((finding) => !this.#isAboutColumn(finding));
        const at = index;
        const isInvalid = faults.length + findings.length > 0;
        this.record(value, index, faults, kept, (path) => this.#cell(path, row.line, at), isInvalid);
        last = { value, locate: this.#cell([contract.columns[0]?.column], row.line, at) };
      }
      index += 1;
    }
    this.records = index;
    if (!index) this.add({ code: "MC511", severity: "warning", message: "there are no rows", hint: "check that the rows were written", line: 1 });
    const cell = last?.value[contract.columns[0]?.column];
    if (typeof cell === "string" && isTotal(cell))
      this.add({ code: "MC503", severity: "warning", message: "the last row seems to be a total", ...last.locate });
    this.endOfList();
  }

  #columns(header) {
    const { contract } = this;
    const known = new Set(contract.columns.map(({ column }) => column));
    const open = isOpen(contract);
    const seen = new Set();
    const add = (code, name, message) => this.add({ code, message, path: [name], field: name, line: 1 });
    for (const name of header) {
      if (seen.has(name)) {
        if (name || open) add("MC015", name, "is repeated");
      } else if (!known.has(name) && !open) add("MC102", name, "is not in this contract");
      seen.add(name);
    }
    for (const { column, nullable } of contract.columns) if (!nullable && !seen.has(column)) this.#lacks(column);
  }

  #lacks(name) {
    if (this.lacking.has(name)) return;
    this.lacking.add(name);
    this.add({ code: "MC101", message: "is missing", path: [name], field: name, line: 1 });
  }

  /** Whether a finding about a record is one about a missing column, which is reported once. */
  #isAboutColumn(finding) {
    if (finding.code === "MC101" && finding.field) {
      for (const name of this.spread.get(finding.field) ?? [finding.field]) this.#lacks(name);
      return true;
    }
    const { field } = this.#cell(finding.path, 0, 0);
    if (field === undefined || this.names.has(field)) return false;
    this.#lacks(field);
    return true;
  }

  #cell(path, line, record) {
    const field = this.columnOf.get(path.slice(0, 2).join("/")) ?? this.columnOf.get(path[0]) ?? path[0];
    return { path: field === undefined ? [] : [field], field, line, record };
  }
}

/** The findings about a structure, except those that only result from a fault of the same value. */
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

/** The end of a value, or the syntax error if the text ends first. */
function cut(text, at, levels = 0) {
  const end = endOfValue(text, at);
  if (end === at) throw noValue(text, at);
  if (end > at) return end;
  scan(text, at, levels, false);
  return text.length;
}

/** Run a function about a part of a text, and move its syntax error to the place of the part. */
function shifted(run, by) {
  try {
    return run();
  } catch (error) {
    if (error instanceof Broken && !error.moved) {
      error.at += by;
      error.moved = true;
    }
    throw error;
  }
}

const isProse = (text) => /^[^{[]{1,4000}(?:^|:|=|\()[ \t\n]*[{[]/m.test(text);
