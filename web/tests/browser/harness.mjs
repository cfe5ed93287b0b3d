// A daemon with simulated robots, and a browser that looks at it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { setPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { inflateSync } from "node:zlib";
import { chromium } from "playwright-core";
import { WebSocket } from "./socket.mjs";

const SINEW = process.env.SINEW ?? fileURLToPath(new URL("../../../target/debug/sinew", import.meta.url));
export const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
export const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--use-angle=swiftshader",
  "--enable-unsafe-swiftshader",
  // Where /dev/shm is small, as in containers, a page with a large map crashes.
  "--disable-dev-shm-usage",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
/** What is waited for, at most: the machine may be busy. */
const PATIENCE = 30_000;

/** Waits until something is so. */
export async function until(what, check, patience = PATIENCE) {
  const end = performance.now() + patience;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (performance.now() > end) assert.fail(`not within ${patience / 1000} s: ${what}`);
    await new Promise((done) => setTimeout(done, 30));
  }
}

export class Daemon {
  static async start(t, { http = "127.0.0.1:0", robots = ["--vacuum", "sim:", "--g1", "sim:"], more = [] } = {}) {
    const directory = await mkdtemp(join(tmpdir(), "sinew-web-"));
    const daemon = new Daemon();
    daemon.directory = directory;
    daemon.arguments = ["serve", "--json", ...robots, "--tcp", "off", "--lines", "off", "--library", join(directory, "motions"), ...more];
    // A browser that starts, or a page that loads, is in the way of a controller's boot on a busy machine: pulses that
    // come too far apart are no handshake to it, and it moves no wheel.
    const boots = robots.includes("--vacuum");
    if (boots) await browser();
    await daemon.run(http);
    t.after(async () => {
      await daemon.kill();
      await rm(directory, { recursive: true, force: true });
    });
    if (boots) await daemon.booted("vacuum");
    return daemon;
  }

  /** Starts the program, and waits until it listens. */
  async run(http) {
    this.process = spawn(SINEW, [...this.arguments, "--http", http], { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, SINEW_LOG: "error" } });
    this.ended = new Promise((done) => this.process.once("exit", done));
    for await (const line of createInterface({ input: this.process.stdout })) {
      const message = JSON.parse(line);
      if (message.type !== "ready") continue;
      this.address = message.http;
      this.url = `http://${message.http}/`;
      return;
    }
    throw new Error("the daemon ended before it listened");
  }

  async kill(signal = "SIGTERM") {
    this.process.kill(signal);
    await this.ended;
  }

  /** Waits until a robot's link is ready, where that is told without a token. */
  async booted(name) {
    await until(`${name} has booted`, async () => {
      const answer = await fetch(`${this.url}api/v1/robots/${name}`);
      return answer.status === 401 || (await answer.json()).link.state === "ready";
    });
  }

  /** What it tells about a robot. */
  async robot(name) {
    return (await fetch(`${this.url}api/v1/robots/${name}`)).json();
  }

  async post(name, command) {
    const answer = await fetch(`${this.url}api/v1/robots/${name}/commands`, { method: "POST", body: JSON.stringify(command) });
    return answer.json();
  }

  async moves(name) {
    const { velocity } = (await this.robot(name)).state;
    return Math.abs(velocity.linear) > 0.01 || Math.abs(velocity.angular) > 0.02;
  }

  /** Waits until a robot stands, and stays where it is for ten of its packets. */
  async stands(name, patience) {
    let before = null;
    await until(
      `${name} stands`,
      async () => {
        const { pose, counters } = (await this.robot(name)).state;
        if (!before || Math.hypot(pose.x - before.pose.x, pose.y - before.pose.y) > 0.001 || pose.heading !== before.pose.heading) before = { pose, frames: counters.frames };
        return counters.frames > before.frames + 10 && !(await this.moves(name));
      },
      patience,
    );
  }
}

/** What a robot has to stand within after its driver let go, ms: the dead-man, and what a busy machine adds. */
const STANDS_WITHIN = 1500;

/** A client of its own that sees how a robot moves, on the daemon's stream. */
export class Watcher {
  static async start(t, daemon, robot = "vacuum", token = null) {
    const watcher = new Watcher();
    watcher.moving = false;
    watcher.changed = performance.now();
    watcher.waiting = [];
    watcher.socket = await WebSocket.connect(`${daemon.address}/ws`);
    watcher.socket.onmessage = (text) => {
      const message = JSON.parse(text);
      if (message.type !== "Event" || message.robot !== robot) return;
      const { linear, angular } = message.data.state.velocity;
      watcher.tell(linear !== 0 || angular !== 0);
    };
    t.after(() => watcher.socket.close());
    if (token) watcher.socket.send(JSON.stringify({ type: "Auth", token }));
    watcher.socket.send(JSON.stringify({ type: "Subscribe", robot, topics: ["state"] }));
    return watcher;
  }

  tell(moving) {
    if (moving === this.moving) return;
    this.moving = moving;
    this.changed = performance.now();
    this.waiting.splice(0).forEach((done) => done());
  }

  async becomes(moving, patience) {
    const end = performance.now() + patience;
    while (this.moving !== moving) {
      const left = end - performance.now();
      if (left <= 0) return false;
      await Promise.race([new Promise((done) => this.waiting.push(done)), new Promise((done) => setTimeout(done, left))]);
    }
    return true;
  }

  /** Has something begin the motion, then something end it; asserts how long the robot went on, and that it stays. */
  async stops(t, what, drive, end, within = STANDS_WITHIN) {
    await drive();
    assert.ok(await this.becomes(true, PATIENCE), `${what}: it never drove`);
    const began = performance.now();
    await end();
    assert.ok(await this.becomes(false, within + 5000), `${what}: it still drives`);
    const took = this.changed - began;
    t.diagnostic(`${what}: stands after ${took.toFixed(0)} ms`);
    assert.ok(took < within, `${what}: it took ${took.toFixed(0)} ms`);
    assert.equal(await this.becomes(true, 400), false, `${what}: it drives again`);
  }
}

let shared = null;
/** One browser for all tests of a file; contexts keep them apart. */
export async function browser() {
  if (shared) return shared;
  shared = await chromium.launch({ executablePath: CHROMIUM, headless: true, chromiumSandbox: false, args: FLAGS });
  await stepBack();
  return shared;
}

/** What a browser's threads run at: just behind the daemon's and the simulated robots'. */
const BEHIND = 2;

/**
 * Draws by software behind the robots. Where it may, Chromium puts itself before all others, and then a simulated motor
 * controller misses its 50 ms; a real one has a processor to itself.
 */
async function stepBack() {
  const session = await shared.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  for (const { id } of processInfo) {
    for (const thread of await readdir(`/proc/${id}/task`).catch(() => [])) {
      try {
        setPriority(Number(thread), BEHIND);
      } catch {
        // It has ended, or may not be asked.
      }
    }
  }
}

export async function closeBrowser() {
  await shared?.close();
  shared = null;
}

/** A page of the daemon. It fails its test by an error in the console, or a request to elsewhere. */
export async function open(t, daemon, { width = 1440, height = 900, colorScheme = "light", expectErrors = false, before = async () => {}, ...more } = {}) {
  const context = await (await browser()).newContext({ viewport: { width, height }, colorScheme, ...more });
  const page = await context.newPage();
  const faults = [];
  page.on("console", (message) => message.type() === "error" && !expectErrors && faults.push(message.text()));
  page.on("pageerror", (error) => faults.push(String(error)));
  context.on("request", (request) => {
    const { host, protocol } = new URL(request.url());
    if (host !== daemon.address && protocol !== "blob:" && protocol !== "data:") faults.push(`a request to ${request.url()}`);
  });
  t.after(async () => {
    await context.close();
    assert.deepEqual(faults, []);
  });
  await before(page, context);
  await stepBack();
  await page.goto(daemon.url);
  await page.getByRole("status").filter({ hasText: "Live" }).waitFor();
  await stepBack();
  return page;
}

export async function choose(page, robot) {
  await page.getByRole("group", { name: "Robot" }).getByRole("button", { name: new RegExp(`^${robot}`) }).click();
}

/** Takes the wheels of the vacuum in hand. */
export async function enableDrive(page) {
  await choose(page, "vacuum");
  const joystick = page.getByRole("application", { name: "Joystick" });
  // A robot that boots, or that a busy machine made wait, takes it the next time.
  await until("the drive is enabled", async () => {
    await page.getByRole("switch", { name: "Enable drive", checked: false, disabled: false }).click({ timeout: 500 }).catch(() => {});
    return until("the joystick is free", () => joystick.and(page.locator("[aria-disabled=false]")).count(), 2000).catch(() => false);
  });
}

/** Drives until something is so. A beat that comes late ends a hold, so on a busy machine it may take several. */
export async function driveUntil(page, what, check, forward = 0.9, left = 0) {
  // A robot whose link the machine was too busy for boots anew, which takes it seconds.
  const end = performance.now() + 3 * PATIENCE;
  for (let reached = false; !reached; ) {
    if (performance.now() > end) assert.fail(`not while driving: ${what}`);
    await enableDrive(page);
    const release = await pushJoystick(page, forward, left);
    reached = await until(what, check, 2500).catch(() => false);
    await release();
  }
}

/** Presses the joystick ahead; gives what lets go of it. */
export async function pushJoystick(page, forward = 0.9, left = 0) {
  const joystick = page.getByRole("application", { name: "Joystick" });
  await joystick.scrollIntoViewIfNeeded();
  const box = await joystick.boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x - left * box.width * 0.36, y - forward * box.height * 0.36, { steps: 3 });
  return () => page.mouse.up();
}

/** How many colours a picture has, and the share of the commonest. */
export function colours(png) {
  const image = decode(png);
  const counts = new Map();
  for (let at = 0; at < image.data.length; at += image.channels) {
    const colour = (image.data[at] << 16) | (image.data[at + 1] << 8) | image.data[at + 2];
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const commonest = [...counts.values()].reduce((most, count) => Math.max(most, count), 0);
  return { colours: counts.size, background: commonest / (image.width * image.height) };
}

/** A PNG of 8 bits a channel, as browsers make them. */
function decode(png) {
  let [width, height, channels] = [0, 0, 3];
  const parts = [];
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const type = png.toString("latin1", at + 4, at + 8);
    const data = png.subarray(at + 8, at + 8 + length);
    if (type === "IHDR") [width, height, channels] = [data.readUInt32BE(0), data.readUInt32BE(4), data[9] === 6 ? 4 : 3];
    if (type === "IDAT") parts.push(data);
    at += 12 + length;
  }
  const raw = inflateSync(Buffer.concat(parts));
  const stride = width * channels;
  const data = Buffer.alloc(height * stride);
  for (let row = 0; row < height; row++) {
    const filter = raw[row * (stride + 1)];
    for (let x = 0; x < stride; x++) {
      const left = x >= channels ? data[row * stride + x - channels] : 0;
      const up = row > 0 ? data[(row - 1) * stride + x] : 0;
      const corner = x >= channels && row > 0 ? data[(row - 1) * stride + x - channels] : 0;
      const nearest = () => {
        const [a, b, c] = [left, up, corner].map((value) => Math.abs(left + up - corner - value));
        return a <= b && a <= c ? left : b <= c ? up : corner;
      };
      const guess = [0, left, up, (left + up) >> 1, filter === 4 ? nearest() : 0][filter];
      data[row * stride + x] = raw[row * (stride + 1) + 1 + x] + guess;
    }
  }
  return { width, height, channels, data };
}
