// The conformance suite: the same verdict, codes and places as the Python implementation.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { preflight, validate } from "../src/index.js";

const SUITE = new URL("../../conformance/", import.meta.url);
const read = (path) => new Uint8Array(readFileSync(new URL(path, SUITE)));
const cases = (level) => new TextDecoder().decode(read(`${level}.jsonl`)).trimEnd().split("\n").map(JSON.parse);
const only = (problem, like) => Object.fromEntries(Object.keys(like).map((key) => [key, problem[key]]));
const KEYS = { code: 0, severity: 0, line: 0, column: 0, record: 0, pointer: 0 };

for (const level of ["syntax", "schema", "rules", "tables"])
  test(level, async () => {
    for (const { id, contract, container, input, expect } of cases(level)) {
      const { ok, problems } = await validate(read(input), { contract: contract ?? "reports/truth", container });
      const found = problems.map((problem, index) => only(problem, expect.problems[index] ?? KEYS));
      assert.deepEqual({ ok, problems: found }, expect, id);
    }
  });

/** The same, in pieces that cut everything: characters, line ends, keys, records. */
test("in small pieces", async () => {
  for (const level of ["syntax", "schema", "rules", "tables"])
    for (const { id, contract, container, input, expect } of cases(level)) {
      const bytes = read(input);
      async function* source() {
        for (let at = 0; at < bytes.length; at += 7) yield bytes.subarray(at, at + 7);
      }
      const { problems } = await validate(source(), { contract: contract ?? "reports/truth", container, window: 16 });
      const found = problems.map((problem, index) => only(problem, expect.problems[index] ?? KEYS));
      assert.deepEqual(found, expect.problems, id);
    }
});

test("files", async () => {
  for (const { id, files, expect } of cases("files")) {
    const checked = await preflight(files.map((file) => ({ ...file, source: read(file.input) })));
    const found = checked.files.flatMap(({ path, problems }) =>
      problems.filter(({ code }) => code.startsWith("MC3")).map((p) => only({ file: path, ...p }, { file: 0, code: 0, severity: 0, record: 0, pointer: 0 })));
    const order = (p) => [p.file, String(p.record ?? -1).padStart(9), JSON.stringify(p)].join("\0");
    const sorted = (list) => list.sort((a, b) => (order(a) < order(b) ? -1 : 1));
    assert.deepEqual(sorted(found), sorted(expect.problems), id);
  }
});
