// The conformance suite: the same verdict, codes and places as the Python implementation.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { checkFile } from "../src/check.js";
import { checkFiles } from "../src/files.js";

const SUITE = new URL("../../conformance/", import.meta.url);
const read = (path) => new Uint8Array(readFileSync(new URL(path, SUITE)));
const cases = (level) => new TextDecoder().decode(read(`${level}.jsonl`)).trimEnd().split("\n").map(JSON.parse);
const only = (problem, like) => Object.fromEntries(Object.keys(like).map((key) => [key, problem[key]]));
const KEYS = { code: 0, severity: 0, line: 0, column: 0, record: 0, pointer: 0 };

for (const level of ["syntax", "schema", "rules", "tables"])
  test(level, () => {
    for (const { id, contract, container, input, expect } of cases(level)) {
      const { ok, problems } = checkFile(read(input), contract ?? "reports/truth", container);
      const found = problems.map((problem, index) => only(problem, expect.problems[index] ?? KEYS));
      assert.deepEqual({ ok, problems: found }, expect, id);
    }
  });

test("files", () => {
  for (const { id, files, expect } of cases("files")) {
    const checked = checkFiles(files.map((file) => ({ ...file, bytes: read(file.input) })));
    const found = checked.flatMap(({ name, problems }) =>
      problems.filter(({ code }) => code.startsWith("MC3")).map((p) => only({ file: name, ...p }, { file: 0, code: 0, severity: 0, record: 0, pointer: 0 })));
    const order = (p) => [p.file, String(p.record ?? -1).padStart(9), JSON.stringify(p)].join("\0");
    const sorted = (list) => list.sort((a, b) => (order(a) < order(b) ? -1 : 1));
    assert.deepEqual(sorted(found), sorted(expect.problems), id);
  }
});
