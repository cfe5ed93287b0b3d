import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { closeBrowser, Daemon, enableDrive, open, until, Watcher } from "./harness.mjs";
import { WebSocket } from "./socket.mjs";

after(closeBrowser);

const AXE = await readFile(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

async function faults(page) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  return violations.filter(({ impact }) => impact === "serious" || impact === "critical").map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target).slice(0, 4).join(" ")}`);
}

/** The head of a capture of raw IP. */
function head() {
  const bytes = Buffer.alloc(24);
  bytes.writeUInt32LE(0xa1b2c3d4, 0);
  bytes.writeUInt16LE(2, 4);
  bytes.writeUInt16LE(4, 6);
  bytes.writeUInt32LE(65535, 16);
  bytes.writeUInt32LE(101, 20);
  return bytes;
}

/** A datagram with a DTLS record in it, as documents 000 to 002 take it for a command. */
function packet(number, size = 44) {
  const record = Buffer.alloc(13 + size, 0xa5);
  record.set([0x17, 0xfe, 0xfd, 0, 1]);
  record.writeUIntBE(number, 5, 6);
  record.writeUInt16BE(size, 11);
  const ip = Buffer.alloc(28);
  ip.set([0x45, 0]);
  ip.writeUInt16BE(28 + record.length, 2);
  ip.set([64, 17, 0, 0, 192, 168, 86, 10, 192, 168, 86, 3], 8);
  ip.writeUInt16BE(41000, 20);
  ip.writeUInt16BE(49504, 22);
  ip.writeUInt16BE(8 + record.length, 24);
  const stamp = Buffer.alloc(16);
  stamp.writeUInt32LE(Math.floor(number / 50), 0);
  stamp.writeUInt32LE((number % 50) * 20_000, 4);
  stamp.writeUInt32LE(28 + record.length, 8);
  stamp.writeUInt32LE(28 + record.length, 12);
  return Buffer.concat([stamp, ip, record]);
}

const capture = (count) => Buffer.concat([head(), ...Array.from({ length: count }, (_, number) => packet(number))]);

async function chooseFile(page, name, buffer) {
  await page.getByLabel("Choose a capture").setInputFiles({ name, mimeType: "application/octet-stream", buffer });
}

const openPanel = (page) => page.getByRole("button", { name: "Captures", exact: true }).click();

for (const colorScheme of ["light", "dark"]) {
  test(`a capture that is chosen is told, ${colorScheme}`, async (t) => {
    const daemon = await Daemon.start(t, { robots: ["--vacuum", "sim:"] });
    const page = await open(t, daemon, { colorScheme });
    await openPanel(page);
    const panel = page.getByRole("region", { name: "Captures", exact: true });
    await panel.getByText("nothing leaves it").waitFor();
    await chooseFile(page, "session.pcap", capture(600));
    await panel.getByRole("heading", { name: /These are no commands/ }).waitFor();
    await panel.getByText("pcap, 600 packets").waitFor();
    await panel.getByText("right in 0 of 600").waitFor();
    const rows = panel.getByRole("region", { name: "Table of flows" }).getByRole("row");
    assert.equal(await rows.count(), 2);
    assert.match(await rows.nth(1).innerText(), /dtls.*192\.168\.86\.10:41000 – 192\.168\.86\.3:49504/s);
    assert.match(await panel.getByRole("region", { name: "Commands of flow 0" }).innerText(), /0x0D\s+Enter Teaching Mode/);
    assert.deepEqual(await faults(page), []);
    const stop = page.getByRole("button", { name: "STOP" });
    await stop.click();
    await page.getByRole("alert").filter({ hasText: "Stopped all robots" }).waitFor();
    await panel.getByRole("button", { name: "Close captures" }).click();
    assert.equal(await panel.count(), 0);
  });
}

test("a capture that is dropped on the page is told", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--vacuum", "sim:"] });
  const page = await open(t, daemon);
  const bytes = [...capture(30)];
  const files = await page.evaluateHandle((bytes) => {
    const files = new DataTransfer();
    files.items.add(new File([new Uint8Array(bytes)], "dropped.pcap"));
    return files;
  }, bytes);
  await page.dispatchEvent("main", "dragover", { dataTransfer: files });
  await page.getByText("Drop the capture").waitFor();
  await page.dispatchEvent("main", "drop", { dataTransfer: files });
  await page.getByRole("region", { name: "Captures", exact: true }).getByText("dropped.pcap").waitFor();
  await page.getByRole("heading", { name: /These are no commands/ }).waitFor();
  assert.equal(await page.getByText("Drop the capture").count(), 0);
});

test("what is no capture is refused, and no name is markup", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--vacuum", "sim:"] });
  const page = await open(t, daemon, { expectErrors: true });
  await openPanel(page);
  await chooseFile(page, "<img src=x onerror=alert(1)>.pcap", Buffer.from("no capture at all"));
  await page.getByText("<img src=x onerror=alert(1)>.pcap: it is neither pcap nor pcapng").waitFor();
  assert.equal(await page.locator(".captures img").count(), 0);
  await chooseFile(page, "empty", Buffer.alloc(0));
  await page.getByText("empty: it is empty").waitFor();
});

test("a phone shows it without scrolling sideways", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--vacuum", "sim:"] });
  const page = await open(t, daemon, { width: 375, height: 812, hasTouch: true });
  await page.getByRole("navigation").getByRole("button", { name: "Captures" }).click();
  await chooseFile(page, `${"long-name-".repeat(12)}.pcap`, capture(300));
  await page.getByRole("heading", { name: /These are no commands/ }).waitFor();
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 375, `${wide} wide`);
  const [panel, stop] = [await page.getByRole("region", { name: "Captures", exact: true }).boundingBox(), await page.getByRole("button", { name: "STOP" }).boundingBox()];
  assert.ok(panel.x >= 0 && panel.x + panel.width <= 375);
  assert.ok(panel.y + panel.height <= stop.y, "STOP is not covered");
  assert.deepEqual(await faults(page), []);
});

test("a large capture that is looked into delays no stop, and only so many are looked into at once", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--vacuum", "sim:"] });
  const directory = await mkdtemp(join(tmpdir(), "sinew-capture-"));
  t.after(() => rm(directory, { recursive: true }));
  // Two gigabytes of packets, which take some seconds, in a few megabytes.
  const piece = gzipSync(Buffer.concat(Array.from({ length: 40_000 }, (_, number) => packet(number, 1200))), { level: 9 });
  const file = join(directory, "large.pcap.gz");
  await writeFile(file, Buffer.concat([gzipSync(head()), ...Array.from({ length: 40 }, () => piece)]));
  const page = await open(t, daemon, { expectErrors: true });
  const watcher = await Watcher.start(t, daemon);
  await enableDrive(page);
  await openPanel(page);
  await page.getByLabel("Choose a capture").setInputFiles(file);
  await page.getByText(/Looking into large\.pcap\.gz/).waitFor();
  const body = await readFile(file);
  const ask = () => fetch(`${daemon.url}api/v1/inspect`, { method: "POST", body });
  const other = ask();
  const busy = await until("one is refused", async () => {
    const answer = await ask();
    return answer.status === 409 ? answer.json() : null;
  });
  assert.match(busy.error.message, /other captures are being looked at/);
  const driver = await WebSocket.connect(`${daemon.address}/ws`);
  t.after(() => driver.close());
  const act = (action) => driver.send(JSON.stringify({ type: "ComponentControl", id: "drive", action }));
  driver.send(JSON.stringify({ type: "TakeControl" }));
  act({ type: "Enable" });
  const beat = setInterval(() => act({ type: "Configure", config: { linear: { F32: 0.1 }, angular: { F32: 0 } } }), 100);
  t.after(() => clearInterval(beat));
  await watcher.stops(t, "STOP while two captures are looked into", async () => {}, async () => {
    assert.equal(await page.getByText(/Looking into large\.pcap\.gz/).count(), 1, "it was over too soon");
    await page.getByRole("button", { name: "STOP" }).click();
  });
  clearInterval(beat);
  await page.getByText(/large\.pcap\.gz: pcap, 1,600,000 packets/).waitFor({ timeout: 120_000 });
  assert.equal((await (await other).json()).packets, 1_600_000);
});
