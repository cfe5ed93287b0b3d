// How long a robot goes on after its driver is gone, by every way to be gone.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { chromium } from "playwright-core";
import { Devtools } from "./devtools.mjs";
import { choose, CHROMIUM, closeBrowser, Daemon, enableDrive, FLAGS, open, pushJoystick, until, Watcher } from "./harness.mjs";

after(closeBrowser);

/** A gamepad that the test holds. */
const gamepad = (page) =>
  page.addInitScript(() => {
    globalThis.pad = null;
    navigator.getGamepads = () => [globalThis.pad];
  });
const pushGamepad = (page) => page.evaluate(() => void (globalThis.pad = { connected: true, axes: [0, -1], buttons: [] }));
const dropGamepad = (page) => page.evaluate(() => void (globalThis.pad = null));

test("a robot stands as soon as its driver lets go, looks away or leaves", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await open(t, daemon, { before: gamepad, hasTouch: true });
  const watcher = await Watcher.start(t, daemon);
  const key = () => page.keyboard.down("KeyW");
  const free = () => page.keyboard.up("KeyW");
  await enableDrive(page);

  let release = null;
  // There and back, so that all of it has room.
  await watcher.stops(t, "the joystick is let go", async () => (release = await pushJoystick(page)), () => release());
  await watcher.stops(t, "the joystick is let go, backwards", async () => (release = await pushJoystick(page, -0.9)), () => release());
  assert.equal((await daemon.robot("vacuum")).stopped_by, null, "letting go needs no enabling");
  await watcher.stops(t, "the key is let go", key, free);
  await watcher.stops(t, "the window loses its focus", key, () => page.evaluate(() => dispatchEvent(new Event("blur"))));
  await free();
  await watcher.stops(t, "the page is hidden", key, () =>
    page.evaluate(() => {
      Object.defineProperty(document, "hidden", { value: true, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }),
  );
  await page.evaluate(() => delete document.hidden);
  await free();
  await watcher.stops(t, "the gamepad is unplugged", () => pushGamepad(page), () => dropGamepad(page));

  const box = await page.getByRole("application", { name: "Joystick" }).boundingBox();
  const finger = await page.context().newCDPSession(page);
  const touch = (type, ...touchPoints) => finger.send("Input.dispatchTouchEvent", { type, touchPoints });
  const put = async () => {
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await touch("touchStart", { x, y });
    await touch("touchMove", { x, y: y + box.height * 0.3 });
  };
  await watcher.stops(t, "the finger is lifted", put, () => touch("touchEnd"));
  await watcher.stops(t, "the touch is cancelled", put, () => touch("touchCancel"));

  // The last word is for the robot that was driven, not for the one that is chosen now.
  await watcher.stops(t, "another robot is chosen", key, () => choose(page, "g1"), 700);
  await free();
  await enableDrive(page);
  await watcher.stops(t, "the page hangs", key, () => page.evaluate(() => {
    const end = performance.now() + 2500;
    while (performance.now() < end);
  }));
  await free();
  await watcher.stops(t, "the tab is closed", key, () => page.close());
  await until("the robot knows that its driver has gone", async () => / left$/.test((await daemon.robot("vacuum")).stopped_by));
});

test("STOP stops what drives: by the button, by the space bar, and beside a text", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await open(t, daemon, { before: gamepad });
  const watcher = await Watcher.start(t, daemon);
  const stop = () => page.getByRole("button", { name: "STOP" }).click();
  const key = () => page.keyboard.down("KeyW");
  await enableDrive(page);
  await watcher.stops(t, "STOP", key, stop);
  assert.notEqual((await daemon.robot("vacuum")).stopped_by, null, "a stop latches");
  await page.getByRole("alert").filter({ hasText: "Stopped all robots" }).waitFor();
  // It goes out by two ways, and is told once.
  await page.getByText("Stopped from this page. Enable drive to go on.").waitFor();
  const log = page.getByRole("list", { name: "Events" });
  await log.getByText("Stopped all robots, from this page").waitFor();
  assert.equal(await log.getByText(/Stopped by/).count(), 0);
  await page.keyboard.up("KeyW");
  await enableDrive(page);
  // Whatever has the focus is not pressed by it: the switch stays as it is.
  await page.getByRole("switch", { name: "Enable drive" }).focus();
  await watcher.stops(t, "the space bar", key, () => page.keyboard.press("Space"));
  assert.notEqual((await daemon.robot("vacuum")).stopped_by, null);
  await page.keyboard.up("KeyW");
  await enableDrive(page);
  // In a text a space is a space, and W a letter; the button is there all the same.
  const filter = page.getByRole("searchbox", { name: "Filter events" });
  await filter.focus();
  await page.keyboard.type("w w");
  assert.equal(await filter.inputValue(), "w w");
  assert.equal((await daemon.robot("vacuum")).stopped_by, null);
  assert.equal(watcher.moving, false);
  await filter.fill("");
  // Unless anything moves: then it stops, with whatever else is held.
  for (const space of ["Space", "Shift+Space", "Control+Space"]) {
    await watcher.stops(t, `${space} in a text`, () => pushGamepad(page), () => page.keyboard.press(space));
    assert.equal(await filter.inputValue(), "", "it writes nothing");
    assert.notEqual((await daemon.robot("vacuum")).stopped_by, null);
    await dropGamepad(page);
    await enableDrive(page);
    await filter.focus();
  }
  // And what keys drive ends where a text gets the focus.
  await page.getByRole("switch", { name: "Enable drive" }).focus();
  await watcher.stops(t, "a text gets the focus", key, () => filter.focus());
  assert.equal((await daemon.robot("vacuum")).stopped_by, null, "no stop, but let go");
  await page.keyboard.up("KeyW");
  await page.getByRole("switch", { name: "Enable drive" }).focus();
  await watcher.stops(t, "Ctrl is pressed", key, () => page.keyboard.down("Control"));
  await page.keyboard.up("KeyW");
  await page.keyboard.up("Control");
  await filter.fill("");
  await watcher.stops(t, "STOP beside a text", () => pushGamepad(page), stop);
  assert.equal(await watcher.becomes(true, 500), false, "a stick that is still pushed drives no more");
});

test("a page with a new build is loaded anew only when nothing is driven", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--vacuum", "sim:"] });
  const before = (page) =>
    page.addInitScript(() => {
      const { parse } = JSON;
      globalThis.changed = 0;
      JSON.parse = (...text) => {
        const value = parse(...text);
        if (globalThis.otherBuild && value?.data?.build) [value.data.build] = [globalThis.otherBuild, globalThis.changed++];
        return value;
      };
    });
  const page = await open(t, daemon, { before });
  const watcher = await Watcher.start(t, daemon);
  await enableDrive(page);
  // In a circle, so that no wall is in the way.
  await page.keyboard.down("KeyA");
  assert.ok(await watcher.becomes(true, 10_000));
  await page.evaluate(() => void (globalThis.otherBuild = "another"));
  await until("the page was told of it many times", async () => (await page.evaluate(() => globalThis.changed)) > 12);
  assert.ok(watcher.moving, "it drives on");
  const loaded = page.waitForEvent("load");
  await watcher.stops(t, "the key is let go", async () => {}, () => page.keyboard.up("KeyA"));
  await loaded;
  await page.getByRole("status").filter({ hasText: "Live" }).waitFor();
  assert.equal(await page.evaluate(() => globalThis.changed), 0);
});

test("a tab that another one hides, for real, stops", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--vacuum", "sim:"] });
  const watcher = await Watcher.start(t, daemon);
  const directory = await mkdtemp(join(tmpdir(), "sinew-chromium-"));
  const process = spawn(CHROMIUM, ["--headless", ...FLAGS, `--user-data-dir=${directory}`, "--remote-debugging-port=0", "about:blank"], { stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise((done) => process.once("exit", done));
  t.after(async () => {
    process.kill("SIGKILL");
    await ended;
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  });
  const cdp = await Devtools.connect(process);
  const { targetId } = await cdp.send("Target.createTarget", { url: daemon.url });
  const { sessionId } = await cdp.send("Target.attachToTarget", { targetId, flatten: true });
  // A tab that is only just there has nothing to evaluate in.
  const evaluate = (expression) =>
    cdp.send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true }, sessionId).then(({ result }) => result.value, () => undefined);
  await cdp.send("Target.activateTarget", { targetId });
  await until("there is a switch", () => evaluate("document.querySelector('[role=switch]:not(:disabled)') !== null"));
  await evaluate("document.querySelector('[role=switch]').click()");
  await until("the joystick is free", () => evaluate("document.querySelector('.pad')?.getAttribute('aria-disabled') === 'false'"));
  const other = await cdp.send("Target.createTarget", { url: "about:blank" });
  await cdp.send("Target.activateTarget", { targetId });
  await until("the tab is seen again", () => evaluate("!document.hidden"));
  const key = () => cdp.send("Input.dispatchKeyEvent", { type: "keyDown", code: "KeyW", key: "w", windowsVirtualKeyCode: 87 }, sessionId);
  await watcher.stops(t, "another tab is in front", key, () => cdp.send("Target.activateTarget", { targetId: other.targetId }));
  await until("the tab is hidden", () => evaluate("document.hidden"));
});

for (const signal of ["SIGKILL", "SIGSTOP"]) {
  test(`a browser that gets a ${signal} stops its robot`, async (t) => {
    const daemon = await Daemon.start(t, { robots: ["--vacuum", "sim:"] });
    const watcher = await Watcher.start(t, daemon);
    const server = await chromium.launchServer({ executablePath: CHROMIUM, headless: true, chromiumSandbox: false, args: FLAGS });
    const { pid } = server.process();
    // All of them, or those that are stopped stay.
    t.after(async () => {
      if (signal === "SIGSTOP") process.kill(-pid, "SIGKILL");
      await server.kill();
    });
    const browser = await chromium.connect(server.wsEndpoint());
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    await page.goto(daemon.url);
    await enableDrive(page);
    // One that is stopped is there, and says nothing: all its processes are.
    await watcher.stops(t, signal, () => page.keyboard.down("KeyW"), () => void process.kill(signal === "SIGKILL" ? pid : -pid, signal));
  });
}
