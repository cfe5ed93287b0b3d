import assert from "node:assert/strict";
import { after, test } from "node:test";
import { closeBrowser, Daemon, driveUntil, enableDrive, open, until } from "./harness.mjs";

after(closeBrowser);

test("holding the joystick drives the robot, and letting go stops it", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await open(t, daemon);
  await driveUntil(page, "the robot has gone 20 cm", async () => (await daemon.robot("vacuum")).state.pose.x > 0.2);
  await daemon.stands("vacuum");
  assert.equal((await daemon.robot("vacuum")).stopped_by, null, "letting go needs no enabling");
});

test("the light, the brushes and the dock reach the robot", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await open(t, daemon);
  const lamps = page.getByRole("radiogroup", { name: "LED mode" });
  assert.equal(await lamps.getByRole("radio").count(), 19);
  // Those that blink or breathe do so here, too; those that are steady are.
  const moving = await lamps.getByRole("radio").evaluateAll((modes) => modes.flatMap((mode, index) => (mode.getAnimations({ subtree: true }).length > 0 ? [index] : [])));
  assert.deepEqual(moving, [4, 5, 6, 8, 10, 11, 12, 14, 15, 16]);
  await page.getByRole("radio", { name: /^LED 17/ }).click();
  await until("the light is purple", async () => (await daemon.robot("vacuum")).state.led === 17);
  await page.getByRole("radio", { name: /^LED 17/, checked: true }).waitFor();
  await page.getByLabel("Suction").fill("75");
  await until("it sucks", async () => (await daemon.robot("vacuum")).state.vacuum === 75);
  await driveUntil(page, "it has left the dock", async () => (await daemon.robot("vacuum")).state.pose.x > 0.5);
  await daemon.stands("vacuum");
  await page.getByRole("list", { name: "Events" }).getByText("Let go: stop").first().waitFor();
  // A machine so busy that the daemon itself is late stops a robot: it is sent again then.
  const docked = page.getByText("Docked: the robot charges");
  await until("it is docked", async () => {
    if ((await docked.count()) > 0) return true;
    if ((await daemon.robot("vacuum")).state.docking !== null) return false;
    await enableDrive(page);
    await page.getByRole("button", { name: "Dock" }).click({ timeout: 1000 }).catch(() => {});
    await until("it is on its way", async () => (await daemon.robot("vacuum")).state.docking !== null, 2000).catch(() => {});
    return false;
  }, 90_000);
  await page.getByText("Docking: driving to the place in front of the dock").first().waitFor();
});
