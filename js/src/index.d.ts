/** A container of records: one JSON value, one record per line, or a table. */
export type Container = "json" | "jsonl" | "csv";

/** What can be read: it is read once, piece by piece. */
export type Source =
  | string
  | Uint8Array
  | ArrayBuffer
  | Blob
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array | string>;

export interface Problem {
  code: string;
  severity: "error" | "warning";
  /** May contain names of fields, but no values. */
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

/** An item of `files` in `medcontract/validation`, without the path. */
export interface Report {
  ok: boolean;
  /** null if it was not recognized. */
  contract: string | null;
  records: number | null;
  errors: number;
  warnings: number;
  /** How many problems are counted, but not listed. */
  omitted: number;
  /** In file order, at most 10,000. */
  problems: Problem[];
}

export interface Options {
  /** The contract, such as "lesions/predictions". Without it, it is recognized. */
  contract?: string | null;
  container?: Container | null;
  /** The contracts that the file may be of, if it is recognized. */
  only?: string[] | null;
  /** Called with the bytes that were read so far. */
  progress?: ((bytes: number) => void) | null;
}

/** Check one file. Rejects with a TypeError for an unknown contract. */
export function validate(source: Source, options?: Options): Promise<Report>;

export interface GivenFile {
  name: string;
  source: Source;
  contract?: string | null;
  container?: Container | null;
}

export interface Check {
  id: string;
  title: string;
  status: "passed" | "failed" | "skipped";
  detail: string;
}

export interface Preflight {
  /** Whether no check failed. */
  ready: boolean;
  checks: Check[];
  files: (Report & { path: string })[];
  /** What `medcontract preflight` also checks for these contracts. */
  unchecked: string[];
}

export interface PreflightOptions {
  /** The ids that are expected: records of a truth such as "lesions/truth", with nothing but ids. */
  cases?: { contract: string; records: Record<string, unknown>[] }[];
  only?: string[] | null;
  /** The contracts of which there must be a file. */
  submission?: string[];
  /** The sizes of all files by name, to look for files that a document names; `isWhole` if there are no others beside them. */
  listing?: { sizes: Map<string, number>; isWhole: boolean } | null;
  progress?: ((name: string, bytes: number) => void) | null;
}

/** Check files, each alone and then together. */
export function preflight(files: GivenFile[], options?: PreflightOptions): Promise<Preflight>;

/** The ids of all contracts. */
export function contractIds(): string[];
