// The README's pictures, of real robots' worth of data: `cargo xtask pictures`.
import { spawnSync } from "node:child_process";
import { mkdir, stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { choose, closeBrowser, Daemon, driveUntil, enableDrive, open, until } from "../tests/browser/harness.mjs";

const IMAGES = fileURLToPath(new URL("../../docs/images/", import.meta.url));
const SIZE = { width: 1280, height: 800 };
/** Bytes of a picture, at most. */
const LARGEST = 450_000;
/** How the vacuum goes through its flat: by the joystick, forward and left, so many metres or radians. */
const WAY = [[0.9, 0, 1.3], [0, -0.9, 0.7], [0.9, 0, 0.8], [0, 0.9, 1.5], [0.9, 0.2, 0.9]];

const font = spawnSync("fc-match", ["Inter"], { encoding: "utf8" }).stdout ?? "";
if (!font.startsWith("Inter")) console.error("without the font Inter (apt-get install fonts-inter) the pictures are in a wider one");

const ends = [];
let daemon;
const t = { after: (end) => ends.unshift(end) };
try {
  await mkdir(IMAGES, { recursive: true });
  daemon = await Daemon.start(t);
  for (const robot of ["vacuum", "g1"]) await until(`${robot} maps`, async () => (await daemon.post(robot, { type: "Mapping", op: "start" })).ok);

  const dark = await open(t, daemon, { colorScheme: "dark", ...SIZE });
  const place = async () => (await daemon.robot("vacuum")).state.pose;
  const apart = (one, other) => Math.abs(Math.atan2(Math.sin(one - other), Math.cos(one - other)));
  for (const [forward, left, far] of WAY) {
    const from = await place();
    const gone = async () => {
      const { x, y, heading } = await place();
      return (forward ? Math.hypot(x - from.x, y - from.y) : apart(heading, from.heading)) > far;
    };
    await driveUntil(dark, "it has gone", gone, forward, left);
  }
  await daemon.stands("vacuum");
  await keep(dark, "dashboard-vacuum.png");

  await choose(dark, "g1");
  await until("the G1 has seen its flat", async () => (await daemon.robot("g1")).state.map.voxels > 120_000, 180_000);
  await until("and so has the page", async () => Number(await dark.locator("canvas[data-points]").getAttribute("data-points")) > 110_000, 60_000);
  await dark.getByLabel("Size").fill("2.2");
  await keep(dark, "dashboard-g1-map.png");
  await dark.context().close();

  const light = await open(t, daemon, { colorScheme: "light", ...SIZE });
  await choose(light, "g1");
  await until("the page has the map", async () => Number(await light.locator("canvas[data-points]").getAttribute("data-points")) > 110_000, 60_000);
  await light.getByLabel("Size").fill("2.2");
  await light.getByRole("region", { name: "Teaching" }).getByRole("button", { name: /^Play/ }).first().click();
  await until("it plays", async () => (await daemon.robot("g1")).state.playing?.elapsed_ms > 2500);
  await keep(light, "dashboard-g1-teaching.png");

  const phone = await open(t, daemon, { colorScheme: "dark", width: 375, height: 812, hasTouch: true });
  await choose(phone, "vacuum");
  await enableDrive(phone);
  await until("the map is there", async () => Number(await phone.locator("canvas[data-points]").getAttribute("data-points")) > 1000);
  await keep(phone, "dashboard-phone.png");
} finally {
  for (const end of ends) await end();
  await closeBrowser();
}

async function keep(page, name) {
  for (const robot of ["vacuum", "g1"]) await until(`${robot} is linked`, async () => (await daemon.robot(robot)).link.state === "ready");
  // All of the map, and what was drawn last.
  const canvas = page.locator("canvas[data-points]");
  await until("the picture is whole", async () => (await canvas.getAttribute("data-step")) === "1");
  await page.screenshot({ path: IMAGES + name });
  const { size } = await stat(IMAGES + name);
  if (size > LARGEST) throw new Error(`${name} has ${size} bytes, at most ${LARGEST}`);
  console.log(`docs/images/${name}  ${Math.round(size / 1000)} kB`);
}
