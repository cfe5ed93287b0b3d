import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { sentence } from "../../src/lib/words.ts";

test("each event that the command line has words for has words here", async () => {
  const source = await readFile(new URL("../../../crates/sinew/src/words.rs", import.meta.url), "utf8");
  const [all] = source.split('printable_json(event)');
  const names = new Set([...all.matchAll(/^ {8}"([a-z_]+)"(?: if [^=]*(?:==[^=]*)?)? =>/gm)].map(([, name]) => name));
  assert.ok(names.size > 25, `${names.size} were found`);
  for (const event of names) {
    const [, words] = sentence({ event });
    assert.doesNotMatch(words, /^\{/, event);
  }
});

test("bytes are told as documents have them", () => {
  assert.deepEqual(sentence({ event: "lidar_state", bytes: [4, 0, 127] }), ["info", "The lidar's state is 04 00 7f"]);
});

test("what is not known is told as it came", () => {
  assert.deepEqual(sentence({ event: "new", a: 1 }), ["info", '{"event":"new","a":1}']);
});
