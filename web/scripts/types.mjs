// Types of the network interface, from the schema that the daemon's own types give.
import { readFile, writeFile } from "node:fs/promises";
import { compile } from "json-schema-to-typescript";

const source = new URL("../../docs/api.schema.json", import.meta.url);
const target = new URL("../src/api.gen.ts", import.meta.url);
const schema = JSON.parse(await readFile(source, "utf8"));

/** A member that may be anything, and has a description, would become an object. */
function open(value) {
  if (value === null || typeof value !== "object") return;
  for (const [name, member] of Object.entries(value.properties ?? {})) {
    if (Object.keys(member).every((key) => key === "description")) value.properties[name] = { ...member, tsType: "unknown" };
  }
  Object.values(value).forEach(open);
}

open(schema);
// Members that stand beside a reference would be left out with it.
schema.$defs.DaemonMessage.oneOf = schema.$defs.DaemonMessage.oneOf.map(({ $ref, ...tag }) => ({ allOf: [{ $ref }, tag] }));
// `Replies` and what it names stand in no message, and would be left out.
schema.anyOf.push({ $ref: "#/$defs/Replies" });
const text = await compile(schema, "Api", {
  additionalProperties: false,
  bannerComment: "// Made of docs/api.schema.json by scripts/types.mjs.",
  format: false,
});
if ((await readFile(target, "utf8").catch(() => "")) !== text) await writeFile(target, text);
