// The scenario's text, with the problem at its line.

import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Problem } from "./workers";

/** Colours of the page's theme, which keep their contrast in light and dark. */
const COLOURS = HighlightStyle.define([
  { tag: [tags.string, tags.number, tags.bool, tags.atom], color: "var(--good)" },
  { tag: tags.comment, color: "var(--faint)" },
  { tag: [tags.bracket, tags.atom, tags.heading], color: "var(--accent)" },
]);

export class Editor {
  private readonly view: EditorView;
  /** Whether a change comes from the page. */
  private quiet = false;

  /** Calls back when the reader changes the text. */
  constructor(place: HTMLElement, text: string, changed: (text: string) => void) {
    // A shadow root lets the editor adopt its styles, which the page's content security policy forbids otherwise.
    const root = place.attachShadow({ mode: "open" });
    const listener = EditorView.updateListener.of((update) => {
      if (update.docChanged && !this.quiet) changed(this.text());
    });
    const label = EditorView.contentAttributes.of({ "aria-label": "Scenario as TOML", tabindex: "0" });
    const look = EditorView.theme({
      "&": { border: "1px solid var(--line)", borderRadius: "6px", background: "var(--panel)", color: "var(--text)" },
      ".cm-scroller": { font: "13px/1.5 ui-monospace, monospace", maxHeight: "28em", overflow: "auto" },
      ".cm-gutters": { background: "var(--ground)", color: "var(--faint)", border: "none" },
      // Before the editor is in view, its lines are not measured.
      ".cm-gutterElement:not(:first-child)": { minHeight: "19.5px" },
      ".cm-content": { caretColor: "var(--text)" },
    });
    const extensions = [lineNumbers(), history(), lintGutter(), StreamLanguage.define(toml), syntaxHighlighting(COLOURS), keymap.of([...defaultKeymap, ...historyKeymap]), listener, label, look];
    this.view = new EditorView({ root, parent: root as unknown as HTMLElement, state: EditorState.create({ doc: text, extensions }) });
  }

  text(): string {
    return this.view.state.doc.toString();
  }

  /** Replaces the text, which the reader can undo. */
  replace(text: string): void {
    if (text === this.text()) return;
    this.quiet = true;
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
    this.quiet = false;
  }

  /** Shows a problem at its line, or none. */
  show(problem: Problem | undefined): void {
    const doc = this.view.state.doc;
    const found: Diagnostic[] = [];
    if (problem && problem.line > 0 && problem.line <= doc.lines) {
      const { from, to } = doc.line(problem.line);
      found.push({ from, to, severity: "error", message: problem.what });
    }
    this.view.dispatch(setDiagnostics(this.view.state, found));
  }
}
