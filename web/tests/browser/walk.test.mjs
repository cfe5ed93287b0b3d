// A robot that walks by itself: only when it was confirmed, only while the page is there, and never past a STOP.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { closeBrowser, Daemon, open, until } from "./harness.mjs";
import { faults } from "./axe.mjs";

after(closeBrowser);

test("a robot walks to a place that is chosen in its map, pauses, goes on, and stops", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--g1", "sim:"] });
  const mapping = async () => (await daemon.robot("g1")).state.mapping;
  await until("it maps", async () => (await daemon.post("g1", { type: "Mapping", op: "start" })).ok);
  const page = await open(t, daemon);
  const canvas = page.locator("canvas[data-points]");
  await until("there is a map", async () => Number(await canvas.getAttribute("data-points")) > 5000);
  const map = page.getByRole("region", { name: "Map" });
  assert.ok(await map.getByRole("button", { name: "Load map" }).isDisabled(), "it walks in maps that it has stored");
  await map.getByRole("button", { name: "End mapping" }).click();
  const load = page.getByRole("dialog", { name: "Load a map" });
  const loadMap = async () => {
    await map.getByRole("button", { name: "Load map" }).click();
    // The one that was stored last is the one that is meant.
    await until("its name is there", async () => /^\d{4}-\d\d-\d\d/.test(await load.getByLabel(/^Name of a map/).inputValue()));
    assert.deepEqual(await faults(page), []);
    await load.getByRole("button", { name: "Load" }).click();
    await load.waitFor({ state: "detached" });
  };
  await map.getByRole("button", { name: "Start mapping" }).waitFor();
  await loadMap();

  const walk = page.getByRole("dialog", { name: "Walk here?" });
  const aim = async () => {
    await map.getByRole("button", { name: "Walk to a place" }).click();
    await map.getByRole("radio", { name: "Top" }).click();
    const box = await canvas.boundingBox();
    const [x, y] = [box.x + box.width * 0.52, box.y + box.height * 0.5];
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x, y - 60, { steps: 4 });
    await page.mouse.up();
    await walk.waitFor();
  };
  await aim();
  assert.equal(await walk.getByLabel("Facing").inputValue(), "90", "it is drawn to where the robot looks");
  assert.deepEqual(await faults(page), []);
  await page.keyboard.press("Escape");
  assert.equal(await walk.count(), 0);
  assert.equal((await mapping()).walking, false, "nothing walks that was not confirmed");

  await aim();
  const { pose } = (await daemon.robot("g1")).state;
  await walk.getByLabel("x, m").fill((pose.x + 2).toFixed(2));
  await walk.getByLabel("y, m").fill(pose.y.toFixed(2));
  await walk.getByRole("button", { name: "Walk" }).click();
  await until("it walks", async () => (await mapping()).walking);
  await map.getByRole("status").filter({ hasText: /^Walking, \d\.\d m to go/ }).waitFor();
  await map.getByRole("button", { name: "Pause" }).click();
  await until("it stands on its way", async () => (await mapping()).paused);
  await map.getByRole("button", { name: "Walk on" }).click();
  await until("it goes on", async () => !(await mapping()).paused && (await mapping()).walking);
  await page.keyboard.press("Space");
  await until("STOP ends it", async () => !(await mapping()).walking);
  await page.getByRole("list", { name: "Events" }).getByText(/Did not reach its goal/).first().waitFor();

  // A stop ends the map with the way. And a page that is left takes its walk along.
  await loadMap();
  await aim();
  const { x, y } = (await daemon.robot("g1")).state.pose;
  await walk.getByLabel("x, m").fill((x + 2).toFixed(2));
  await walk.getByLabel("y, m").fill(y.toFixed(2));
  await walk.getByRole("button", { name: "Walk" }).click();
  await until("it walks again", async () => (await mapping()).walking);
  await page.close();
  await until("it stands", async () => !(await mapping()).walking);
});
