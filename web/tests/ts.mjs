// Lets node read the page's modules: `node --import ./tests/ts.mjs`.
import { register } from "node:module";

register("./ts-hooks.mjs", import.meta.url);
