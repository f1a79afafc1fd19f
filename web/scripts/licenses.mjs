// Writes the licence texts of the packages in the bundle beside it, after each build (`postbuild`).
// A package in package-lock.json that is not only for development counts as bundled, except type declarations.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";

const WEB = new URL("../", import.meta.url);
const TARGET = new URL("../../src/openskelo/server/web/assets/third-party-licenses.txt", import.meta.url);
const HEADER = "The dashboard of OpenSkelo contains these packages, each under its own licence.\n";
const LICENCE_FILE = /^(licen[cs]e|copying|notice)/i;

/** Where the source of a package is, as its author says. */
function source({ repository, homepage }) {
  const address = typeof repository === "string" ? repository : (repository?.url ?? homepage ?? "");
  return address.replace(/^git\+/, "").replace(/\.git$/, "");
}

function entry(folder, locked) {
  const name = folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length);
  const place = new URL(`${folder}/`, WEB);
  const texts = readdirSync(place)
    .filter((file) => LICENCE_FILE.test(file))
    .sort()
    .map((file) => readFileSync(new URL(file, place), "utf8").trim());
  if (texts.length === 0) throw new Error(`${name} has no licence text: it cannot be shipped`);
  const description = JSON.parse(readFileSync(new URL("package.json", place), "utf8"));
  const title = `${name} ${locked.version} (${locked.license})\n${source(description)}`;
  return `${"=".repeat(80)}\n${title}\n\n${texts.join("\n\n")}\n`;
}

const { packages } = JSON.parse(readFileSync(new URL("package-lock.json", WEB), "utf8"));
const bundled = Object.entries(packages).filter(
  ([folder, locked]) =>
    folder !== "" && !locked.dev && !locked.devOptional && !folder.startsWith("node_modules/@types/"),
);
const missing = bundled.filter(([folder]) => !existsSync(new URL(folder, WEB)));
if (missing.length > 0) throw new Error(`not installed: ${missing.map(([folder]) => folder).join(", ")}`);
writeFileSync(TARGET, [HEADER, ...bundled.map(([folder, locked]) => entry(folder, locked))].join("\n"));
