// Puts a compressed copy beside each file of the page: the daemon sends nothing else.
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const LIMIT = 400_000;
const dist = fileURLToPath(new URL("../dist", import.meta.url));
let total = 0;
for (const entry of await readdir(dist, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || entry.name.startsWith(".") || entry.name.endsWith(".gz")) continue;
  const path = join(entry.parentPath, entry.name);
  const packed = gzipSync(await readFile(path), { level: 9 });
  await writeFile(`${path}.gz`, packed);
  await rm(path);
  total += packed.length;
}
await writeFile(join(dist, ".gitkeep"), "");
console.log(`${(total / 1000).toFixed(1)} kB on the wire, at most ${LIMIT / 1000}`);
if (total > LIMIT) process.exit(1);
