import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { chromium } from "playwright-core";
import { CHROMIUM, closeBrowser, Daemon, enableDrive, FLAGS, open, pushJoystick, until } from "./harness.mjs";

after(closeBrowser);

test("holding the joystick drives the robot, and letting go stops it", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await open(t, daemon);
  await enableDrive(page);
  const release = await pushJoystick(page);
  await until("the robot has gone 20 cm", async () => (await daemon.robot("vacuum")).state.pose.x > 0.2);
  await page.getByText(/^0\.1\d/).first().waitFor();
  await release();
  await daemon.stands("vacuum");
  assert.equal((await daemon.robot("vacuum")).stopped_by, null, "letting go needs no enabling");
});

test("keys drive, and what is hidden, blurred or closed stops", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await open(t, daemon);
  await enableDrive(page);
  const drive = async () => {
    await page.keyboard.down("KeyW");
    await until("the robot drives", () => daemon.moves("vacuum"));
  };
  await drive();
  await page.keyboard.up("KeyW");
  await daemon.stands("vacuum");
  await drive();
  await page.evaluate(() => dispatchEvent(new Event("blur")));
  await daemon.stands("vacuum");
  await page.keyboard.up("KeyW");
  await drive();
  await page.evaluate(() => {
    Object.defineProperty(document, "hidden", { value: true, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await daemon.stands("vacuum");
  await page.evaluate(() => delete document.hidden);
  await page.keyboard.up("KeyW");
  await drive();
  await page.close();
  await daemon.stands("vacuum");
  await until("the robot knows that its driver has gone", async () => / left$/.test((await daemon.robot("vacuum")).stopped_by));
});

test("a tab that another one hides, for real, stops", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--vacuum", "sim:"] });
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
  const key = (type) => cdp.send("Input.dispatchKeyEvent", { type, code: "KeyW", key: "w", windowsVirtualKeyCode: 87 }, sessionId);
  await key("keyDown");
  await until("the robot drives", () => daemon.moves("vacuum"));
  const other = await cdp.send("Target.createTarget", { url: "about:blank" });
  await cdp.send("Target.activateTarget", { targetId: other.targetId });
  await until("the tab is hidden", () => evaluate("document.hidden"));
  await daemon.stands("vacuum");
});

test("a browser that is killed stops its robot", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--vacuum", "sim:"] });
  const server = await chromium.launchServer({ executablePath: CHROMIUM, headless: true, chromiumSandbox: false, args: FLAGS });
  const browser = await chromium.connect(server.wsEndpoint());
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.goto(daemon.url);
  await enableDrive(page);
  await page.keyboard.down("KeyW");
  await until("the robot drives", () => daemon.moves("vacuum"));
  server.process().kill("SIGKILL");
  await daemon.stands("vacuum", 3000);
  await server.close().catch(() => undefined);
});

test("STOP stops while driving, by the button and by the space bar", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await open(t, daemon);
  await enableDrive(page);
  await page.keyboard.down("KeyW");
  await until("the robot drives", () => daemon.moves("vacuum"));
  await page.getByRole("button", { name: "STOP" }).click();
  await daemon.stands("vacuum", 3000);
  assert.notEqual((await daemon.robot("vacuum")).stopped_by, null, "a stop latches");
  await page.getByRole("alert").filter({ hasText: "Stopped all robots" }).waitFor();
  await page.keyboard.up("KeyW");
  await enableDrive(page);
  await page.keyboard.down("KeyW");
  await until("the robot drives", () => daemon.moves("vacuum"));
  await page.keyboard.press("Space");
  await daemon.stands("vacuum", 3000);
  assert.notEqual((await daemon.robot("vacuum")).stopped_by, null);
});

test("a gamepad drives, and one that is unplugged stops", async (t) => {
  const daemon = await Daemon.start(t);
  const before = (page) =>
    page.addInitScript(() => {
      globalThis.pad = null;
      navigator.getGamepads = () => [globalThis.pad];
    });
  const page = await open(t, daemon, { before });
  await enableDrive(page);
  await page.evaluate(() => (globalThis.pad = { connected: true, axes: [0, -1], buttons: [] }));
  await until("the robot drives", () => daemon.moves("vacuum"));
  await page.evaluate(() => (globalThis.pad = null));
  await daemon.stands("vacuum");
});

test("the light, the brushes and the dock reach the robot", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await open(t, daemon);
  await page.getByRole("radio", { name: /^LED 17/ }).click();
  await until("the light is purple", async () => (await daemon.robot("vacuum")).state.led === 17);
  await page.getByRole("radio", { name: /^LED 17/, checked: true }).waitFor();
  await page.getByLabel("Suction").fill("75");
  await until("it sucks", async () => (await daemon.robot("vacuum")).state.vacuum === 75);
  await enableDrive(page);
  const release = await pushJoystick(page);
  await until("it has left the dock", async () => (await daemon.robot("vacuum")).state.pose.x > 0.5);
  await release();
  await daemon.stands("vacuum");
  await page.getByRole("button", { name: "Dock" }).click();
  await page.getByText("driving to the place in front of the dock").first().waitFor();
  await page.getByText("Docked: the robot charges").waitFor({ timeout: 60_000 });
});

/** Devtools of a browser that Playwright has no hand in: under it no page is ever hidden. */
class Devtools {
  static async connect(process) {
    let text = "";
    const address = await new Promise((done) => {
      process.stderr.on("data", (data) => {
        text += data;
        const found = text.match(/DevTools listening on ws:\/\/(\S+)/);
        if (found) done(found[1]);
      });
    });
    const { WebSocket } = await import("./socket.mjs");
    const devtools = new Devtools();
    devtools.socket = await WebSocket.connect(address);
    devtools.waiting = new Map();
    devtools.socket.onmessage = (message) => {
      const { id, result, error } = JSON.parse(message);
      const waiting = devtools.waiting.get(id);
      devtools.waiting.delete(id);
      if (error) waiting?.fail(new Error(error.message));
      else waiting?.done(result);
    };
    return devtools;
  }

  send(method, params = {}, sessionId) {
    const id = (this.last = (this.last ?? 0) + 1);
    return new Promise((done, fail) => {
      this.waiting.set(id, { done, fail });
      this.socket.send(JSON.stringify({ id, method, params, ...(sessionId ? { sessionId } : {}) }));
    });
  }
}
