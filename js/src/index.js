export { contractIds, validate } from "./check.js";
export { preflight } from "./files.js";
