// How fast the dashboard is: `cargo xtask bench dashboard`. Drawing is by software, since that is what a
// machine without a screen has; what a GPU leaves is the JavaScript.
import { readdir, readFile } from "node:fs/promises";
import { chromium } from "playwright-core";
import { CHROMIUM, Daemon, FLAGS, until } from "../tests/browser/harness.mjs";
import { StandIn } from "./stand-in.mjs";

const COUNTS = [100_000, 1_000_000, 4_000_000];
/** ms of JavaScript a frame, at so many points. */
const BUDGET = 4;
const BUDGETED = 1_000_000;
const WATCHED = 8_000;
const PATIENCE = 120_000;
const CHANGED = 100;
const CANVAS = "canvas[data-points]";

const browser = await chromium.launch({ executablePath: CHROMIUM, headless: true, chromiumSandbox: false, args: FLAGS });
const ends = [];
try {
  console.log("   points   all shown, s  picture of  drawn     a frame  drawn  JavaScript a frame,  of a core,");
  console.log("                       all, ms  at rest  turned, ms  so     ms: mean, worst    %");
  const scripts = new Map();
  for (const points of COUNTS) scripts.set(points, await draw(points));
  await live();
  await bundle();
  const script = scripts.get(BUDGETED);
  if (script > BUDGET) throw new Error(`JavaScript takes ${script.toFixed(1)} ms a frame of ${BUDGETED} points, and should take ${BUDGET} at most`);
} finally {
  for (const end of ends.reverse()) await end();
  await browser.close();
}

/** A map that is turned about while it changes. */
async function draw(points) {
  const stand = await StandIn.start(points);
  const { page, context, session } = await open(stand.url);
  const canvas = page.locator(CANVAS);
  const began = performance.now();
  await until("all points are shown", async () => Number(await canvas.getAttribute("data-points")) === stand.points, PATIENCE);
  const shown = performance.now() - began;
  // At rest it is drawn as finely as it may be: twice the same is that.
  let rest = "";
  await until("it is at rest", async () => {
    const now = await canvas.evaluate(({ dataset }) => `${dataset.frames} ${dataset.step}`);
    await new Promise((done) => setTimeout(done, 1000));
    const same = now === rest;
    rest = now;
    return same;
  }, PATIENCE);
  const step = Number(await canvas.getAttribute("data-step"));
  const whole = await picture(page);
  const changing = setInterval(() => stand.change(CHANGED), 100);
  const box = await canvas.boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  const before = await figures(session, page);
  const end = performance.now() + WATCHED;
  // What was drawn is counted once, however often it is asked for.
  const pictures = new Map();
  for (let turned = 1; performance.now() < end; turned++) {
    await page.mouse.move(x + 80 * Math.sin(turned / 8), y);
    const { frames, script, took, step } = await page.evaluate((canvas) => new Promise((done) => requestAnimationFrame(() => done({ ...document.querySelector(canvas).dataset }))), CANVAS);
    if (Number(frames) > before.frames) pictures.set(frames, { script: Number(script), took: Number(took), step: Number(step) });
  }
  const after = await figures(session, page);
  await page.mouse.up();
  clearInterval(changing);
  const each = (name) => [...pictures.values()].map((picture) => picture[name]);
  const frame = (after.time - before.time) / Math.max(1, after.frames - before.frames);
  const share = (100 * (after.script - before.script)) / (after.time - before.time);
  const cells = [number(points, 9), seconds(shown, 11), number(whole, 10), `1 in ${step}`.padStart(8), number(frame, 9), `1 in ${median(each("step"))}`.padStart(8), number(mean(each("script")), 12, 2), number(Math.max(...each("script")), 7, 1), number(share, 10, 1)];
  console.log(cells.join(" "));
  await context.close();
  stand.close();
  return mean(each("script"));
}

/** ms that a picture of all points takes, with what the browser makes a file of it in. */
async function picture(page) {
  await page.getByRole("button", { name: "Save map" }).click();
  const coming = page.waitForEvent("download", { timeout: PATIENCE });
  const began = performance.now();
  await page.getByRole("button", { name: "PNG of this view" }).click();
  await (await coming).path();
  return performance.now() - began;
}

/** A real daemon: when the first point is seen, and what a page costs. */
async function live() {
  const daemon = await Daemon.start({ after: (end) => ends.push(end) }, { robots: ["--g1", "sim:"] });
  await until("it maps", async () => (await daemon.post("g1", { type: "Mapping", op: "start" })).ok);
  const clouds = async () => (await daemon.robot("g1")).state.mapping.clouds;
  await until("clouds come", clouds);
  const cost = async () => {
    const [from, cpu, time] = [await clouds(), await processor(daemon.process.pid), performance.now()];
    await new Promise((done) => setTimeout(done, WATCHED));
    return { clouds: (await clouds()) - from, cpu: (await processor(daemon.process.pid)) - cpu, time: performance.now() - time };
  };
  const alone = await cost();
  const { page, context, session } = await open("about:blank");
  let bytes = 0;
  session.on("Network.webSocketFrameReceived", ({ response }) => (bytes += response.opcode === 2 ? Buffer.byteLength(response.payloadData, "base64") : response.payloadData.length));
  await session.send("Network.enable");
  await page.goto(daemon.url);
  const first = await page.evaluate((canvas) => new Promise((done) => {
    const look = () => (Number(document.querySelector(canvas)?.getAttribute("data-points")) > 0 ? done(performance.now()) : setTimeout(look, 5));
    look();
  }), CANVAS);
  bytes = 0;
  const watched = await cost();
  console.log(`\nfirst point       ${(first / 1000).toFixed(2)} s after the address was opened`);
  console.log(`to a page         ${(bytes / watched.clouds / 1000).toFixed(1)} kB a cloud, ${(bytes / watched.time).toFixed(0)} kB/s, ${(watched.clouds / watched.time * 1000).toFixed(1)} clouds a second`);
  const each = ({ cpu, clouds }) => cpu / clouds;
  console.log(`daemon's CPU      ${each(watched).toFixed(2)} ms a cloud with the page, ${each(alone).toFixed(2)} ms without any`);
  await context.close();
}

async function bundle() {
  const dist = new URL("../dist/", import.meta.url);
  const files = (await readdir(dist, { recursive: true })).filter((name) => name.endsWith(".gz"));
  const sizes = await Promise.all(files.map(async (name) => [name, (await readFile(new URL(name, dist))).length]));
  console.log(`bundle            ${(sizes.reduce((sum, [, size]) => sum + size, 0) / 1000).toFixed(0)} kB on the wire: ${sizes.map(([name, size]) => `${name.replace(/^assets\/|\.gz$/g, "").replace(/-[\w-]{8}\./, ".")} ${(size / 1000).toFixed(0)}`).join(", ")}`);
}

async function open(url) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send("Performance.enable");
  await page.goto(url);
  return { page, context, session };
}

/** ms of JavaScript since the page was opened, and how often it was drawn. */
async function figures(session, page) {
  const { metrics } = await session.send("Performance.getMetrics");
  const script = 1000 * metrics.find(({ name }) => name === "ScriptDuration").value;
  const frames = Number(await page.locator(CANVAS).getAttribute("data-frames"));
  return { script, frames, time: performance.now() };
}

/** ms that a process has computed. */
async function processor(pid) {
  const fields = (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

function median(values) {
  return values.sort((a, b) => a - b)[values.length >> 1];
}

function seconds(milliseconds, width) {
  return number(milliseconds / 1000, width, 1);
}

function number(value, width, digits = 0) {
  return value.toLocaleString("en-GB", { minimumFractionDigits: digits, maximumFractionDigits: digits }).padStart(width);
}
