#!/usr/bin/env python3
"""Checks that there are no import cycles between files of a crate: files in a cycle can only be understood and changed together. In a crate
with LAYERS, a module may import only modules below it.

An import is a path through `use`, `crate::`, `super::` or a module of the file's own; it leads to the file that declares what
it names, so that a re-export on the path (`pub use` in a `lib.rs`) is not part of the cycle. Unit tests do not count.
"""

import pathlib
import re
import sys
import tempfile

from rust import USE, uses, without_comments, without_tests

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The size of a strongly connected part without a cycle: a file by itself.
MOST = 1

# Modules of a crate from the lowest to the highest. Among crates, scripts/dependencies.py has the order.
LAYERS = {
    "core": "clock memory prediction server_error token tenants pulse",
    "observe": "collector metrics messages log exposition",
    "state": "handover incast shared",
    "daemon": "exposition running",
}

DECLARED = re.compile(r"^[ \t]*(?:pub(?:\([a-z: ]+\))?\s+)?mod\s+(\w+)\s*;", re.M)
PATH = re.compile(r"(?<![\w:])((?:crate|super|self|[a-z_][a-z0-9_]*)(?:::\w+)+)")


class Crate:
    """The files of a crate by the path of their module, their re-exports and their imports."""

    def __init__(self, sources):
        self.texts, self.files = {}, {}
        for file in sorted(sources.rglob("*.rs")):
            module = file.relative_to(sources).with_suffix("").parts
            if module == ("main",) and (sources / "lib.rs").exists():
                continue  # A crate of its own, which imports the library.
            module = module[:-1] if module[-1] in ("lib", "main", "mod") else module
            self.files[module] = file
            self.texts[module] = without_tests(without_comments(file.read_text()))
        self.children = {module: set(DECLARED.findall(text)) for module, text in self.texts.items()}
        self.passed_on = {module: dict(self.re_exports(module)) for module in self.texts}

    def re_exports(self, module):
        return ((name, path) for public, path, name in uses(self.texts[module]) if public)

    def absolute(self, module, path):
        """A path from the crate's root; None if it leads out of the crate."""
        path = list(path)
        if path[0] == "crate":
            return tuple(path[1:])
        if path[0] == "self":
            return module + tuple(path[1:])
        if path[0] == "super":
            while path and path[0] == "super":
                module, path = module[:-1], path[1:]
            return module + tuple(path)
        return module + tuple(path) if path[0] in self.children[module] else None

    def declared_in(self, path):
        """The module whose file declares the item of a path."""
        module = ()
        for i, part in enumerate(path):
            if part in self.children.get(module, ()) and module + (part,) in self.files:
                module += (part,)
            elif part in self.passed_on[module]:
                onward = self.absolute(module, self.passed_on[module][part])
                return None if onward is None else self.declared_in(onward + tuple(path[i + 1:]))
            else:
                break
        return module

    def imports(self, module):
        """The modules that a file imports from."""
        body = USE.sub("", self.texts[module])
        # A pure re-export is not a use.
        used = [path for public, path, name in uses(self.texts[module]) if not public or re.search(rf"\b{name}\b", body)]
        used += [tuple(path.split("::")) for path in PATH.findall(body)]
        absolute = (self.absolute(module, path) for path in used)
        return {self.declared_in(path) for path in absolute if path is not None} - {module, None}


def cycles(graph):
    """The strongly connected parts of a graph, after Tarjan."""
    number, low, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in number:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], number[other])
        if low[node] == number[node]:
            at = stack.index(node)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return found


def upward(crate, layers):
    """Imports from a module that is not below, as pairs of files; a module without a layer is above none and below none."""
    height = {name: number for number, name in enumerate(layers.split())}
    for module in crate.files:
        for other in crate.imports(module):
            if module and other and module[0] != other[0] and not height.get(other[0], len(height)) < height.get(module[0], -1):
                yield crate.files[module], crate.files[other]


# Circles that must be found: in a crate that is also a program, and through the name of a module.
PLANTED = {
    "lib.rs": "mod a;\nmod b;\nmod c;\n",
    "main.rs": "use planted::a;\nfn main() { a::a() }\n",
    "a.rs": "use crate::b;\npub fn a() { b::b() }\n",
    "b.rs": "pub fn b() { crate::a::a() }\n",
    "c/mod.rs": "mod d;\nmod e;\npub use d::Name;\npub fn f() { e::f() }\n",
    "c/d.rs": "use super::e;\npub struct Name;\npub fn d() { e::f() }\n",
    "c/e.rs": "use super::{Name, f as g};\npub fn f() { let _ = Name; g() }\n",
}


def finds_planted_circles():
    """Whether the circles of PLANTED are found."""
    with tempfile.TemporaryDirectory() as folder:
        sources = pathlib.Path(folder)
        for name, text in PLANTED.items():
            (sources / name).parent.mkdir(exist_ok=True)
            (sources / name).write_text(text)
        crate = Crate(sources)
        # `a` imports `b`, and `b` imports `a`.
        if len(list(upward(crate, "a b"))) != 1:
            return False
        found = cycles({module: crate.imports(module) for module in crate.files})
        return sorted(circle for circle in found if len(circle) > MOST) == [[("a",), ("b",)], [("c",), ("c", "d"), ("c", "e")]]


def main():
    if not finds_planted_circles():
        sys.exit("import cycles: the planted ones are not found, so nothing is known of others")
    files, wrong = 0, []
    for sources in sorted(ROOT.glob("crates/**/src")):
        crate, name = Crate(sources), sources.parent.name
        files += len(crate.files)
        for circle in cycles({module: crate.imports(module) for module in crate.files}):
            if len(circle) > MOST:
                names = " ".join(str(crate.files[module].relative_to(sources)) for module in circle)
                wrong.append(f"{name}: import cycle: {names}")
        for file, other in upward(crate, LAYERS[name]) if name in LAYERS else ():
            wrong.append(f"{file.relative_to(ROOT)} imports {other.relative_to(sources)}, which is not below it (LAYERS in scripts/import_cycles.py)")
    for line in wrong:
        print(f"import cycles: {line}")
    if wrong:
        sys.exit(1)
    print(f"import cycles: {files} files, no cycle")


if __name__ == "__main__":
    main()
