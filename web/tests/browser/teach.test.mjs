import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, test } from "node:test";
import { closeBrowser, Daemon, open, until } from "./harness.mjs";

after(closeBrowser);

const JOINTS = ["left", "right"].flatMap((side) => ["shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow", "wrist_roll", "wrist_pitch"].map((joint) => `${side}_${joint}`));

const row = (page, name) => page.getByRole("region", { name: "Teaching" }).getByRole("listitem").filter({ has: page.getByText(name, { exact: true }) });

test("a motion is recorded, played, renamed, exported and deleted", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--g1", "sim:"] });
  const page = await open(t, daemon);
  const teaching = page.getByRole("region", { name: "Teaching" });
  await teaching.getByPlaceholder("Name of a new motion").fill("wave");
  await teaching.getByRole("button", { name: "Record" }).click();
  await until("three seconds are recorded", async () => (await daemon.robot("g1")).state.recorded_ms > 3000);
  // The page is told a moment later than who asks.
  await until("the clock says so", async () => /^[3-9]\.\d s$/.test(await teaching.getByRole("timer").innerText()));
  await teaching.getByRole("button", { name: "End and save" }).click();
  const wave = row(page, "wave");
  await wave.waitFor();
  await until("the robot is at rest", async () => {
    const { state } = await daemon.robot("g1");
    return !state.recording && !state.teaching && state.arm.phase === "idle";
  });
  await wave.getByRole("button", { name: "Play" }).click();
  await until("it plays", async () => (await daemon.robot("g1")).state.playing);
  await page.getByText(/Played wave to its end/).first().waitFor();
  await wave.getByRole("button", { name: "Rename" }).click();
  await teaching.getByLabel("New name of wave").fill("hello");
  await page.keyboard.press("Enter");
  const hello = row(page, "hello");
  await hello.waitFor();
  await hello.getByRole("button", { name: "Delete" }).click();
  await teaching.getByRole("group", { name: "Delete hello?" }).getByRole("button", { name: "Yes" }).click();
  await page.getByText("g1: Delete hello").or(page.getByText("Delete hello", { exact: true })).first().waitFor();
});

test("STOP ends what plays", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--g1", "sim:"] });
  const page = await open(t, daemon);
  const dance = row(page, "Waist_Drum_Dance");
  await dance.getByRole("button", { name: "Play" }).click();
  await until("it plays", async () => (await daemon.robot("g1")).state.playing);
  await page.getByRole("button", { name: "STOP" }).click();
  await until("nothing plays", async () => !(await daemon.robot("g1")).state.playing);
  await page.getByText(/Playing Waist_Drum_Dance was cut short/).first().waitFor();
});

test("motions come and go as files, and are shown before anything moves", async (t) => {
  const daemon = await Daemon.start(t, { robots: ["--g1", "sim:"] });
  const page = await open(t, daemon);
  const teaching = page.getByRole("region", { name: "Teaching" });
  // Names with markup are texts like any other.
  const name = "<img src=x>";
  const moving = JOINTS.indexOf("right_elbow");
  const frame = (index) => [index * 10, ...JOINTS.map((_, joint) => (joint === moving ? Math.sin(index / 50).toFixed(4) : 0))].join(",");
  const csv = [["time_ms", ...JOINTS].join(","), ...Array.from({ length: 4100 }, (_, index) => frame(index))].join("\n");
  await page.locator("input[type=file]").setInputFiles({ name: `${name}.csv`, mimeType: "text/csv", buffer: Buffer.from(csv) });
  const found = row(page, name);
  await found.waitFor();
  await found.getByRole("button", { name: "Preview" }).click();
  await teaching.getByText("pale: preview").waitFor();
  await teaching.getByText("right elbow").waitFor();
  assert.equal((await daemon.robot("g1")).state.playing, null);
  const exported = async (format) => {
    await found.getByRole("button", { name: "Export" }).click();
    const row = teaching.getByRole("group", { name: `Export ${name}` });
    const [download] = await Promise.all([page.waitForEvent("download"), row.getByRole("button", { name: format }).click()]);
    return readFile(await download.path(), "utf8");
  };
  const document = JSON.parse(await exported("JSON"));
  assert.deepEqual([document.name, document.frames.length], [name, 4100]);
  const lines = (await exported("CSV")).trim().split("\n");
  assert.deepEqual([lines.length, lines[0]], [4101, ["time_ms", ...JOINTS].join(",")]);

  // By drag and drop: a file onto the list, and a motion of the list out of it.
  const seq = ["components:", "  - content: JointDisplacement", "    frame_rate: 50", "    num_frames: 2", "    num_parts: 14", "    frames:", ...[0, 0.5].map((value) => `      - [${Array.from({ length: 14 }, () => value)}]`)].join("\n");
  const list = teaching.getByRole("group", { name: "Motions" });
  const carried = await page.evaluateHandle((text) => {
    const data = new DataTransfer();
    data.items.add(new File([text], "from the SDK.seq"));
    return data;
  }, seq);
  await list.dispatchEvent("drop", { dataTransfer: carried });
  await row(page, "from the SDK").waitFor();
  const out = row(page, "from the SDK").locator("[draggable=true]");
  const data = await page.evaluateHandle(() => new DataTransfer());
  await out.dispatchEvent("pointerdown");
  await until("it can be dragged", async () => {
    await out.dispatchEvent("dragstart", { dataTransfer: data });
    return data.evaluate((data) => data.types.length > 0);
  });
  assert.match(await data.evaluate((data) => data.getData("DownloadURL")), /^application\/json:from the SDK\.json:blob:/);
  const dragged = JSON.parse(await data.evaluate((data) => data.getData("application/x-sinew-motion")));
  assert.deepEqual([dragged.name, dragged.frames.length, dragged.joints.length], ["from the SDK", 2, 12]);
  await page.locator("input[type=file]").setInputFiles({ name: "no.json", mimeType: "application/json", buffer: Buffer.from("{}") });
  await page.getByRole("alert").filter({ hasText: "this file is no motion: it names no joints" }).waitFor();
});
