// What a submission answers, counted as scoring does: which expected ids have a record, and how many are processed.

import { tracks } from "./contracts.js";
import { plural } from "./messages.js";
import { stripBlanks } from "./text.js";

const [PROCESSED, NOTHING_READ, FAILED, INVALID, REPEATED] = ["processed", "nothing read", "failed", "invalid", "repeated"];
const isProcessed = (state) => state === PROCESSED || state === NOTHING_READ;
const isFilled = (text) => stripBlanks(text ?? "") !== "";
const number = (count) => count.toLocaleString("en");
const sum = (counts) => counts.reduce((total, count) => total + count, 0);

/** How the records of a contract are paired with the expected ids; undefined if they are no answers. */
export const pairOf = (id) => tracks.flatMap(({ pairs }) => pairs).find(({ submission }) => submission === id);

/** The answers of one kind: by run, whether each id is processed. */
export class Answers {
  constructor(pair, contract) {
    const flagged = contract.record_rules.find(({ kind }) => kind === "empty-when-failed");
    Object.assign(this, { pair, flagged, byRun: new Map() });
  }

  /** The state of a valid record. One that says by a flag that it failed counts as processed: it is scored. */
  stateOf(value) {
    const { pair, flagged } = this;
    if (pair.can_fail && isFilled(value.error)) return FAILED;
    return flagged && (!value[flagged.flag] || isFilled(value[flagged.text])) ? NOTHING_READ : PROCESSED;
  }

  see(value, isValid) {
    const { key, run, default_run: byDefault } = this.pair;
    const ids = key.map((name) => value?.[name]);
    const name = (run === null ? null : value?.[run]) ?? byDefault;
    if (![...ids, name].every((each) => typeof each === "string")) return;
    this.mark(name, JSON.stringify(ids), isValid ? this.stateOf(value) : INVALID);
  }

  mark(run, id, state) {
    if (!this.byRun.has(run)) this.byRun.set(run, new Map());
    const marks = this.byRun.get(run);
    marks.set(id, marks.has(id) ? REPEATED : state);
  }

  /** Add the answers of another file. */
  absorb({ byRun }) {
    for (const [run, marks] of byRun) for (const [id, state] of marks) this.mark(run, id, state);
  }

  /** The marks of each run that counts. `known`: the runs that another file lists, or null: those with a valid record. */
  runs(expected, known) {
    const isNamed = ([, marks]) => [...marks].some(([id, state]) => state !== INVALID && expected.has(id));
    const names = [...(known ?? [...this.byRun].filter(isNamed).map(([run]) => run))];
    return (names.length ? names : [this.pair.default_run]).sort().map((run) => [run, this.byRun.get(run) ?? new Map()]);
  }

  /** The expected ids without a record in at least one run. */
  missing(expected, known) {
    const runs = this.runs(expected, known);
    return [...expected].filter((id) => runs.some(([, marks]) => !marks.has(id)));
  }
}

/** The checks of what is answered. `given(contract)`: {files, answers, expected, known}; `expected` is null if it is not known. */
export function answersChecks(ids, given) {
  const present = tracks.filter(({ pairs }) => pairs.some(({ submission }) => ids.includes(submission)));
  const others = tracks.filter((track) => track.pairs.length && !present.includes(track) && ids.some((id) => id.startsWith(`${track.id}/`)));
  const none = others.filter(() => !present.length).map(({ id, pairs }) => {
    const detail = `needs ${pairs.map(({ submission }) => submission).join(" or ")}`;
    return { id: `submission:${id}`, title: "There is a file with answers", status: "failed", detail };
  });
  return [...none, ...present.flatMap((track) => checksOf(track, given))];
}

function checksOf(track, given) {
  const parts = track.pairs.map((pair) => ({ pair, ...given(pair) }));
  const files = parts.flatMap((part) => part.files);
  const counted = parts.filter(({ expected }) => expected);
  return [...headerCheck(track, files), answersCheck(parts), ...idChecks(track, counted, files)];
}

function headerCheck({ header }, files) {
  const lacking = header.filter((name) => !files.some((file) => (file.header?.[name] ?? null) !== null));
  if (!header.length || (lacking.length && files.some((file) => file.broken || (!file.header && file.report.errors)))) return [];
  const detail = lacking.length ? `${lacking.join(", ")} missing: only a .json has a header` : header.join(", ");
  return [{ id: "header", title: "The header fields of the result are present", status: lacking.length ? "failed" : "passed", detail }];
}

const countRecords = (files) => sum(files.map(({ report }) => report.records ?? 0));

function answersCheck(parts) {
  const check = { id: "answers", title: "The submission contains answers" };
  const files = parts.flatMap((part) => part.files);
  const broken = files.filter((file) => file.broken).map(({ name }) => name);
  if (!countRecords(files) && broken.length) return { ...check, status: "skipped", detail: `needs a readable submission, unlike ${broken.join(", ")}` };
  const wrong = parts.flatMap(({ files, answers, expected }) => {
    if (!files.length || expected?.size === 0 || files.every((file) => file.broken)) return [];
    if (!countRecords(files)) return ["there are no records (MC403)"];
    const states = [...answers.byRun.values()].flatMap((marks) => [...marks].filter(([id]) => !expected || expected.has(id)).map(([, state]) => state));
    const read = states.filter(isProcessed);
    const nothing = read.length ? read.every((state) => state === NOTHING_READ) : states.length && states.every((state) => state === FAILED);
    return nothing ? ["every record reports an error: check the log of the model (MC403)"] : [];
  });
  const detail = wrong[0] ?? plural(countRecords(files), "record");
  return { ...check, status: wrong.length ? "failed" : "passed", detail };
}

function idChecks({ minimum, required }, parts, files) {
  const coverage = { id: "coverage", title: "Every expected id is answered, and no others" };
  const gate = { id: "gate", title: `At least ${required} are processed` };
  const total = sum(parts.map(({ expected }) => expected.size));
  const blocked = total ? blockedBy(parts, files, total) : "needs the expected ids";
  if (blocked) return [coverage, gate].map((check) => ({ ...check, status: "skipped", detail: blocked, blocked: total > 0 }));
  const missing = sum(parts.map(({ answers, expected, known }) => answers.missing(expected, known).length));
  const unknown = sum(parts.map(unknownIds));
  const detail = `${number(total - missing)} of ${number(total)}${unknown ? `, and ${plural(unknown, "other id")}` : ""}`;
  const processed = new Map();
  for (const { answers, expected, known } of parts)
    for (const [run, marks] of answers.runs(expected, known)) {
      const count = [...expected].filter((id) => isProcessed(marks.get(id))).length;
      processed.set(run, (processed.get(run) ?? 0) + count);
    }
  return [
    { ...coverage, status: missing || unknown ? "failed" : "passed", detail },
    { ...gate, ...judged(processed, total, minimum, required) },
  ];
}

/** The number of ids of valid records that are not expected. */
const unknownIds = ({ answers, expected }) =>
  new Set([...answers.byRun.values()].flatMap((marks) => [...marks].filter(([id, state]) => state !== INVALID && !expected.has(id)).map(([id]) => id))).size;

/** Why ids and the gate cannot be judged: files that break off, or without a valid record. */
function blockedBy(parts, files, total) {
  let names = files.filter(({ broken }) => broken).map(({ name }) => name);
  const states = parts.flatMap(({ answers, expected }) => [...answers.byRun.values()].flatMap((marks) => [...marks].filter(([id]) => expected.has(id)).map(([, state]) => state)));
  const few = states.length > 0 && 2 * states.length < total;
  const invalid = !few && states.every((state) => state === INVALID) && !sum(parts.map(unknownIds));
  if (!names.length && invalid) names = files.filter(({ report }) => report.errors).map(({ name }) => name);
  return names.length ? `not possible until ${names.join(", ")} ${names.length > 1 ? "are" : "is"} fixed` : null;
}

/** The gate of the worst run, computed exactly. `minimum`: numerator and denominator, as texts. */
function judged(processed, total, minimum, required) {
  const [run, least] = [...processed].reduce((worst, each) => (each[1] < worst[1] ? each : worst));
  const [numerator, denominator] = minimum.map(BigInt);
  const [needs, has] = [numerator * BigInt(total), BigInt(least) * denominator];
  const counts = `${number(least)} of ${number(total)}`;
  if (has >= needs) return { status: "passed", detail: counts };
  const more = Number((needs + denominator - 1n) / denominator) - least;
  const where = run && processed.size > 1 ? `run ${run}: ` : "";
  const share = percent((100 * least) / total, (100 * Number(numerator)) / Number(denominator));
  return { status: "failed", detail: `${where}${share} processed (${counts}), at least ${required} required: ${plural(more, "more record")} needed (MC401)` };
}

/** A share that is too low, with enough digits to show it. */
function percent(share, minimum) {
  let digits = 1;
  while (digits < 12 && Number(share.toFixed(digits)) >= minimum) digits += 1;
  return `${share.toFixed(digits).replace(/\.?0+$/, "")} %`;
}
