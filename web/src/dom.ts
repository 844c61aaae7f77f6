// Elements, made in one call.

type Child = Node | string;
type Attributes = Record<string, string>;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** A section of the page under a heading. */
export function section(id: string, title: string, ...children: Child[]): HTMLElement {
  return el("section", { "aria-labelledby": id }, el("h2", { id }, title), ...children);
}

/** A button that copies the text. */
export function copies(text: string): HTMLElement {
  const button = el("button", { type: "button", class: "copy" }, "Copy");
  button.addEventListener("click", () => {
    const copied = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error("this page may not write to the clipboard"));
    copied.then(() => (button.textContent = "Copied"), () => (button.textContent = "Not copied: select the text"));
  });
  return button;
}

/** Buttons of which one is pressed. */
export function choice<T extends string>(
  label: string,
  options: readonly { value: T; label: string }[],
  pick: (value: T) => void,
): HTMLElement {
  const buttons = options.map(({ value, label }, i) => {
    const button = el("button", { type: "button", "aria-pressed": String(i === 0) }, label);
    button.addEventListener("click", () => {
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
      pick(value);
    });
    return button;
  });
  return el("div", { class: "choice", role: "group", "aria-label": label }, ...buttons);
}
