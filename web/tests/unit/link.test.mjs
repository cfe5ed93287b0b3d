import assert from "node:assert/strict";
import { test } from "node:test";
import { Link, Refused, SILENCE } from "../../src/lib/link.ts";

/** A daemon that answers when it is told to, and a clock that goes when it is. */
function world() {
  const seen = { phases: [], frames: 0, opened: 0, messages: [] };
  const sockets = [];
  const clock = { time: 0, every: [], after: [] };
  const link = new Link(
    "ws://here/ws",
    {
      opened: () => seen.opened++,
      phase: (phase) => seen.phases.at(-1) !== phase && seen.phases.push(phase),
      message: (message) => seen.messages.push(message),
      frame: () => seen.frames++,
    },
    {
      open() {
        const socket = { readyState: 0, sent: [], send: (text) => socket.sent.push(JSON.parse(text)), close: () => (socket.readyState = 3) };
        sockets.push(socket);
        return socket;
      },
      now: () => clock.time,
      every: (_, run) => clock.every.push(run),
      after: (milliseconds, run) => clock.after.push([clock.time + milliseconds, run]),
    },
  );
  const pass = (milliseconds) => {
    for (let passed = 0; passed < milliseconds; passed += 100) {
      clock.time += 100;
      clock.every.forEach((run) => run());
      const due = clock.after.filter(([at]) => at <= clock.time);
      clock.after = clock.after.filter(([at]) => at > clock.time);
      due.forEach(([, run]) => run());
    }
  };
  const open = () => {
    const socket = sockets.at(-1);
    socket.readyState = 1;
    socket.onopen();
    return socket;
  };
  const say = (message) => sockets.at(-1).onmessage({ data: typeof message === "object" ? JSON.stringify(message) : message });
  return { link, seen, sockets, pass, open, say };
}

test("replies find their requests, and refusals say why", async () => {
  const { link, open, say } = world();
  const socket = open();
  const [one, two] = [link.ask({ type: "Robots" }), link.ask({ type: "Dock" })];
  const error = { code: "not_ready", message: "stopped", remedy: "enable" };
  say({ type: "Reply", req: socket.sent[1].req, ok: false, error });
  say({ type: "Reply", req: socket.sent[0].req, ok: true, data: 7 });
  assert.equal(await one, 7);
  await assert.rejects(two, (reason) => reason instanceof Refused && reason.remedy === "enable");
});

test("a daemon that says nothing is lost within a second, and found again", async () => {
  const { link, seen, sockets, pass, open, say } = world();
  const first = open();
  say({ type: "Lost", count: 1 });
  assert.deepEqual([seen.phases, seen.opened], [["open"], 1]);
  const waiting = link.ask({ type: "Robots" });
  pass(SILENCE + 200);
  assert.deepEqual(seen.phases, ["open", "lost"]);
  assert.equal(first.readyState, 3);
  assert.ok(first.sent.some(({ type }) => type === "Ping"));
  await assert.rejects(waiting, Refused);
  await assert.rejects(link.ask({ type: "Robots" }), Refused);
  assert.equal(link.say({ type: "Stop" }), false);
  pass(1000);
  assert.equal(sockets.length, 2);
  open();
  say({ type: "Lost", count: 2 });
  assert.deepEqual(seen.phases, ["open", "lost", "open"]);
  // What the old socket still says is not heard.
  first.onmessage({ data: '{"type":"Lost","count":9}' });
  assert.equal(seen.messages.length, 2);
});

test("answers to pings keep it", () => {
  const { seen, pass, open, say } = world();
  const socket = open();
  for (let beat = 0; beat < 20; beat++) {
    pass(400);
    const ping = socket.sent.findLast(({ type }) => type === "Ping");
    say({ type: "Reply", req: ping.req, ok: true, data: {} });
  }
  assert.deepEqual(seen.phases, ["open"]);
});
