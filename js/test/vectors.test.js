// The vectors of the Python implementation: the same verdict, codes and places.

import assert from "node:assert/strict";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { test } from "node:test";

import { checkFile, contractIds } from "../src/check.js";
import { checkFiles } from "../src/files.js";

const VECTORS = new URL("../../tests/vectors/", import.meta.url);
const LINE = /^(?<name>\S+?)(?: \[(?<contract>\S+)\])?: (?<problem>ok|MC.+)$/;
const ENDING = /\.(json|jsonl|csv)$/;

/** Files that hold records in another arrangement, which only the Python implementation recognizes. */
const OTHER_ARRANGEMENTS = new Set(["syntax/holds-a-list-over-lines.jsonl", "syntax/pandas-columns.jsonl", "syntax/pandas-table.json"]);

const bytesOf = (path) => new Uint8Array(readFileSync(new URL(path, VECTORS)));
const exists = (path) => statSync(new URL(path, VECTORS), { throwIfNoEntry: false }) !== undefined;

function manifest(folder) {
  const expected = new Map();
  for (const line of readFileSync(new URL(`${folder}/expected.txt`, VECTORS), "utf8").trimEnd().split("\n")) {
    const { name, contract, problem } = LINE.exec(line).groups;
    if (!expected.has(name)) expected.set(name, { contract, problems: [] });
    if (problem !== "ok") expected.get(name).problems.push(problem);
  }
  return expected;
}

const shown = (...parts) => parts.map((part) => part ?? "-").join(" ");

for (const folder of [...contractIds().filter(exists), "syntax"]) {
  test(folder, () => {
    for (const [file, { contract = folder, problems }] of manifest(folder)) {
      const container = ENDING.exec(file)?.[1];
      if (!container || contract === "-" || OTHER_ARRANGEMENTS.has(`${folder}/${file}`)) continue;
      const report = checkFile(bytesOf(`${folder}/${file}`), contract, container);
      const found = report.problems.map((p) => shown(p.code, p.severity, p.line, p.column, p.record, p.pointer || '""'));
      const expected = problems.filter((line) => !line.startsWith("MC510")); // it depends on recognition
      assert.deepEqual(found, expected, file);
    }
  });
}

test("rules between files", () => {
  const expected = manifest("between");
  for (const set of readdirSync(new URL("between", VECTORS)).filter((name) => name !== "expected.txt")) {
    const track = set.split("-")[0];
    const files = readdirSync(new URL(`between/${set}`, VECTORS)).sort().map((name) => ({
      name,
      contract: `${track}/${name.replace(ENDING, "")}`,
      container: ENDING.exec(name)[1],
      bytes: bytesOf(`between/${set}/${name}`),
    }));
    const found = checkFiles(files).flatMap(({ name, problems }) =>
      problems.filter(({ code }) => code.startsWith("MC3")).map((p) => shown(p.code, p.severity, name, p.record, p.pointer || '""')));
    assert.deepEqual(found.sort(), expected.get(set).problems.sort(), set);
  }
});
