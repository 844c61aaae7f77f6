// The header of every page, with a button for light and dark colours; and a button at each code block that copies it.

import { el } from "../src/dom";
import { themeButton } from "../src/theme";

document.querySelector("header")?.append(themeButton());

for (const code of document.querySelectorAll<HTMLElement>("main pre > code")) {
  const button = el("button", { type: "button" }, "Copy");
  button.addEventListener("click", () => {
    void navigator.clipboard?.writeText(code.textContent ?? "").then(() => (button.textContent = "Copied"));
  });
  const next = code.parentElement?.nextElementSibling;
  if (next?.classList.contains("of-code")) next.append(button);
  else code.parentElement?.after(el("p", { class: "of-code" }, button));
}
