// Light and dark: the system's choice, unless the reader makes one. Print is always light.

import { el } from "./dom";

export interface Colours {
  text: string;
  faint: string;
  grid: string;
  panel: string;
  bad: string;
  warn: string;
  gap: string;
  /** Colours of schemes and servers, with a contrast of at least 3:1 to the background. */
  series: readonly string[];
  /** From a short queue to a full buffer. */
  heat: readonly string[];
}

const LIGHT: Colours = {
  text: "#1c2430",
  faint: "#566072",
  grid: "#e4e8ee",
  panel: "#ffffff",
  bad: "#c1272d",
  warn: "#9a5b00",
  gap: "rgba(193, 39, 45, 0.10)",
  series: ["#1f66c9", "#c8500f", "#0d7d5c", "#8a3fb5", "#8a6a00", "#0b7a92", "#bd2468", "#4c5566"],
  heat: ["#dae5f2", "#aecbec", "#f6d58a", "#f0a04a", "#d9532f", "#7d1228"],
};

const DARK: Colours = {
  text: "#e6eaf0",
  faint: "#9aa6b8",
  grid: "#2a3340",
  panel: "#171d26",
  bad: "#ff7a78",
  warn: "#f0b44c",
  gap: "rgba(255, 122, 120, 0.16)",
  series: ["#6db0ff", "#ff9a5c", "#4bcf9f", "#cf9bf5", "#e3c04a", "#55cbe0", "#ff8db6", "#aeb8c6"],
  heat: ["#223044", "#2d4f7c", "#7a5b1e", "#bf7420", "#ee6a42", "#ffd9c2"],
};

const system = matchMedia("(prefers-color-scheme: dark)");
const print = matchMedia("print");
const KEPT = "theme";
let chosen = kept();
let printing = false;
const listeners: (() => void)[] = [];

export function dark(): boolean {
  return !printing && !print.matches && (chosen ?? (system.matches ? "dark" : "light")) === "dark";
}

export function colours(): Colours {
  return dark() ? DARK : LIGHT;
}

/** The choice that the browser keeps; some keep nothing for files. */
function kept(): "light" | "dark" | undefined {
  try {
    const theme = localStorage.getItem(KEPT);
    return theme === "light" || theme === "dark" ? theme : undefined;
  } catch {
    return undefined;
  }
}

function keep(theme: string): void {
  try {
    localStorage.setItem(KEPT, theme);
  } catch {
    // The choice holds for this page.
  }
}

/** Calls back whenever colours change. */
export function onTheme(listener: () => void): void {
  listeners.push(listener);
}

function apply(): void {
  document.documentElement.dataset["theme"] = dark() ? "dark" : "light";
  for (const listener of listeners) listener();
}

/** Follows the system, the printer and the button that this makes. */
export function themeButton(): HTMLButtonElement {
  const button = el("button", { type: "button", class: "theme" });
  const label = () => {
    button.textContent = dark() ? "Light" : "Dark";
    button.setAttribute("aria-label", dark() ? "Show in light colours" : "Show in dark colours");
  };
  button.addEventListener("click", () => {
    chosen = dark() ? "light" : "dark";
    keep(chosen);
    apply();
  });
  system.addEventListener("change", apply);
  print.addEventListener("change", apply);
  addEventListener("beforeprint", () => ((printing = true), apply()));
  addEventListener("afterprint", () => ((printing = false), apply()));
  onTheme(label);
  apply();
  return button;
}
