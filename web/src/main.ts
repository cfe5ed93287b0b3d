import "./css/tokens.css";
import "./css/base.css";
import "./css/bar.css";
import "./css/page.css";
import "./css/robots.css";
import "./css/map.css";
import "./css/drive.css";
import "./css/teaching.css";
import "./css/plots.css";
import "./css/captures.css";
import "./css/sheet.css";
import "./css/phone.css";
import { mount } from "svelte";
import App from "./App.svelte";

const target = document.getElementById("app");
if (target) mount(App, { target });
