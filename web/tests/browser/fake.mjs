// Something that calls itself a daemon: it serves the page of a true one, and says on its socket whatever a test wants.
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { unmask } from "./socket.mjs";

export class FakeDaemon {
  /** `answer` gives what to reply to a command, or undefined for none. */
  static async start(t, daemon, answer) {
    const fake = new FakeDaemon();
    fake.commands = [];
    const server = createServer(async (request, response) => {
      if (request.method !== "GET") return response.end("{}");
      const page = await fetch(new URL(request.url, daemon.url));
      const headers = ["content-type", "content-security-policy"].map((name) => [name, page.headers.get(name) ?? ""]);
      response.writeHead(page.status, Object.fromEntries(headers)).end(Buffer.from(await page.arrayBuffer()));
    });
    server.on("upgrade", (request, socket) => {
      const key = createHash("sha1").update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${key}\r\n\r\n`);
      socket.on("error", () => socket.destroy());
      fake.socket = socket;
      let bytes = Buffer.alloc(0);
      socket.on("data", (data) => {
        bytes = Buffer.concat([bytes, data]);
        for (let frame = unmask(bytes); frame; frame = unmask(bytes)) {
          bytes = bytes.subarray(frame.length);
          if (frame.opcode !== 1) continue;
          const command = JSON.parse(frame.payload);
          fake.commands.push(command);
          const reply = answer(command);
          if (reply !== undefined) fake.send(reply === null ? "null" : JSON.stringify({ type: "Reply", req: command.req, ok: true, data: reply }));
        }
      });
    });
    await new Promise((done) => server.listen(0, "127.0.0.1", done));
    t.after(() => {
      fake.socket?.destroy();
      server.close();
      server.closeAllConnections();
    });
    fake.address = `127.0.0.1:${server.address().port}`;
    fake.url = `http://${fake.address}/`;
    return fake;
  }

  /** Sends a text, or bytes. */
  send(message) {
    if (!this.socket?.writable) return;
    const payload = Buffer.from(message);
    const opcode = 0x80 | (typeof message === "string" ? 1 : 2);
    const length = payload.length;
    const head = length < 126 ? Buffer.from([opcode, length]) : length < 65536 ? Buffer.from([opcode, 126, length >> 8, length & 255]) : Buffer.from([opcode, 127, 0, 0, 0, 0, length >>> 24, (length >> 16) & 255, (length >> 8) & 255, length & 255]);
    this.socket.write(Buffer.concat([head, payload]));
  }
}
