// Licences of all that is installed for the page; gives those of what is shipped as a text.
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const GOOD = new Set(["MIT", "ISC", "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "Python-2.0", "BlueOak-1.0.0", "PSF-2.0"]);
// Used to build and to test, and no part of the page.
const BUILD_ONLY = new Set(["MPL-2.0"]);
const root = fileURLToPath(new URL("..", import.meta.url));
const json = async (path) => JSON.parse(await readFile(path, "utf8"));

/** What is shipped with the page. */
export async function shipped() {
  const { dependencies } = await json(`${root}package.json`);
  const texts = [];
  for (const name of Object.keys(dependencies)) {
    const directory = `${root}node_modules/${name}`;
    const file = (await readdir(directory)).find((file) => /^licen[cs]e/i.test(file));
    texts.push(`${name}\n\n${(await readFile(`${directory}/${file}`, "utf8")).trim()}\n`);
  }
  return texts.join("\n\n");
}

async function check() {
  const { packages } = await json(`${root}package-lock.json`);
  const bad = [];
  for (const [path, { license, dev, resolved }] of Object.entries(packages)) {
    if (path === "") continue;
    if (resolved) bad.push(`${path}: the lock names an address, ${resolved}`);
    const any = (license ?? "none").replace(/[()]/g, "").split(" OR ");
    if (!any.some((one) => GOOD.has(one) || (dev && BUILD_ONLY.has(one)))) bad.push(`${path}: ${license}`);
  }
  if (bad.length > 0) {
    console.error(bad.join("\n"));
    process.exit(1);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await check();
