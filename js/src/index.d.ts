/** A container of records: one JSON value, one record per line, or a table. */
export type Container = "json" | "jsonl" | "csv";

export interface Problem {
  code: string;
  severity: "error" | "warning";
  message: string;
  hint: string | null;
  /** RFC 6901, in the document or, for lines and tables, in the record. */
  pointer: string;
  /** The index of the record, from 0. */
  record: number | null;
  line: number | null;
  /** Counted in characters, from 1; null in tables. */
  column: number | null;
  /** The name of the column, in tables. */
  field: string | null;
}

export interface Report {
  ok: boolean;
  contract: string;
  records: number | null;
  errors: number;
  warnings: number;
  /** In file order. */
  problems: Problem[];
}

export interface GivenFile {
  name: string;
  contract: string;
  container: Container;
  bytes: Uint8Array;
}

/** Check one file. Throws a TypeError for an unknown contract. */
export function checkFile(bytes: Uint8Array, contract: string, container: Container): Report;

/** Check files, each alone and then together. */
export function checkFiles(files: GivenFile[]): (Report & { name: string })[];

/** The ids of all contracts. */
export function contractIds(): string[];
