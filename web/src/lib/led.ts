// The modes of a vacuum's button light, as docs/protocols/gd32.md has them.

export type Colour = "off" | "blue" | "orange" | "red" | "purple" | "orange-red" | "red-blue";
export type Animation = "none" | "wobble" | "blink" | "blink-off" | "blink-on" | "alternate" | "sequence";

export interface LedMode {
  colour: Colour;
  animation: Animation;
  words: string;
}

const mode = (colour: Colour, animation: Animation, words: string): LedMode => ({ colour, animation, words });

export const LED_MODES: readonly LedMode[] = [
  mode("off", "none", "off"),
  mode("blue", "none", "blue: idle, standby"),
  mode("blue", "none", "blue, same as 1"),
  mode("orange", "none", "orange: warning"),
  mode("orange", "wobble", "orange, slow wobble: charging"),
  mode("orange", "blink-off", "orange, fast blink, then off: transition"),
  mode("orange", "blink", "orange, medium blink: charging, active"),
  mode("red", "none", "red: error"),
  mode("red", "blink", "red, medium blink: attention"),
  mode("red", "none", "red, same as 7"),
  mode("orange-red", "alternate", "orange and red, alternating: critical"),
  mode("blue", "blink", "blue, medium blink: working"),
  mode("blue", "wobble", "blue, slow wobble: standby, breathing"),
  mode("blue", "none", "blue, same as 1"),
  mode("blue", "blink-on", "blue, fast blink, then on: boot"),
  mode("red-blue", "sequence", "red to blue: change of state"),
  mode("red", "blink", "red, medium blink, same as 8"),
  mode("purple", "none", "purple: factory"),
  mode("orange", "none", "orange, same as 3"),
];

export const LED_COLOURS: Record<Colour, [string, string]> = {
  off: ["transparent", "transparent"],
  blue: ["#3b82f6", "#3b82f6"],
  orange: ["#f59e0b", "#f59e0b"],
  red: ["#ef4444", "#ef4444"],
  purple: ["#a855f7", "#a855f7"],
  "orange-red": ["#f59e0b", "#ef4444"],
  "red-blue": ["#ef4444", "#3b82f6"],
};
