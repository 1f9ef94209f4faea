// Bytes as text: encodings, other kinds of files, lines and columns.

const HEAD = 4096;

/** A byte that is not part of valid UTF-8, as a lone surrogate, which no valid text contains. */
export const BAD_BYTE = /(?<![\uD800-\uDBFF])[\uDC80-\uDCFF]/;
const BLANK_LINE = /^[ \t]*$/;

/** The characters that count as blank: U+0009 to U+000D, U+0020, U+00A0. */
const BLANKS = /^[\x09-\x0d\x20\xa0]+|[\x09-\x0d\x20\xa0]+$/g;
export const stripBlanks = (text) => text.replace(BLANKS, "");
export const isBlankLine = (text) => BLANK_LINE.test(text);

/** The text of a file without its byte order mark; bytes that are not UTF-8 become lone surrogates. */
export function decode(bytes) {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) bytes = bytes.subarray(3);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return decodeWithBadBytes(bytes);
  }
}

function decodeWithBadBytes(bytes) {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const parts = [];
  let from = 0;
  for (let at = 0; at < bytes.length; ) {
    const size = sequence(bytes, at);
    if (size) at += size;
    else {
      parts.push(decoder.decode(bytes.subarray(from, at)), String.fromCharCode(0xdc00 + bytes[at]));
      from = at += 1;
    }
  }
  parts.push(decoder.decode(bytes.subarray(from)));
  return parts.join("");
}

/** The length of the valid sequence that starts here; 0 if there is none. */
function sequence(bytes, at) {
  const first = bytes[at];
  if (first < 0x80) return 1;
  const size = first >= 0xc2 && first <= 0xdf ? 2 : first >= 0xe0 && first <= 0xef ? 3 : first >= 0xf0 && first <= 0xf4 ? 4 : 0;
  for (let next = 1; next < size; next++) if ((bytes[at + next] & 0xc0) !== 0x80) return 0;
  const second = bytes[at + 1];
  const overlong = (first === 0xe0 && second < 0xa0) || (first === 0xf0 && second < 0x90);
  const beyond = (first === 0xed && second > 0x9f) || (first === 0xf4 && second > 0x8f);
  return overlong || beyond ? 0 : size;
}

const latin = (bytes) => Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");

const KINDS = [
  ["%PDF", "a PDF document"],
  ["\x89PNG", "an image"],
  ["\xff\xd8\xff", "an image"],
  ["SQLite format 3", "a database"],
  ["7z\xbc\xaf\x27\x1c", "a 7z archive"],
  ["Rar!\x1a\x07", "a rar archive"],
  ["\xfd7zXZ\x00", "an xz archive"],
  ["\x28\xb5\x2f\xfd", "a zstd archive"],
  ["\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office file, such as .xls"],
  ["{\\rtf", "an RTF document"],
  ["\x89HDF\r\n\x1a\n", "an HDF5 file"],
  ["\x93NUMPY", "a NumPy array"],
  ["ARROW1\x00\x00", "an Arrow or Feather file"],
  ["version https://git-lfs.github.com/", "a Git LFS pointer"],
  ["PK\x03\x04", "a zip archive"],
  ["\x1f\x8b", "a gzip archive"],
  ["PAR1", "a Parquet file"],
];
const PATTERNS = [
  [/^\x80[\x02-\x05](?:\x95|[}\]c(])/, "a Python pickle"],
  [/^BZh[1-9]1AY&SY/, "a bzip2 archive"],
];
const MARKUP = /^\s*<(!doctype\s+html|html|head|body|table|\?xml)\b/i;

/** What is wrong with a file of another kind or encoding, from its first bytes; null for text. */
export function otherKind(bytes) {
  const wide = wideEncoding(bytes);
  if (wide) return { code: "MC006", message: `the file is in ${wide}, not in UTF-8`, hint: "save it as UTF-8" };
  const head = latin(bytes.subarray(0, HEAD));
  const kind =
    KINDS.find(([magic]) => head.startsWith(magic)) ??
    (head.startsWith("ustar", 257) ? [null, "a tar archive"] : PATTERNS.find(([pattern]) => pattern.test(head)));
  if (kind) return { code: "MC005", message: `this is ${kind[1]}, not a text file`, hint: null };
  const markup = MARKUP.exec(head.startsWith("\xef\xbb\xbf") ? head.slice(3) : head);
  if (!markup) return null;
  const name = markup[1].toLowerCase().endsWith("xml") ? "an XML document" : "a web page (HTML)";
  const hint = "check whether a login or error page was saved instead of the file";
  return { code: "MC005", message: `this is ${name}, not a data file`, hint };
}

function wideEncoding(b) {
  const zeros = (from, to) => b.subarray(from, to).filter((byte) => byte === 0).length;
  if (b[0] === 0xff && b[1] === 0xfe && b[2] === 0 && b[3] === 0 && b.length > 3) return "UTF-32";
  if (b[0] === 0 && b[1] === 0 && b[2] === 0xfe && b[3] === 0xff) return "UTF-32";
  if ((b[0] === 0xff && b[1] === 0xfe) || (b[0] === 0xfe && b[1] === 0xff)) return "UTF-16";
  if (zeros(0, 4) === 3 && zeros(4, 8) === 3) return "UTF-32";
  if (b.length >= 4 && (b[0] === 0 && b[2] === 0) !== (b[1] === 0 && b[3] === 0)) return "UTF-16";
  return null;
}

/** Line and column of places in a text, which have to be asked for from the start to the end. */
export class Places {
  #text;
  #line = 1;
  #start = 0;
  #at = 0;

  constructor(text) {
    this.#text = text;
  }

  find(at) {
    const text = this.#text;
    if (at < this.#at) [this.#line, this.#start, this.#at] = [1, 0, 0];
    for (let next = this.#at; next < at; next++) {
      const char = text.charCodeAt(next);
      if (char === 10 || (char === 13 && text.charCodeAt(next + 1) !== 10)) {
        this.#line += 1;
        this.#start = next + 1;
      }
    }
    this.#at = at;
    let column = 1;
    for (let next = this.#start; next < at; next++) {
      const low = text.charCodeAt(next) & 0xfc00;
      if (low !== 0xdc00 || (text.charCodeAt(next - 1) & 0xfc00) !== 0xd800) column += 1;
    }
    return { line: this.#line, column };
  }
}

/** The lines of a text with the place of each, without their ends: LF, CRLF or CR. */
export function* lines(text) {
  const hasReturns = text.includes("\r");
  for (let at = 0; at < text.length; ) {
    let end = text.indexOf("\n", at);
    if (end < 0) end = text.length;
    let next = end + 1;
    if (hasReturns) {
      const back = text.indexOf("\r", at);
      if (back >= 0 && back < end) [end, next] = [back, back + (text[back + 1] === "\n" ? 2 : 1)];
    }
    yield { at, text: text.slice(at, end) };
    at = next;
  }
}
