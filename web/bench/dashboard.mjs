// How fast the dashboard is: `cargo xtask bench dashboard`. Drawing is by software, since that is what a
// machine without a screen has; what a GPU leaves is the JavaScript.
import { readdir, readFile } from "node:fs/promises";
import { chromium } from "playwright-core";
import { CHROMIUM, Daemon, FLAGS, until } from "../tests/browser/harness.mjs";
import { StandIn } from "./stand-in.mjs";

const COUNTS = [100_000, 1_000_000, 4_000_000];
/** ms of JavaScript a frame. */
const BUDGET = 4;
const WATCHED = 8_000;
const PATIENCE = 300_000;
const CHANGED = 100;
const CANVAS = "canvas[data-points]";

const browser = await chromium.launch({ executablePath: CHROMIUM, headless: true, chromiumSandbox: false, args: FLAGS });
const ends = [];
try {
  console.log("points       all shown   a frame   JavaScript a frame: mean, worst   of the whole page");
  let worst = 0;
  for (const points of COUNTS) worst = Math.max(worst, await draw(points));
  await live();
  await bundle();
  if (worst > BUDGET) throw new Error(`JavaScript takes ${worst.toFixed(1)} ms a frame, and should take ${BUDGET} at most`);
} finally {
  for (const end of ends.reverse()) await end();
  await browser.close();
}

/** A map that is turned about while it changes. */
async function draw(points) {
  const stand = await StandIn.start(points);
  const { page, context, session } = await open(stand.url);
  const began = performance.now();
  const all = until("all points are shown", () => page.locator(CANVAS).getAttribute("data-points").then((shown) => Number(shown) === stand.points), PATIENCE);
  if (!(await all.then(() => true, () => false))) {
    // Drawing by software may take seconds a picture, with all that comes waiting behind it.
    console.log(`${number(points, 9)}   not all shown within ${PATIENCE / 1000} s: drawing by software is too slow here`);
    await context.close();
    stand.close();
    return 0;
  }
  const shown = performance.now() - began;
  const changing = setInterval(() => stand.change(CHANGED), 100);
  const box = await page.locator(CANVAS).boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  const before = await figures(session, page);
  const end = performance.now() + WATCHED;
  const scripts = [];
  for (let step = 1; performance.now() < end; step++) {
    await page.mouse.move(x + 80 * Math.sin(step / 8), y);
    scripts.push(await page.evaluate((canvas) => new Promise((done) => requestAnimationFrame(() => done(Number(document.querySelector(canvas).dataset.script)))), CANVAS));
  }
  const after = await figures(session, page);
  clearInterval(changing);
  const frames = Math.max(1, after.frames - before.frames);
  const mean = scripts.reduce((sum, script) => sum + script, 0) / scripts.length;
  const time = after.time - before.time;
  const share = (100 * (after.script - before.script)) / time;
  console.log(`${number(points, 9)} ${number(shown / 1000, 10, 1)} s ${number(time / frames, 6)} ms ${number(mean, 21, 2)}, ${number(Math.max(...scripts), 5, 2)} ms ${number(share, 11, 1)} % of a core   (${frames} frames)`);
  await context.close();
  stand.close();
  return mean;
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

function number(value, width, digits = 0) {
  return value.toLocaleString("en-GB", { minimumFractionDigits: digits, maximumFractionDigits: digits }).padStart(width);
}
