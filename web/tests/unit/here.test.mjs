import assert from "node:assert/strict";
import { test } from "node:test";
import { isHere } from "../../src/lib/here.ts";

test("only loopback is this machine", () => {
  for (const host of ["localhost", "sinew.localhost", "127.0.0.1", "127.9.8.7", "[::1]", "::1"]) assert.ok(isHere(host), host);
  for (const host of ["robot.lan", "192.168.12.1", "127.evil.example", "localhost.example", "[fd00::1]", ""]) assert.ok(!isHere(host), host);
});
