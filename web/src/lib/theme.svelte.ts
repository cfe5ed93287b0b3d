// Light or dark: the system's choice, until a person makes one.

import { MediaQuery } from "svelte/reactivity";

const KEY = "sinew-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

class Theme {
  private chosen: string | null = $state(localStorage.getItem(KEY));
  private prefersDark = $state(system.matches);
  dark: boolean = $derived(this.chosen === null ? this.prefersDark : this.chosen === "dark");

  constructor() {
    system.addEventListener("change", () => (this.prefersDark = system.matches));
  }

  toggle(): void {
    this.chosen = this.dark ? "light" : "dark";
    localStorage.setItem(KEY, this.chosen);
  }
}

export const theme = new Theme();

/** On a phone there is one panel at a time, also when it is held sideways: as css/phone.css has it. */
export const narrow = new MediaQuery("(max-width: 760px), (max-height: 480px)");
