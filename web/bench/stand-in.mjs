// A daemon's stand-in: it gives out the page as built, and one robot with a map of as many points as wanted.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname } from "node:path";

const DIST = new URL("../dist/", import.meta.url);
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
const ROBOT = {
  name: "bench", kind: "bench", link: { state: "ready" }, capabilities: ["mapping"], sensors: [], holder: null,
  stopped_by: null, last_seen_ms: 0, fresh: true, state: { mapping: { active: true } },
};
/** Points of a block: a surface of 8 x 8 cells. */
const BLOCK = 64;
/** Points of the largest frame there is. */
const FRAME = Math.floor((256_000 - 104) / 8 / BLOCK) * BLOCK;

export class StandIn {
  /** Frames that the page has acknowledged. */
  taken = 0;
  #sent = 0;
  #queue = [];

  static async start(points) {
    const self = new StandIn();
    self.points = Math.ceil(points / BLOCK) * BLOCK;
    self.server = createServer((request, answer) => void self.#serve(request, answer));
    self.server.on("upgrade", (request, socket) => self.#upgrade(request, socket));
    await new Promise((done) => self.server.listen(0, "127.0.0.1", done));
    self.url = `http://127.0.0.1:${self.server.address().port}/`;
    return self;
  }

  /** So many blocks change. */
  change(blocks) {
    const all = this.points / BLOCK;
    const first = Math.floor(Math.random() * Math.max(1, all - blocks));
    this.#queue.push(this.#frame(first, Math.min(blocks, all)));
    this.#pump();
  }

  close() {
    this.socket?.destroy();
    this.server.close();
    this.server.closeAllConnections();
  }

  async #serve({ url }, answer) {
    const path = url === "/" ? "index.html" : url.slice(1);
    const body = await readFile(new URL(`${path}.gz`, DIST)).catch(() => null);
    if (body === null) answer.writeHead(404).end();
    else answer.writeHead(200, { "content-type": TYPES[extname(path)] ?? "text/plain", "content-encoding": "gzip" }).end(body);
  }

  #upgrade({ headers }, socket) {
    const accept = createHash("sha1").update(`${headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
    socket.on("error", () => undefined);
    this.socket = socket;
    let bytes = Buffer.alloc(0);
    socket.on("data", (data) => {
      bytes = Buffer.concat([bytes, data]);
      for (let read = readText(bytes); read; read = readText(bytes)) {
        bytes = bytes.subarray(read.length);
        if (read.text !== null) this.#command(JSON.parse(read.text));
      }
    });
  }

  #command({ type, req, topics, seq }) {
    if (type === "Ack") {
      this.taken = seq;
      this.#pump();
      return;
    }
    const data = { Auth: { access: "control", name: "bench" }, Robots: { robots: [ROBOT], warnings: [] }, Ping: { build: "bench", time_ms: Date.now() } }[type] ?? [];
    send(this.socket, 0x81, Buffer.from(JSON.stringify({ type: "Reply", req, ok: true, data })));
    if (type !== "Subscribe" || !topics.includes("map")) return;
    for (let first = 0; first < this.points / BLOCK; first += FRAME / BLOCK) {
      this.#queue.push(this.#frame(first, Math.min(FRAME, this.points - first * BLOCK) / BLOCK));
    }
    this.#pump();
  }

  /** As the daemon does: two frames that are not acknowledged, at most. */
  #pump() {
    while (this.#sent - this.taken < 2 && this.#queue.length > 0) {
      const frame = this.#queue.shift()();
      frame.writeBigUInt64LE(BigInt(++this.#sent), 8);
      send(this.socket, 0x82, frame);
    }
  }

  #frame(first, blocks) {
    return () => {
      const frame = Buffer.alloc(104 + blocks * BLOCK * 8);
      const side = Math.ceil(Math.sqrt(this.points / BLOCK));
      frame.set([1, 2, 104]);
      frame.writeUInt32LE(blocks * BLOCK, 4);
      frame.writeBigUInt64LE(BigInt(Date.now()) * 1000n, 16);
      frame.writeUInt32LE(1, 24);
      frame[31] = 3;
      [-side * 0.2, -side * 0.2, -1.2, 0.05].forEach((value, index) => frame.writeDoubleLE(value, 32 + 8 * index));
      frame.write("map", 96);
      const points = new Uint16Array(frame.buffer, frame.byteOffset + 104, blocks * BLOCK * 4);
      for (let block = 0; block < blocks; block++) {
        const [x, y] = [((first + block) % side) * 8, Math.floor((first + block) / side) * 8];
        const high = ((x * 7 + y * 13) % 5) * 8;
        for (let point = 0; point < BLOCK; point++) points.set([x + (point & 7), y + (point >> 3), high + (point & 7), 0], (block * BLOCK + point) * 4);
      }
      return frame;
    };
  }
}

function send(socket, head, payload) {
  const { length } = payload;
  const size = length < 126 ? Buffer.from([head, length]) : length < 65_536 ? Buffer.from([head, 126, length >> 8, length & 255]) : Buffer.alloc(10);
  if (size.length === 10) {
    size.set([head, 127]);
    size.writeBigUInt64BE(BigInt(length), 2);
  }
  socket.write(Buffer.concat([size, payload]));
}

/** The first message of a page's bytes, if it is whole; null is none that matters here. */
function readText(bytes) {
  if (bytes.length < 6) return null;
  let [size, head] = [bytes[1] & 127, 2];
  if (size === 126) [size, head] = [bytes.readUInt16BE(2), 4];
  if (bytes.length < head + 4 + size) return null;
  const mask = bytes.subarray(head, head + 4);
  const payload = bytes.subarray(head + 4, head + 4 + size).map((byte, index) => byte ^ mask[index & 3]);
  return { text: (bytes[0] & 15) === 1 ? Buffer.from(payload).toString() : null, length: head + 4 + size };
}
