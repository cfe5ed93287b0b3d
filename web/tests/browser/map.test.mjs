import assert from "node:assert/strict";
import { after, test } from "node:test";
import { choose, closeBrowser, colours, Daemon, open, until } from "./harness.mjs";

after(closeBrowser);

const points = (page) => page.locator("canvas[data-points]").getAttribute("data-points").then(Number);

test("mapping shows points, and more of them", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--g1", "sim:"] });
  const page = await open(t, daemon);
  const map = page.getByRole("region", { name: "Map" });
  await page.getByText("No map yet.").waitFor();
  await map.getByLabel("Grid").uncheck();
  // The buttons over it are in the picture, too.
  const empty = colours(await map.locator("canvas").screenshot());
  assert.ok(empty.background > 0.8, JSON.stringify(empty));
  await page.getByRole("button", { name: "Start mapping" }).click();
  const some = await until("points come", () => points(page));
  const seen = await until("the canvas shows them", async () => {
    const seen = colours(await map.locator("canvas").screenshot());
    return seen.colours > 2 * empty.colours && seen.background < empty.background - 0.02 && seen;
  });
  assert.ok(seen.background > 0.1, "there is a background");
  await until("there are more", async () => (await points(page)) > some + 1000);
  await map.getByText(/\d Hz · 0\.\d+ s old/).waitFor();
  await map.getByRole("radio", { name: "Top" }).click();
  await map.getByLabel("Colour").selectOption("distance");
  await map.getByRole("button", { name: "Measure" }).click();
  const box = await map.locator("canvas").boundingBox();
  await page.mouse.click(box.x + box.width * 0.45, box.y + box.height * 0.5);
  await page.mouse.click(box.x + box.width * 0.55, box.y + box.height * 0.5);
  await map.getByRole("status").filter({ hasText: /^\d+\.\d\d m$/ }).waitFor();
  await page.getByRole("button", { name: "End mapping" }).click();
  await page.getByRole("button", { name: "Start mapping" }).waitFor();
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
