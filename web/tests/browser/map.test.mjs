import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { choose, closeBrowser, colours, Daemon, driveUntil, enableDrive, open, until } from "./harness.mjs";

after(closeBrowser);

const points = (page) => page.locator("canvas[data-points]").getAttribute("data-points").then(Number);

/** Begins a map as soon as the robot is ready for one. */
const begin = (daemon, robot) => until(`${robot} maps`, async () => (await daemon.post(robot, { type: "Mapping", op: "start" })).ok);

/** Shares of a picture that have the colours of tokens. */
async function shares(page, png, tokens) {
  return page.evaluate(
    async ([bytes, tokens]) => {
      const image = await createImageBitmap(new Blob([new Uint8Array(bytes)]));
      const sheet = new OffscreenCanvas(image.width, image.height).getContext("2d");
      sheet.drawImage(image, 0, 0);
      const { data } = sheet.getImageData(0, 0, image.width, image.height);
      const style = getComputedStyle(document.querySelector("canvas[data-points]"));
      return tokens.map((token) => {
        const wanted = [1, 3, 5].map((at) => parseInt(style.getPropertyValue(token).trim().slice(at, at + 2), 16));
        let found = 0;
        for (let at = 0; at < data.length; at += 4) if (wanted.every((value, channel) => Math.abs(value - data[at + channel]) <= 2)) found++;
        return found / (data.length / 4);
      });
    },
    [[...png], tokens],
  );
}

/** Chooses an entry of `Save map`; what the browser keeps. */
async function saved(page, entry) {
  await page.getByRole("button", { name: "Save map" }).click();
  const coming = page.waitForEvent("download");
  await page.getByRole("button", { name: entry }).click();
  const download = await coming;
  return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
}

test("mapping shows points, and more of them", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--g1", "sim:"] });
  const page = await open(t, daemon);
  const map = page.getByRole("region", { name: "Map" });
  await page.getByText("No map yet.").waitFor();
  await map.getByLabel("Grid").uncheck();
  // The buttons over it are in the picture, too.
  const empty = colours(await map.locator("canvas[data-points]").screenshot());
  assert.ok(empty.background > 0.8, JSON.stringify(empty));
  await page.getByRole("button", { name: "Start mapping" }).click();
  const some = await until("points come", () => points(page));
  const seen = await until("the canvas shows them", async () => {
    const seen = colours(await map.locator("canvas[data-points]").screenshot());
    return seen.colours > empty.colours + 300 && seen.background < empty.background - 0.02 && seen;
  });
  assert.ok(seen.background > 0.1, "there is a background");
  await until("there are more", async () => (await points(page)) > some + 1000);
  await map.getByText(/\d Hz · 0\.\d+ s old/).waitFor();
  await map.getByRole("radio", { name: "Top" }).click();
  await map.getByLabel("Colour").selectOption("distance");
  await map.getByRole("button", { name: "Measure" }).click();
  const box = await map.locator("canvas[data-points]").boundingBox();
  await page.mouse.click(box.x + box.width * 0.45, box.y + box.height * 0.5);
  await page.mouse.click(box.x + box.width * 0.55, box.y + box.height * 0.5);
  await map.getByRole("status").filter({ hasText: /^\d+\.\d\d m$/ }).waitFor();
  const ply = await saved(page, /^PLY/);
  assert.match(ply.name, /^g1-.*\.ply$/);
  assert.match(ply.bytes.toString("latin1", 0, 200), /^ply\nformat [^]*element vertex [1-9]/);
  assert.match((await saved(page, /^PCD/)).bytes.toString("latin1", 0, 200), /^# \.PCD|^VERSION/);
  assert.equal((await saved(page, "PNG of this view")).bytes.toString("latin1", 1, 4), "PNG");
  await page.getByRole("button", { name: "End mapping" }).click();
  await page.getByRole("button", { name: "Start mapping" }).waitFor();
  await map.getByText("ended").waitFor();
  await map.getByRole("button", { name: "Clear" }).click();
  await until("nothing is left", async () => (await points(page)) === 0);
  await until("nor to be seen", async () => colours(await map.locator("canvas[data-points]").screenshot()).background > 0.75);
});

test("the page is there before the map's program is", async (t) => {
  const daemon = await Daemon.start(t);
  let let_go;
  const held = new Promise((done) => (let_go = done));
  const before = (page) =>
    page.route("**/assets/scene-*.js", async (route) => {
      await held;
      await route.continue();
    });
  const page = await open(t, daemon, { before });
  await page.getByRole("button", { name: "STOP" }).waitFor();
  await page.getByRole("switch", { name: "Enable drive" }).check();
  await until("it can be driven", async () => (await daemon.robot("vacuum")).stopped_by === null);
  assert.equal(await page.locator("canvas[data-script]").count(), 0);
  let_go();
  await page.locator("canvas[data-script]").waitFor();
});

test("a vacuum's scan is shown when its lidar turns", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--vacuum", "sim:"] });
  const page = await open(t, daemon);
  await choose(page, "vacuum");
  await page.getByRole("button", { name: "Switch on" }).click();
  const map = page.getByRole("region", { name: "Map" });
  await map.getByText(/\d Hz · 0\.\d+ s old/).waitFor();
  await page.getByText("Lidar 5.0 Hz").waitFor();
});

test("a vacuum's map is one of the ground, and the robot is where that has it", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--vacuum", "sim:"] });
  await begin(daemon, "vacuum");
  const page = await open(t, daemon);
  await enableDrive(page);
  const map = page.getByRole("region", { name: "Map" });
  const some = await until("cells come", () => points(page));
  await map.getByLabel("Grid").uncheck();
  const seen = await until("floor and walls are seen", async () => {
    const [floor, wall, scan] = await shares(page, await map.locator("canvas[data-points]").screenshot(), ["--free", "--wall", "--scan"]);
    return floor > 0.1 && wall > 0.003 && scan > 0.0005 && { floor, wall, scan };
  });
  await map.getByLabel("Scan").uncheck();
  await until("the scan can be hidden", async () => (await shares(page, await map.locator("canvas[data-points]").screenshot(), ["--scan"]))[0] < seen.scan / 4);
  await driveUntil(page, "it sees more on its way", async () => (await points(page)) > some, 0.6, 0.3);
  await daemon.stands("vacuum");
  await until("its place is the map's", async () => {
    const { pose } = (await daemon.robot("vacuum")).state.map;
    return map.getByText(`x ${pose.x.toFixed(2).replace("-0.00", "0.00").replace("-", "−")} m`).count();
  });
  const png = await saved(page, /^PNG, a picture/);
  assert.deepEqual([...png.bytes.subarray(0, 8)], [137, 80, 78, 71, 13, 10, 26, 10]);
  assert.equal((await saved(page, /^PGM/)).bytes.toString("latin1", 0, 2), "P5");
  await map.getByRole("button", { name: "End mapping" }).click();
  await map.getByText("the robot is not followed in this map").waitFor();
  await map.getByRole("button", { name: "Clear" }).click();
  await until("nothing is left", async () => (await points(page)) === 0);
});

test("a page that comes later has all of the map, also when the daemon comes back without one", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--vacuum", "sim:"] });
  await begin(daemon, "vacuum");
  const cells = () => daemon.robot("vacuum").then(({ state }) => state.map.voxels);
  await until("there is a map", async () => (await cells()) > 1000);
  assert.ok((await daemon.post("vacuum", { type: "Mapping", op: "stop" })).ok);
  // The map comes before there is anything to show it with.
  const before = (page) => page.route("**/assets/scene-*.js", (route) => new Promise((done) => setTimeout(done, 1500)).then(() => route.continue()));
  const page = await open(t, daemon, { before, expectErrors: true });
  const known = await cells();
  await until("all of it is there", async () => (await points(page)) === known);
  const { address } = daemon;
  await daemon.kill("SIGKILL");
  await daemon.run(address);
  await until("the map went with the daemon", async () => (await points(page)) === 0);
});

test("a map is saved where a token is needed", async (t) => {
  const directory = await mkdtemp(join(tmpdir(), "sinew-token-"));
  t.after(() => rm(directory, { recursive: true }));
  const file = join(directory, "tokens");
  const token = "a-token-for-maps-0123456789";
  await writeFile(file, `control ${token}\n`, { mode: 0o600 });
  const daemon = await Daemon.start(t, { robots: ["--g1", "sim:"], http: "0.0.0.0:0", more: ["--token-file", file] });
  daemon.address = `127.0.0.1:${daemon.address.split(":")[1]}`;
  daemon.url = `http://${daemon.address}/`;
  assert.equal((await fetch(`${daemon.url}api/v1/robots/g1/map?format=ply`)).status, 401);
  const before = (page) => page.addInitScript((token) => sessionStorage.setItem("sinew-token", token), token);
  const page = await open(t, daemon, { before, expectErrors: true });
  await until("it maps", async () => {
    await page.getByRole("button", { name: "Start mapping" }).click({ timeout: 1000 }).catch(() => undefined);
    return points(page);
  });
  assert.match((await saved(page, /^PLY/)).bytes.toString("latin1", 0, 4), /^ply\n/);
});

test("mapping without a lidar says that it waits, and switches it on", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--vacuum", "sim:"] });
  const page = await open(t, daemon);
  const map = page.getByRole("region", { name: "Map" });
  await map.getByRole("button", { name: "Start mapping" }).click();
  await until("the lidar turns", async () => (await daemon.robot("vacuum")).links.lidar.state === "turning");
  assert.equal(await map.getByText("Mapping waits").count(), 0);
  await page.getByRole("region", { name: "Drive" }).getByRole("button", { name: "Switch off" }).click();
  await map.getByText("Mapping waits: the lidar is off.").waitFor();
  await page.getByRole("group", { name: "Robot" }).getByText("lidar off, mapping waits").waitFor();
  await map.getByRole("button", { name: "Switch the lidar on" }).click();
  await until("the lidar turns again", async () => (await daemon.robot("vacuum")).links.lidar.state === "turning");
  await map.getByText("Mapping waits").waitFor({ state: "hidden" });
});
