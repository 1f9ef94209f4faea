export { checkFile, contractIds } from "./check.js";
export { checkFiles } from "./files.js";
