// Writes src/api/schema.ts from the server's golden OpenAPI document; with --check it only says whether it is current.
import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";
import * as prettier from "prettier";

const DOCUMENT = new URL("../../tests/server/openapi.json", import.meta.url);
const TARGET = new URL("../src/api/schema.ts", import.meta.url);
const HEADER = `// Made by 'npm run api' from tests/server/openapi.json. Not to be edited.\n\nimport type { Json } from "./json";\n\n`;

/** Documents may grow fields that we do not know; types say only those that we do, so that a typo is found. */
function closed(value) {
  if (Array.isArray(value)) return value.map(closed);
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).filter(
    ([key, inner]) => !(key === "additionalProperties" && inner === true && "properties" in value),
  );
  return Object.fromEntries(entries.map(([key, inner]) => [key, closed(inner)]));
}

const document = closed(JSON.parse(await readFile(DOCUMENT, "utf8")));
const made = HEADER + astToString(await openapiTS(document)).replace("JsonValue: unknown;", "JsonValue: Json;");
const options = await prettier.resolveConfig(TARGET);
const text = await prettier.format(made, { ...options, parser: "typescript" });

if (process.argv.includes("--check")) {
  const found = await readFile(TARGET, "utf8").catch(() => "");
  if (found !== text) {
    console.error("src/api/schema.ts is not what tests/server/openapi.json says: run `npm run api` in web/.");
    process.exit(1);
  }
} else {
  await writeFile(TARGET, text);
}
