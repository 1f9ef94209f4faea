// Checks values against the published schemas. Only what these use is known; anything else is an error when loading.

import { stripBlanks } from "./text.js";

const NON_BLANK = "[^\\x09-\\x0d\\x20\\xa0]";
const KNOWN = new Set([
  "type", "properties", "required", "additionalProperties", "items", "minItems", "maxItems", "enum", "const", "pattern",
  "not", "maxLength", "minLength", "minimum", "maximum", "exclusiveMinimum", "anyOf", "oneOf", "allOf", "$ref", "$defs",
  "if", "then", "else", "uniqueItems", "propertyNames",
]);

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const CHECKS = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
};

/** A function that adds the findings about a value to a list: `check(value, path, findings)`. `noError`: a pattern of texts in `error` that mean that there was none. */
export function compile(schema, noError) {
  const made = new Map();
  const find = (name) => (value, path, findings) => {
    if (!made.has(name)) made.set(name, node(schema.$defs[name], find));
    return made.get(name)(value, path, findings);
  };
  find.noError = noError === undefined ? null : new RegExp(noError, "u");
  return node(schema, find);
}

const finding = (code, path, message, more) => ({ code, path: [...path], message, ...more });

function node(schema, find) {
  if (schema === true) return () => {};
  for (const key in schema) if (!KNOWN.has(key)) throw new Error(`the keyword '${key}' is not supported`);
  if (schema.$ref) return find(schema.$ref.replace("#/$defs/", ""));
  if (schema.oneOf && schema.oneOf.length === 2) return variants(schema.oneOf.map((each) => node(each, find)), find.noError);
  if (schema.anyOf) return anyOf(schema.anyOf, find);
  const steps = [...keywords(schema, find)];
  return (value, path, findings) => {
    for (const step of steps) if (step(value, path, findings) === STOP) return;
  };
}

const STOP = Symbol("stop");

/** A record with an `error`, neither null nor blank, is a failed one, whatever its other keys. With answers and an `error` that means none, that is what is wrong, and it is checked without. */
function variants([answered, failed], noError) {
  return (value, path, findings) => {
    const error = isObject(value) && Object.hasOwn(value, "error") ? value.error : null;
    const none = error === null || (typeof error === "string" && !stripBlanks(error));
    if (none) return answered(value, path, findings);
    const found = [];
    failed(value, path, found);
    if (typeof error === "string" && noError?.test(error.trim()) && found.some(({ code }) => code === "MC109")) {
      found.length = 0;
      answered({ ...value, error: null }, path, found);
      found.push(finding("MC109", [...path, "error"], "means that there was no error"));
    }
    findings.push(...found);
  };
}

function anyOf(schemas, find) {
  const others = schemas.filter((each) => each.type !== "null").map((each) => node(each, find));
  const nullable = others.length < schemas.length;
  return (value, path, findings) => {
    if (nullable && value === null) return;
    let first = null;
    for (const check of others) {
      const found = [];
      check(value, path, found);
      if (!found.length) return;
      first ??= found;
    }
    findings.push(...first);
  };
}

function* keywords(schema, find) {
  if (schema.type !== undefined) yield ofType(schema.type);
  if (schema.enum !== undefined) yield oneOf(schema.enum);
  if ("const" in schema) yield oneOf([schema.const]);
  if (schema.pattern !== undefined) yield pattern(schema.pattern);
  if (schema.not !== undefined) yield not(node(schema.not, find));
  if (schema.minLength !== undefined) yield size(typeof "", (text) => [...text].length >= schema.minLength, "MC107");
  if (schema.maxLength !== undefined) yield size(typeof "", (text) => text.length <= schema.maxLength || [...text].length <= schema.maxLength, "MC107");
  if (schema.minimum !== undefined) yield bound((value) => value >= schema.minimum, `at least ${schema.minimum}`);
  if (schema.exclusiveMinimum !== undefined) yield bound((value) => value > schema.exclusiveMinimum, `above ${schema.exclusiveMinimum}`);
  if (schema.maximum !== undefined) yield bound((value) => value <= schema.maximum, `at most ${schema.maximum}`);
  if (schema.minItems !== undefined) yield items((length) => length >= schema.minItems, `at least ${schema.minItems}`);
  if (schema.maxItems !== undefined) yield items((length) => length <= schema.maxItems, `at most ${schema.maxItems}`);
  if (schema.items !== undefined) yield each(node(schema.items, find));
  if (schema.required || schema.properties || schema.additionalProperties !== undefined) yield members(schema, find);
  if (schema.allOf) yield* schema.allOf.map((part) => node(part, find));
  if (schema.if) yield conditional(...[schema.if, schema.then ?? true, schema.else ?? true].map((part) => node(part, find)));
}

function ofType(type) {
  const types = [].concat(type);
  return (value, path, findings) => {
    if (types.some((name) => CHECKS[name](value))) return;
    if (type === "null") findings.push(finding("MC109", path, "is not allowed together with 'error'"));
    else findings.push(finding("MC103", path, `must be ${types.join(" or ")}`));
    return STOP;
  };
}

function oneOf(values) {
  return (value, path, findings) => {
    if (!values.includes(value)) findings.push(finding("MC104", path, `must be ${values.length > 1 ? "one of " : ""}${values.join(", ")}`));
  };
}

function pattern(source) {
  const compiled = new RegExp(source, "u");
  const [code, message] = source === NON_BLANK ? ["MC106", "must not be blank"] : ["MC107", `must match ${source}`];
  return (value, path, findings) => {
    if (typeof value !== "string" || compiled.test(value)) return;
    findings.push(finding(code, path, message));
    return STOP;
  };
}

function not(check) {
  return (value, path, findings) => {
    const found = [];
    check(value, path, found);
    if (!found.length) findings.push(finding("MC107", path, "has the wrong format"));
  };
}

function size(type, check, code) {
  return (value, path, findings) => {
    if (typeof value === type && !check(value)) findings.push(finding(code, path, "has the wrong length"));
  };
}

function bound(check, words) {
  return (value, path, findings) => {
    if (typeof value === "number" && !check(value)) findings.push(finding("MC105", path, `must be ${words}`));
  };
}

function items(check, words) {
  return (value, path, findings) => {
    if (!Array.isArray(value) || check(value.length)) return;
    findings.push(finding("MC108", path, `must have ${words} items, not ${value.length}`));
  };
}

/** Check a member or an item; the path is one list that grows and shrinks. */
function inside(check, value, path, token, findings) {
  path.push(token);
  check(value, path, findings);
  path.pop();
}

function each(check) {
  return (value, path, findings) => {
    if (!Array.isArray(value)) return;
    for (let index = 0; index < value.length; index++) inside(check, value[index], path, index, findings);
  };
}

function members(schema, find) {
  const known = new Map(Object.entries(schema.properties ?? {}).map(([name, each]) => [name, node(each, find)]));
  const open = schema.additionalProperties === undefined || schema.additionalProperties === true;
  const other = typeof schema.additionalProperties === "object" ? node(schema.additionalProperties, find) : null;
  const required = schema.required ?? [];
  return (value, path, findings) => {
    if (!isObject(value)) return;
    for (const name of required)
      if (!Object.hasOwn(value, name)) findings.push(finding("MC101", path, `'${name}' is missing`, { field: name }));
    for (const name in value) {
      const check = known.get(name) ?? other;
      if (check) inside(check, value[name], path, name, findings);
      else if (!open) findings.push(finding("MC102", [...path, name], "a key that is not in this contract", { atKey: true }));
    }
  };
}

function conditional(test, then, otherwise) {
  return (value, path, findings) => {
    const found = [];
    test(value, path, found);
    (found.length ? otherwise : then)(value, path, findings);
  };
}
