// A WebSocket of texts, since node has none before version 22.
import { randomBytes } from "node:crypto";
import { connect } from "node:net";

export class WebSocket {
  onmessage = () => {};

  static async connect(address) {
    const [, host, port, path] = address.match(/^([^:/]+):(\d+)(\/.*)$/);
    const socket = connect(Number(port), host);
    const key = randomBytes(16).toString("base64");
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: 13\r\n\r\n`);
    const self = new WebSocket();
    self.socket = socket;
    let bytes = Buffer.alloc(0);
    let open = false;
    let text = "";
    await new Promise((done, fail) => {
      socket.on("error", fail);
      socket.on("data", (data) => {
        bytes = Buffer.concat([bytes, data]);
        if (!open) {
          const end = bytes.indexOf("\r\n\r\n");
          if (end < 0) return;
          if (!bytes.subarray(0, end).toString().includes(" 101 ")) fail(new Error("no handshake"));
          bytes = bytes.subarray(end + 4);
          open = true;
          done();
        }
        for (let frame = next(bytes); frame; frame = next(bytes)) {
          bytes = bytes.subarray(frame.length);
          if (frame.opcode > 1) continue;
          text += frame.payload;
          if (!frame.last) continue;
          const message = text;
          text = "";
          self.onmessage(message);
        }
      });
    });
    return self;
  }

  send(text) {
    const payload = Buffer.from(text);
    const mask = randomBytes(4);
    const head = payload.length < 126 ? Buffer.from([0x81, 0x80 | payload.length]) : Buffer.from([0x81, 0xfe, payload.length >> 8, payload.length & 255]);
    this.socket.write(Buffer.concat([head, mask, payload.map((byte, index) => byte ^ mask[index & 3])]));
  }

  close() {
    this.socket.destroy();
  }
}

/** The first frame that a client sent, if it is whole. */
export function unmask(bytes) {
  if (bytes.length < 2) return null;
  const [size, head] = (bytes[1] & 127) === 126 ? [bytes.length < 4 ? Infinity : bytes.readUInt16BE(2), 4] : [bytes[1] & 127, 2];
  if (bytes.length < head + 4 + size) return null;
  const mask = bytes.subarray(head, head + 4);
  const payload = Buffer.from(bytes.subarray(head + 4, head + 4 + size)).map((byte, index) => byte ^ mask[index & 3]);
  return { opcode: bytes[0] & 15, payload: payload.toString(), length: head + 4 + size };
}

/** The first frame of some bytes, if it is whole. */
function next(bytes) {
  if (bytes.length < 2) return null;
  let [size, head] = [bytes[1] & 127, 2];
  if (size === 126) [size, head] = [bytes.length < 4 ? Infinity : bytes.readUInt16BE(2), 4];
  else if (size === 127) [size, head] = [bytes.length < 10 ? Infinity : Number(bytes.readBigUInt64BE(2)), 10];
  if (bytes.length < head + size) return null;
  return { opcode: bytes[0] & 15, last: (bytes[0] & 128) !== 0, payload: bytes.subarray(head, head + size).toString(), length: head + size };
}
