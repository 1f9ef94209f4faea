// Parts whose results were worked out by hand.

import assert from "node:assert/strict";
import { test } from "node:test";

import { preflight, validate } from "../src/index.js";
import { exactSum, fold } from "../src/rules.js";
import { StringSet } from "../src/text.js";

const check = (text, contract, container) => validate(text, { contract, container });

test("sums are exact, and rounded once", () => {
  assert.equal(exactSum([1e100, 1, -1e100]), 1);
  assert.equal(exactSum([0.1, 0.2, 0.3, 0.4]), 1);
  assert.equal(exactSum([]), 0);
  assert.equal(exactSum([1, 2 ** -53, 2 ** -105]), 1 + 2 ** -52); // a plain sum is 1: the tie would be rounded down
});

test("folding", () => {
  assert.equal(fold("Vitamin B₁₂"), "vitamin b12");
  assert.equal(fold("10₂ mg"), "10₂ mg");
  assert.equal(fold("5 µg"), "5 μg");
  assert.equal(fold("Ceguera, ESPAÑA…"), "ceguera espana");
  assert.equal(fold("0.5 % .5"), "0.5 % 5");
});

test("text before the JSON is no bare word", async () => {
  const places = async (text) => (await check(text, "reports/truth", "json")).problems.map(({ code, line, column }) => [code, line, column]);
  for (const text of ["x = [1]", "f(\n[1])", "Hi: {", "Hi\r\r{", "Hi\n```\nx", "id,label\nI-1,NV\n", "team: x\nlist:\n - a\n"]) {
    assert.deepEqual(await places(text), [["MC010", 1, 1]], text);
  }
  for (const text of ["x y = [1]", "Hi (see {x})", "nothing", "'a'"]) {
    assert.deepEqual(await places(text), [["MC023", 1, 1]], text);
  }
  assert.deepEqual(await places("fals\n"), [["MC011", 1, 5]]);
});

test("a key that is repeated under an escape is found", async () => {
  const { problems } = await check('{"image_id":"a","\\u0069mage_id":"b","label":"NV"}\n', "lesions/truth", "jsonl");
  assert.deepEqual(problems.map(({ code, line, column }) => [code, line, column]), [["MC015", 1, 17]]);
});

test("columns count characters, not bytes or halves of pairs", async () => {
  const { problems } = await check('{"image_id":"𝒳é","label":"?"}\n', "lesions/truth", "jsonl");
  assert.deepEqual(problems.map(({ code, column }) => [code, column]), [["MC104", 26]]);
});

test("a name from a file is only a name", async () => {
  const { ok, problems } = await check('{"image_id":"a","label":"NV","__proto__":1,"constructor":2}\n', "lesions/truth", "jsonl");
  assert.equal(ok, false);
  assert.deepEqual(problems.map(({ code, pointer }) => [code, pointer]), [["MC102", "/__proto__"], ["MC102", "/constructor"]]);
});

test("a set of strings is exact", () => {
  const set = new StringSet();
  const words = Array.from({ length: 5000 }, (_, n) => ["é".repeat(n % 90) + n, `x${n}`]).flat();
  assert.deepEqual(new Set(words.map((word) => set.add(word))), new Set([true]));
  assert.deepEqual(new Set(words.map((word) => set.add(word))), new Set([false]));
  assert.equal(set.add(""), true);
  assert.equal(set.add(""), false);
});

test("a submission is checked against the expected ids", async () => {
  const row = (id) => `${id},${[1, ...Array(9).fill(0)]}\n`;
  const source = `image_id,AK,BCC,SK,SCC,VASC,DF,NV,NON,MEL,ON\n${row("a")}${row("c")}`;
  const cases = [{ contract: "lesions/truth", records: [{ image_id: "a" }, { image_id: "b" }] }];
  const { ready, checks, files } = await preflight([{ name: "predictions.csv", source }], { cases, submission: ["lesions/predictions"] });
  assert.equal(ready, false);
  assert.deepEqual(checks.map(({ id, status, detail }) => [id, status, detail]), [
    ["valid:predictions.csv", "passed", "lesions/predictions, 2 records"],
    ["there:lesions/predictions", "passed", ""],
    ["answers", "passed", "2 records"],
    ["coverage", "failed", "1 of 2, and 1 other id"],
    ["gate", "failed", "50 % processed (1 of 2), at least 95 % required: 1 more record needed (MC401)"],
  ]);
  assert.deepEqual(files[0].problems.map(({ code, line }) => [code, line]), [["MC303", 3], ["MC302", null]]);
});

test("a score for a participant has no subgroups, and a hidden one has no figures", async () => {
  const environment = { python: "3.12", unicode: "15.0.0", unidecode: "1.3" };
  const protocol = { id: "other", version: 1, fingerprint: "0".repeat(64), parameters: {} };
  const group = { field: "site", value: "B", cases: null, headline: null, figures: {}, gap: null };
  const score = {
    track: "other", protocol, inputs: [], processing: null, valid: false, reasons: [], warnings: [], problems: [], result: null,
    medcontract_version: "1", environment, subgroups: [group],
  };
  const pointers = async (changes) => (await check(JSON.stringify({ ...score, ...changes }), "medcontract/score")).problems.map(({ pointer }) => pointer);
  assert.deepEqual(await pointers({}), []);
  assert.deepEqual(await pointers({ subgroups: [{ ...group, intervals: {} }] }), []);
  assert.deepEqual(await pointers({ participant: true }), ["/subgroups"]);
  assert.deepEqual(await pointers({ participant: true, subgroups: [] }), []);
  assert.deepEqual(await pointers({ subgroups: [{ ...group, gap: 0 }] }), ["/subgroups/0/gap"]);
  assert.deepEqual(await pointers({ subgroups: [{ ...group, figures: { "/f1": null } }] }), ["/subgroups/0/figures/~1f1"]);
  assert.deepEqual(await pointers({ subgroups: [{ ...group, cases: 10, gap: 0 }] }), []);
  assert.deepEqual(await pointers({ protocol: { ...protocol, parameters: { a: true } } }), ["/protocol/parameters/a"]);
});

test("the contract is recognized, or the problem says why not", async () => {
  assert.equal((await validate("image_id,label\na,NV\n")).contract, "lesions/truth");
  assert.equal((await validate('{"image_id":"a","label":"NV"}\n{"image_id":"b","label":"NV"}\n')).contract, "lesions/truth");
  const { contract, problems } = await validate("epoch,loss\n1,2\n");
  assert.deepEqual([contract, problems.map(({ code }) => code)], [null, ["MC009"]]);
});

test("a table with another separator is named as such", async () => {
  const problems = async (text, contract) => (await check(text, contract, "csv")).problems.map(({ code, message }) => [code, message]);
  const semicolons = [["MC005", "the columns are separated by semicolons, not by commas"]];
  assert.deepEqual(await problems("image_id;label\na;NV\n"), semicolons);
  assert.deepEqual(await problems("image_id;label\na;NV\n", "lesions/truth"), semicolons);
  assert.deepEqual(await problems("epoch;loss\n1;2\n"), [["MC009", "the contract cannot be recognized: its keys match no contract"]]);
});

test("the processing gate is exact, and that of the worst run", async () => {
  const cases = [{ contract: "reports/truth", records: Array.from({ length: 20 }, (_, n) => ({ report_id: `R${n}` })) }];
  const answer = (n, run) => JSON.stringify({ report_id: `R${n}`, run_id: run, specialty: "Cardiology", urgency: "Routine", follow_up: true, processing_time_sec: 1 });
  const failed = (n, run) => JSON.stringify({ report_id: `R${n}`, run_id: run, error: "out of memory" });
  const lines = (run, failures) => Array.from({ length: 20 }, (_, n) => (n < failures ? failed : answer)(n, run));
  const gate = async (...all) => {
    const { checks } = await preflight([{ name: "p.jsonl", source: all.flat().join("\n") }], { cases });
    const { status, detail } = checks.find(({ id }) => id === "gate");
    return [status, detail];
  };
  assert.deepEqual(await gate(lines("1", 1)), ["passed", "19 of 20"]);
  assert.deepEqual(await gate(lines("1", 0), lines("2", 2)), ["failed", "run 2: 90 % processed (18 of 20), at least 95 % required: 1 more record needed (MC401)"]);
});

test("without a submission nothing is ready", async () => {
  const { ready, checks } = await preflight([{ name: "truth.csv", source: "image_id,label\na,NV\n" }]);
  assert.equal(ready, false);
  assert.deepEqual(checks.map(({ title, status, detail }) => [title, status, detail]), [
    ["truth.csv is valid", "passed", "lesions/truth, 1 record"],
    ["There is a file with answers", "failed", "needs lesions/predictions"],
  ]);
});
