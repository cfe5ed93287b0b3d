import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { choose, closeBrowser, Daemon, enableDrive, open, until, Watcher } from "./harness.mjs";
import { faults } from "./axe.mjs";
import { WebSocket } from "./socket.mjs";

after(closeBrowser);

const SHOTS = fileURLToPath(new URL("../shots/", import.meta.url));

for (const colorScheme of ["light", "dark"]) {
  test(`all panels are accessible, ${colorScheme}`, async (t) => {
    const daemon = await Daemon.start(t);
    await until("the robot maps", async () => (await daemon.post("g1", { type: "Mapping", op: "start" })).ok);
    await mkdir(SHOTS, { recursive: true });
    const page = await open(t, daemon, { colorScheme });
    for (const robot of ["vacuum", "g1"]) {
      await choose(page, robot);
      if (robot === "g1") await page.locator("canvas:not([data-points='0'])").waitFor();
      assert.deepEqual(await faults(page), [], robot);
      await page.screenshot({ path: join(SHOTS, `${robot}-${colorScheme}.png`) });
    }
    // What opens, too.
    const teaching = page.getByRole("region", { name: "Teaching" });
    const opened = async (what, button, close) => {
      await button.click();
      assert.deepEqual(await faults(page), [], what);
      if (close) await close();
    };
    await opened("Save map", page.getByRole("button", { name: "Save map" }), () => page.keyboard.press("Escape"));
    await opened("Keys", page.getByRole("button", { name: "Keys" }), () => page.keyboard.press("Escape"));
    await opened("Rename", teaching.getByRole("button", { name: "Rename" }).first(), () => page.keyboard.press("Escape"));
    await opened("Delete", teaching.getByRole("button", { name: "Delete" }).first(), () => teaching.getByRole("button", { name: "Keep" }).click());
    await opened("All counters", page.getByText("All counters").first());
    await opened("Measure", page.getByRole("button", { name: "Measure" }));
    for (const name of ["Map", "Teaching", "Robots"]) assert.equal(await page.getByRole("region", { name, exact: true }).count(), 1, name);
    await choose(page, "vacuum");
    assert.equal(await page.getByRole("region", { name: "Drive", exact: true }).count(), 1);
    assert.equal(await page.getByRole("region", { name: "Teaching", exact: true }).count(), 0, "panels follow capabilities");
  });
}

test("a phone has it all without scrolling sideways", async (t) => {
  const daemon = await Daemon.start(t);
  await mkdir(SHOTS, { recursive: true });
  const page = await open(t, daemon, { width: 375, height: 812, hasTouch: true });
  for (const [robot, panels] of [["vacuum", ["Drive", "Map", "Robots"]], ["g1", ["Teaching", "Map", "Robots"]]]) {
    await choose(page, robot);
    for (const panel of panels) {
      await page.getByRole("navigation").getByRole("button", { name: panel }).click();
      await page.getByRole("region", { name: panel, exact: true }).waitFor();
      const wide = await page.evaluate(() => Math.max(document.documentElement.scrollWidth, ...[...document.querySelectorAll(".page, main, section, .body")].map((box) => (box.scrollWidth > box.clientWidth ? box.getBoundingClientRect().left + box.scrollWidth : 0))));
      assert.ok(wide <= 375, `${panel} is ${wide} wide`);
      const stop = await page.getByRole("button", { name: "STOP" }).boundingBox();
      assert.ok(stop.y + stop.height <= 812 && stop.width > 300, "STOP is in reach");
      assert.deepEqual(await faults(page), [], panel);
      await page.screenshot({ path: join(SHOTS, `phone-${robot}-${panel.toLowerCase()}.png`) });
    }
  }
});

for (const width of [812, 667]) {
  test(`a phone held sideways drives and stops, ${width} px`, async (t) => {
    const daemon = await Daemon.start(t);
    const page = await open(t, daemon, { width, height: 375, hasTouch: true });
    await enableDrive(page);
    const inside = ({ x, y, width: w, height: h }) => x >= 0 && y >= 0 && x + w <= width && y + h <= 375;
    for (const panel of ["Map", "Robots", "Drive"]) {
      await page.getByRole("navigation").getByRole("button", { name: panel }).click();
      await page.getByRole("region", { name: panel, exact: true }).waitFor();
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${panel} is ${wide} wide`);
      const stop = await page.getByRole("button", { name: "STOP" }).boundingBox();
      assert.ok(inside(stop) && stop.width >= 90 && stop.height >= 80, "STOP is in reach");
      assert.deepEqual(await faults(page), [], panel);
    }
    const [pad, stop] = [await page.getByRole("application", { name: "Joystick" }).boundingBox(), await page.getByRole("button", { name: "STOP" }).boundingBox()];
    assert.ok(inside(pad) && pad.height >= 140 && pad.x + pad.width <= stop.x, "the joystick is whole, and beside STOP");
  });
}

test("Esc closes the captures, and on a phone the tab says that they are open", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--g1", "sim:"] });
  const page = await open(t, daemon, { width: 375, height: 812 });
  const tabs = page.getByRole("navigation");
  await tabs.getByRole("button", { name: "Captures" }).click();
  const panel = page.getByRole("region", { name: "Captures", exact: true });
  await panel.waitFor();
  assert.deepEqual(await tabs.locator("[aria-current]").allInnerTexts(), ["Captures"]);
  await page.keyboard.press("Escape");
  await panel.waitFor({ state: "hidden" });
  assert.deepEqual(await tabs.locator("[aria-current]").allInnerTexts(), ["Teaching"]);
});

test("a daemon that is gone is obvious within a second or so, and found again", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await open(t, daemon, { expectErrors: true });
  const { address } = daemon;
  const began = performance.now();
  await daemon.kill("SIGKILL");
  await page.getByRole("alert").filter({ hasText: "Connection to Sinew lost" }).waitFor();
  assert.ok(performance.now() - began < 2500, "it took too long");
  assert.ok(await page.getByRole("button", { name: "Dock" }).isDisabled());
  assert.ok(await page.getByRole("button", { name: "STOP" }).isEnabled());
  assert.deepEqual(await faults(page), []);
  await page.getByRole("button", { name: "STOP" }).click();
  await page.getByRole("alert").filter({ hasText: "STOP did not reach Sinew" }).waitFor();
  await daemon.run(address);
  await page.getByRole("status").filter({ hasText: "Live" }).waitFor();
  await page.getByRole("alert").filter({ hasText: "STOP did not reach" }).waitFor({ state: "hidden" });
  await enableDrive(page);
  await until("it can be driven again", async () => (await daemon.robot("vacuum")).stopped_by === null);
});

test("a daemon that hangs is as obvious as one that is gone", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--vacuum", "sim:"] });
  const page = await open(t, daemon);
  // By the page's own clock: what it takes a busy machine to look is not the page's doing.
  await page.evaluate(() => {
    new MutationObserver(() => {
      if (document.querySelector(".banner")) globalThis.noticed ??= performance.now();
    }).observe(document.body, { childList: true, subtree: true });
  });
  const began = await page.evaluate(() => performance.now());
  daemon.process.kill("SIGSTOP");
  try {
    await page.getByRole("alert").filter({ hasText: "Connection to Sinew lost" }).waitFor();
  } finally {
    daemon.process.kill("SIGCONT");
  }
  const took = (await page.evaluate(() => globalThis.noticed)) - began;
  assert.ok(took < 2000, `it took ${took.toFixed(0)} ms`);
  await page.getByRole("status").filter({ hasText: "Live" }).waitFor();
});

test("of two tabs one has the controls, and the other may take them", async (t) => {
  const daemon = await Daemon.start(t);
  const [one, two] = [await open(t, daemon), await open(t, daemon)];
  await enableDrive(one);
  await one.keyboard.down("KeyW");
  await until("the robot drives", () => daemon.moves("vacuum"));
  await two.getByRole("radio", { name: /^LED 7/ }).click();
  await two.getByRole("alert").filter({ hasText: "Take control to do it anyway." }).waitFor();
  await two.getByRole("button", { name: "Take control" }).click();
  await daemon.stands("vacuum");
  await one.keyboard.up("KeyW");
  await until("the first tab knows", () => one.getByRole("button", { name: "Take control" }).isEnabled());
  await two.getByRole("radio", { name: /^LED 7/ }).click();
  await until("the light is red", async () => (await daemon.robot("vacuum")).state.led === 7);
});

test("a token is asked for where one is needed, and kept for the tab", async (t) => {
  const directory = await mkdtemp(join(tmpdir(), "sinew-token-"));
  t.after(() => rm(directory, { recursive: true }));
  const file = join(directory, "tokens");
  await writeFile(file, "control all-of-it-c0ntrol\nread only-look-at-r3ad\n", { mode: 0o600 });
  const daemon = await Daemon.start(t, { robots: ["--vacuum", "sim:"], http: "0.0.0.0:0", more: ["--token-file", file] });
  // Loopback alone needs none.
  daemon.address = daemon.address.replace("0.0.0.0", "127.0.0.1");
  daemon.url = `http://${daemon.address}/`;
  const page = await open(t, daemon, { expectErrors: true });
  const logIn = async (token) => {
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Log in" }).click();
  };
  assert.equal(await page.getByRole("region", { name: "Drive" }).count(), 0);
  assert.deepEqual(await faults(page), [], "the login");
  await logIn("no-such-token-at-all");
  await page.getByText("This token is not right.").waitFor();
  await logIn("only-look-at-r3ad");
  await page.getByRole("region", { name: "Drive" }).waitFor();
  assert.ok(await page.getByRole("button", { name: "Take control" }).isDisabled(), "it may look, not control");
  assert.ok(await page.getByRole("switch", { name: "Enable drive" }).isDisabled());
  // But stop it may, whatever another client does.
  const watcher = await Watcher.start(t, daemon, "vacuum", "only-look-at-r3ad");
  const driver = await WebSocket.connect(`${daemon.address}/ws`);
  t.after(() => driver.close());
  const say = (command) => driver.send(JSON.stringify(command));
  const act = (action) => say({ type: "ComponentControl", id: "drive", action });
  say({ type: "Auth", token: "all-of-it-c0ntrol" });
  await until("the robot may move", async () => {
    act({ type: "Enable" });
    const answer = await fetch(`${daemon.url}api/v1/robots/vacuum`, { headers: { authorization: "Bearer only-look-at-r3ad" } });
    return (await answer.json()).stopped_by === null;
  });
  const beat = setInterval(() => act({ type: "Configure", config: { linear: { F32: 0.1 }, angular: { F32: 0 } } }), 100);
  t.after(() => clearInterval(beat));
  await watcher.stops(t, "STOP with a token that may only look", async () => {}, () => page.getByRole("button", { name: "STOP" }).click());
  await page.getByRole("alert").filter({ hasText: "Stopped all robots" }).waitFor();
  await page.reload();
  await page.getByRole("region", { name: "Drive" }).waitFor();
  const kept = await page.evaluate(() => [JSON.stringify(localStorage), document.cookie, location.href].join());
  assert.doesNotMatch(kept, /r3ad/);
});
