// Keys that do something wherever the focus is.

const TEXTS = ["text", "search", "password", "number"];

/** Whether keys that are pressed here write. */
export function isText(at: EventTarget | null): boolean {
  return at instanceof HTMLTextAreaElement || at instanceof HTMLSelectElement || (at instanceof HTMLInputElement && TEXTS.includes(at.type));
}

/** Whether a key is the space bar. Keyboards on a screen tell no code, and input methods no key. */
export function isSpace({ code, key }: Pick<KeyboardEvent, "code" | "key">): boolean {
  return code === "Space" || key === " ";
}

/** Whether the space bar stops: everywhere but in a text, and there too while anything moves. */
export function spaceStops(inText: boolean, busy: boolean): boolean {
  return !inText || busy;
}

/** What they do, for people. */
export const KEYS: [keys: string[], what: string][] = [
  [["Space"], "STOP, whatever has the focus; in a text while anything moves"],
  [["W", "A", "S", "D"], "Drive while held, where the drive is enabled; arrow keys, too"],
  [["1", "2", "3"], "Map: orbit, from above, follow"],
  [["F"], "Map: all of it in view"],
  [["M"], "Map: measure between two points"],
  [["Esc"], "Put a tool away, close what is open"],
  [["?"], "This list"],
];
