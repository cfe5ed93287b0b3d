// Pages of others, names that are markup, and daemons that talk rubbish.
import assert from "node:assert/strict";
import { createServer, get } from "node:http";
import { after, test } from "node:test";
import { chromium } from "playwright-core";
import { FakeDaemon } from "./fake.mjs";
import { browser, CHROMIUM, choose, closeBrowser, Daemon, FLAGS, open, until } from "./harness.mjs";

after(closeBrowser);

const PURPLE = '{"type":"ComponentControl","id":"led","action":{"type":"Configure","config":{"state":{"U8":17}}}}';
const JOINTS = ["left", "right"].flatMap((side) => ["shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow", "wrist_roll", "wrist_pitch"].map((joint) => `${side}_${joint}`));

test("the page's headers keep others out", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--vacuum", "sim:"] });
  const answer = await fetch(daemon.url);
  const policy = answer.headers.get("content-security-policy");
  for (const rule of [/default-src 'none'/, /frame-ancestors 'none'/, /form-action 'none'/, /base-uri 'none'/, /require-trusted-types-for 'script'/]) assert.match(policy, rule);
  assert.doesNotMatch(policy, /unsafe/);
  assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
  const tag = answer.headers.get("etag");
  assert.equal((await fetch(daemon.url, { headers: { "if-none-match": tag } })).status, 304);
  const [, script] = (await answer.text()).match(/src="(\/assets\/[^"]+)"/);
  assert.match((await fetch(new URL(script, daemon.url))).headers.get("cache-control"), /immutable/);
});

test("pages of other origins can neither look nor command", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--vacuum", "sim:"] });
  const context = await (await browser()).newContext();
  t.after(() => context.close());
  const page = await context.newPage();
  const elsewhere = createServer((_, answer) => answer.setHeader("content-type", "text/html").end("<title>elsewhere</title>"));
  await new Promise((done) => elsewhere.listen(0, "127.0.0.1", done));
  t.after(() => elsewhere.close());
  await until("the robot takes commands", async () => (await daemon.robot("vacuum")).link.state === "ready");
  await page.goto(`http://127.0.0.1:${elsewhere.address().port}/`);
  const tried = await page.evaluate(
    async ({ url, body }) => {
      const outcome = (promise) => promise.then(() => "in", () => "out");
      const commands = `${url}api/v1/robots/vacuum/commands`;
      const socket = new WebSocket(`${url.replace("http", "ws")}ws`);
      const opened = new Promise((done) => ((socket.onopen = () => done("in")), (socket.onerror = () => done("out"))));
      const framed = document.createElement("iframe");
      framed.src = url;
      document.body.append(framed);
      // What a form sends as text/plain is `name=value`: a JSON document with a member more.
      const form = Object.assign(document.createElement("form"), { method: "POST", action: commands, enctype: "text/plain", target: "sink" });
      const field = Object.assign(document.createElement("input"), { name: `${body.slice(0, -1)},"req":"`, value: '"}' });
      form.append(field);
      const sink = Object.assign(document.createElement("iframe"), { name: "sink" });
      const sent = new Promise((done) => (sink.onload = () => done("sent")));
      document.body.append(sink, form);
      form.submit();
      await sent;
      return {
        read: await outcome(fetch(`${url}api/v1/robots`)),
        command: await outcome(fetch(commands, { method: "POST", body })),
        json: await outcome(fetch(commands, { method: "POST", headers: { "content-type": "application/json" }, body })),
        blind: await outcome(fetch(commands, { method: "POST", mode: "no-cors", body })),
        beacon: navigator.sendBeacon(commands, body),
        socket: await opened,
      };
    },
    { url: daemon.url, body: PURPLE },
  );
  assert.deepEqual([tried.read, tried.command, tried.json, tried.socket], ["out", "out", "out", "out"]);
  // What they could send without reading an answer came to nothing either: the same command from here does.
  const { led } = (await daemon.robot("vacuum")).state;
  assert.notEqual(led, 17);
  await until("the robot takes it from here", async () => (await daemon.post("vacuum", JSON.parse(PURPLE))).ok);
  await until("the light is purple", async () => (await daemon.robot("vacuum")).state.led === 17);
});

test("a name that leads here without being known gets nothing, as DNS can make any name do", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--vacuum", "sim:"] });
  for (const path of ["", "api/v1/robots", "metrics"]) {
    const status = await new Promise((done) => get(daemon.url + path, { headers: { host: "elsewhere.test" } }, (answer) => (answer.resume(), done(answer.statusCode))));
    assert.equal(status, 403, path);
  }
  // The same in a browser whose resolver says so.
  const rebound = await chromium.launch({ executablePath: CHROMIUM, headless: true, chromiumSandbox: false, args: [...FLAGS, "--host-resolver-rules=MAP elsewhere.test 127.0.0.1"] });
  t.after(() => rebound.close());
  const page = await rebound.newPage();
  const { port } = new URL(daemon.url);
  const answer = await page.goto(`http://elsewhere.test:${port}/`);
  assert.equal(answer.status(), 403);
  const tried = await page.evaluate(async (body) => {
    const socket = new WebSocket(`ws://${location.host}/ws`);
    const opened = new Promise((done) => ((socket.onopen = () => done("in")), (socket.onerror = () => done("out"))));
    const read = await fetch("/api/v1/robots").then(({ status }) => status, () => "out");
    const command = await fetch("/api/v1/robots/vacuum/commands", { method: "POST", body }).then(({ status }) => status, () => "out");
    return [read, command, await opened];
  }, PURPLE);
  assert.deepEqual(tried, [403, 403, "out"]);
});

test("names are texts, however they look, however long, however many", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--g1", "sim:"] });
  const evil = "<img src=x onerror=hit()>";
  const long = "W".repeat(31);
  const frames = [[0, ...JOINTS.map(() => 0)], [1000, ...JOINTS.map((_, joint) => (joint === 9 ? 1 : 0))], [3000, ...JOINTS.map(() => 0)]];
  const names = [evil, "<b>bold</b>{{1+1}}", long, ...Array.from({ length: 100 }, (_, index) => `motion ${index}`)];
  for (const name of names) {
    const { ok, error } = await daemon.post("g1", { type: "Teach", op: "import", document: { version: 1, name, created: 1_700_000_000, duration_ms: 3000, joints: JOINTS, frames, keyframes: [] } });
    assert.ok(ok, JSON.stringify(error));
  }
  const page = await open(t, daemon, { width: 375, height: 812 });
  await page.evaluate(() => void (globalThis.hit = () => (globalThis.wasHit = true)));
  await page.getByRole("navigation").getByRole("button", { name: "Teaching" }).click();
  const teaching = page.getByRole("region", { name: "Teaching" });
  for (const name of [evil, "<b>bold</b>{{1+1}}", long, "motion 99"]) await teaching.getByText(name, { exact: true }).first().waitFor();
  assert.ok((await teaching.getByRole("button", { name: "Play" }).count()) >= names.length);
  const row = teaching.getByRole("listitem").filter({ has: page.getByText(evil, { exact: true }) });
  await row.getByRole("button", { name: "Preview" }).click();
  await row.getByRole("button", { name: "Delete" }).click();
  await teaching.getByRole("group", { name: `Delete ${evil}?` }).getByRole("button", { name: "Keep" }).click();
  await row.getByRole("button", { name: "Play" }).click();
  await until("it plays", async () => (await daemon.robot("g1")).state.playing);
  await page.getByRole("button", { name: "STOP" }).click();
  await page.getByRole("navigation").getByRole("button", { name: "Robots" }).click();
  await page.getByText(`Play ${evil}`).first().waitFor();
  assert.equal(await page.locator("#app img, #app b > b").count(), 0);
  assert.equal(await page.evaluate(() => globalThis.wasHit), undefined);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 375, `it is ${wide} wide`);
});

/** A robot as the daemon tells of it. */
const report = (name, more = {}) => ({
  name,
  kind: "crl200s",
  link: { state: "ready" },
  capabilities: ["drive", "components", "sensors"],
  sensors: ["status"],
  holder: null,
  stopped_by: null,
  last_seen_ms: 1,
  fresh: true,
  state: { velocity: { linear: 0, angular: 0 }, battery_percent: 50 },
  ...more,
});
const answers = (robots) => (command) => {
  if (command.type === "Auth") return { access: "control", name: "page" };
  if (command.type === "Ping") return { build: "fake", time_ms: Date.now() };
  if (command.type === "Robots") return { robots, warnings: [] };
  if (command.req !== undefined) return {};
};

test("a thousand events a second leave the page quick, and STOP with it", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--vacuum", "sim:"] });
  const fake = await FakeDaemon.start(t, daemon, answers([report("flood")]));
  const page = await open(t, fake);
  let sent = 0;
  const flood = setInterval(() => {
    for (let more = 0; more < 20; more++) fake.send(JSON.stringify({ type: "Event", topic: "events", robot: "flood", data: { event: "refused", command: "Raw", by: "a flood", message: `event ${sent++} <i>` } }));
  }, 20);
  t.after(() => clearInterval(flood));
  await until("three thousand came", () => sent > 3000);
  const began = performance.now();
  await page.getByRole("button", { name: "STOP" }).click();
  await until("STOP arrives", () => fake.commands.some(({ type }) => type === "Stop"), 3000);
  t.diagnostic(`STOP arrives after ${(performance.now() - began).toFixed(0)} ms`);
  await page.getByRole("alert").filter({ hasText: "Stopped all robots" }).waitFor();
  assert.ok((await page.getByRole("list", { name: "Events" }).getByRole("listitem").count()) <= 200);
  await page.getByRole("status").filter({ hasText: "Live" }).waitFor();
});

test("rubbish from a daemon does not break the page", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--vacuum", "sim:"] });
  const robots = [report("right"), null, 7, { name: "half" }, report("links", { links: { lidar: null } }), report("odd", { state: { velocity: "fast", counters: 5, pose: { x: "far" }, playing: 3, led: 99, scan: [] } })];
  const fake = await FakeDaemon.start(t, daemon, answers(robots));
  const page = await open(t, fake);
  const event = (topic, robot, data) => JSON.stringify({ type: "Event", topic, robot, data });
  const rubbish = [
    "", "{", "null", "[]", "7", '"text"', "{}", '{"type":"Reply"}', '{"type":"Reply","req":1,"ok":false}', '{"type":"Lost"}', '{"type":"Event"}',
    event("state", "right", null), event("state", "right", { name: "right" }), event("state", "right", report("right", { state: null })), event("state", "right", []),
    event("events", "right", null), event("events", null, { event: "link" }), event("events", "right", { event: "reflex", what: 5 }), event("events", "right", { event: {} }), event("events", "right", "x".repeat(100_000)),
    event("sensors/status", "right", {}), event("sensors/status", "right", { values: null }), event("sensors/joints", "right", { values: { positions: "none" }, timestamp_us: "soon" }), event(5, "right", {}),
  ];
  for (const message of rubbish) fake.send(message);
  for (let length = 0; length < 300; length += 7) fake.send(Buffer.alloc(length, length & 255));
  const header = Buffer.alloc(96);
  header.writeUInt8(1, 0);
  header.writeUInt8(2, 1);
  header.writeUInt16LE(96, 2);
  header.writeUInt32LE(0xffffffff, 4);
  fake.send(header);
  for (const robot of ["odd", "right"]) {
    await choose(page, robot);
    await page.getByRole("region", { name: "Drive" }).waitFor();
  }
  const pings = fake.commands.length;
  await until("the page goes on asking", () => fake.commands.length > pings + 5);
  await page.getByRole("button", { name: "STOP" }).click();
  await page.getByRole("alert").filter({ hasText: "Stopped all robots" }).waitFor();
  assert.deepEqual(await page.getByRole("group", { name: "Robot" }).getByRole("button").count(), 2, "what is no robot is not shown");
});
