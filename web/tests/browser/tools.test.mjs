// What a person does with the map and the log beside driving and teaching.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { choose, closeBrowser, Daemon, driveUntil, open, until } from "./harness.mjs";
import { faults } from "./axe.mjs";

after(closeBrowser);

const points = (page) => page.locator("canvas[data-points]").getAttribute("data-points").then(Number);
const begin = (daemon, robot) => until(`${robot} maps`, async () => (await daemon.post(robot, { type: "Mapping", op: "start" })).ok);

/** How many pixels of the map are coloured, and their mean colour. */
async function look(page) {
  const png = await page.locator("canvas[data-points]").screenshot();
  return page.evaluate(async (bytes) => {
    const image = await createImageBitmap(new Blob([new Uint8Array(bytes)]));
    const sheet = new OffscreenCanvas(image.width, image.height).getContext("2d");
    sheet.drawImage(image, 0, 0);
    const { data } = sheet.getImageData(0, 0, image.width, image.height);
    const sum = [0, 0, 0];
    let coloured = 0;
    for (let at = 0; at < data.length; at += 4) {
      const rgb = [data[at], data[at + 1], data[at + 2]];
      if (Math.max(...rgb) - Math.min(...rgb) < 60) continue;
      coloured++;
      rgb.forEach((value, channel) => (sum[channel] += value));
    }
    return { coloured, mean: sum.map((value) => value / Math.max(1, coloured)) };
  }, [...png]);
}

test("points are coloured by height, age and distance, cut and sized", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--g1", "sim:"] });
  await begin(daemon, "g1");
  const page = await open(t, daemon);
  const map = page.getByRole("region", { name: "Map" });
  await until("there is a map", async () => (await points(page)) > 20_000);
  // What stands still can be compared.
  await map.getByRole("button", { name: "End mapping" }).click();
  await map.getByText("ended").waitFor();
  await map.getByLabel("Grid").uncheck();
  const differs = (one, other) => one.mean.some((value, channel) => Math.abs(value - other.mean[channel]) > 6);
  const settled = async (what, than) => until(what, async () => {
    const seen = await look(page);
    return than(seen) && seen;
  });
  const height = await settled("points are seen", ({ coloured }) => coloured > 5000);
  await map.getByLabel("Colour").selectOption("distance");
  await map.getByText("8.0 m").waitFor();
  const distance = await settled("they are coloured by distance", (seen) => differs(seen, height));
  await map.getByLabel("Colour").selectOption("age");
  await map.getByText("60.0 s").waitFor();
  await settled("they are coloured by age", (seen) => differs(seen, distance) || differs(seen, height));
  await map.getByLabel("Colour").selectOption("height");
  await map.getByLabel("Cut above").fill("0.4");
  await map.getByText("0.4 m").waitFor();
  await settled("walls are cut off", ({ coloured }) => coloured < 0.85 * height.coloured);
  await map.getByLabel("Cut above").fill("3");
  await map.getByLabel("Size").fill("3");
  await settled("points are larger", ({ coloured }) => coloured > 1.15 * height.coloured);
  await map.getByLabel("Size").fill("1");
  // Views, by their keys.
  await page.keyboard.press("3");
  await map.getByRole("radio", { name: "Follow", checked: true }).waitFor();
  await settled("it is seen from near by", (seen) => Math.abs(seen.coloured - height.coloured) > 0.1 * height.coloured);
  await page.keyboard.press("2");
  await map.getByRole("radio", { name: "Top", checked: true }).waitFor();
  await page.keyboard.press("m");
  await map.getByRole("button", { name: "Measure", pressed: true }).waitFor();
  await page.keyboard.press("Escape");
  await map.getByRole("button", { name: "Measure", pressed: false }).waitFor();
});

test("the way that a robot went is there after a reload", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--vacuum", "sim:"] });
  await begin(daemon, "vacuum");
  const page = await open(t, daemon);
  await until("there is a map", () => points(page));
  await driveUntil(page, "it has gone 70 cm", async () => (await daemon.robot("vacuum")).state.map.pose.x > 0.7);
  await daemon.stands("vacuum");
  const path = async () => {
    const png = await page.locator("canvas[data-points]").screenshot();
    return page.evaluate(async (bytes) => {
      const image = await createImageBitmap(new Blob([new Uint8Array(bytes)]));
      const sheet = new OffscreenCanvas(image.width, image.height).getContext("2d");
      sheet.drawImage(image, 0, 0);
      const { data } = sheet.getImageData(0, 0, image.width, image.height);
      // The accent, over the floor: bluish. The robot has it, too.
      let found = 0;
      for (let at = 0; at < data.length; at += 4) if (data[at + 2] - data[at] > 50 && data[at] < 140) found++;
      return found;
    }, [...png]);
  };
  const map = page.getByRole("region", { name: "Map" });
  const still = (what) => until(what, async () => {
    const [one, two] = [await path(), await path()];
    return Math.abs(one - two) < 20 && one;
  });
  await map.getByLabel("Scan").uncheck();
  const shown = await still("the path is seen");
  await map.getByLabel("Path").uncheck();
  const hidden = await until("the path is hidden", async () => {
    const now = await still("it rests");
    return now < shown - 60 && now;
  });
  await page.reload();
  await until("there is a map again", () => points(page));
  await map.getByLabel("Scan").uncheck();
  await until("and the path in it", async () => (await path()) > hidden + 0.6 * (shown - hidden));
});

test("a phone has a small map over Drive, which opens the large one", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--vacuum", "sim:"] });
  await begin(daemon, "vacuum");
  const page = await open(t, daemon, { width: 375, height: 812, hasTouch: true });
  const canvas = page.locator("canvas[data-points]");
  await until("it shows cells", () => points(page));
  const small = await canvas.boundingBox();
  assert.ok(small.height > 90 && small.height < 160, `it is ${small.height} high`);
  assert.equal(await page.getByRole("button", { name: "Save map" }).count(), 0, "it is to look at");
  await page.getByRole("region", { name: "Drive" }).waitFor();
  await page.getByRole("button", { name: "Open the map" }).click();
  await until("the map is large", async () => (await canvas.boundingBox()).height > 300);
  await page.getByRole("button", { name: "Save map" }).waitFor();
});

test("events are filtered and copied, keys are listed, and the space bar stops over all of it", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await open(t, daemon, { permissions: ["clipboard-read", "clipboard-write"] });
  const log = page.getByRole("list", { name: "Events" });
  await page.getByRole("radio", { name: /^LED 7/ }).click();
  await log.getByText("vacuum: LED 7, red: error").waitFor();
  await choose(page, "g1");
  await page.getByRole("button", { name: "Teach", exact: true }).click();
  await log.getByText(/g1: Teach: arms soft/).waitFor();
  await page.getByRole("searchbox", { name: "Filter events" }).fill("led 7");
  await until("one is left", async () => (await log.getByRole("listitem").count()) === 1);
  await page.getByRole("button", { name: "Copy" }).click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^\d{4}-\d\d-\d\dT[\d:.]+Z\t✓\tvacuum: LED 7, red: error$/);
  await page.getByRole("searchbox", { name: "Filter events" }).fill("");

  const stops = async (what) => {
    await page.getByRole("alert").getByRole("button", { name: "Close" }).click();
    await page.keyboard.press("Space");
    await page.getByRole("alert").filter({ hasText: "Stopped all robots" }).waitFor().catch(() => assert.fail(`no stop: ${what}`));
  };
  await page.getByRole("button", { name: "STOP" }).click();
  await page.getByRole("alert").filter({ hasText: "Stopped all robots" }).waitFor();
  await page.getByRole("button", { name: "Loop" }).focus();
  await stops("a button has the focus");
  assert.equal(await page.getByRole("button", { name: "Loop" }).getAttribute("aria-pressed"), "false", "which is not pressed by it");
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keys" });
  await help.getByText("Drive while held").waitFor();
  await stops("a dialog is open");
  assert.equal(await help.count(), 1, "its button is not pressed by it");
  assert.deepEqual(await faults(page), []);
  await page.getByRole("button", { name: "STOP" }).click({ timeout: 5000 });
  await page.keyboard.press("Escape");
  assert.equal(await help.count(), 0);
  await page.getByLabel("Speed").focus();
  await stops("a choice has the focus");
});
