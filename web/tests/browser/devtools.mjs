import { WebSocket } from "./socket.mjs";

/** Devtools of a browser that Playwright has no hand in: under it no page is ever hidden. */
export class Devtools {
  static async connect(process) {
    let text = "";
    const address = await new Promise((done) => {
      process.stderr.on("data", (data) => {
        text += data;
        const found = text.match(/DevTools listening on ws:\/\/(\S+)/);
        if (found) done(found[1]);
      });
    });
    const devtools = new Devtools();
    devtools.socket = await WebSocket.connect(address);
    devtools.waiting = new Map();
    devtools.socket.onmessage = (message) => {
      const { id, result, error } = JSON.parse(message);
      const waiting = devtools.waiting.get(id);
      devtools.waiting.delete(id);
      if (error) waiting?.fail(new Error(error.message));
      else waiting?.done(result);
    };
    return devtools;
  }

  send(method, params = {}, sessionId) {
    const id = (this.last = (this.last ?? 0) + 1);
    return new Promise((done, fail) => {
      this.waiting.set(id, { done, fail });
      this.socket.send(JSON.stringify({ id, method, params, ...(sessionId ? { sessionId } : {}) }));
    });
  }
}
