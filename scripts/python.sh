#!/bin/sh
# Builds the Python package's wheel once, holds it to the stable ABI, types and style, tests it beside the program, and looks at it in a
# fresh environment of every CPython from 3.10 on that is found. Missing tools are installed under target/python first; `tools` does only that.
# `build` builds and installs alone, for measurements. `quick` is the part of `make test`: built like its tests, and without the slow parts
# (Dask, notebooks, comparison of files with the program's, Ctrl-C by the clock). If its tools cannot be installed, it prints the reason
# and passes.
set -eu
cd "$(dirname "$0")/.."
what=${1:-}
scripts/setup.sh rust python
root=$PWD/target/python
tools=$root/tools
log=$root/log
mkdir -p "$root"

quietly() {
    "$@" >"$log" 2>&1 || { cat "$log" >&2; echo "python: failed: $*" >&2; exit 1; }
}

# The tools' environment, rebuilt if its requirements have changed.
if ! cmp -s python/requirements-test.txt "$root/installed"; then
    echo "python: installing what its tests need" >&2
    rm -rf "$tools"
    python3 -m venv "$tools"
    if ! "$tools/bin/python" -m pip install --disable-pip-version-check --requirement python/requirements-test.txt >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        # In CI a check that cannot run has failed.
        [ "$what" = quick ] && [ -z "${CI:-}" ] || exit 1
        echo "skipped: the Python package's tests, for the reason above"
        exit 0
    fi
    cp python/requirements-test.txt "$root/installed"
fi
[ "$what" != tools ] || exit 0
PATH=$tools/bin:$PATH
export CARGO_TARGET_DIR="$root/cargo"
[ "$what" != quick ] || CARGO_TARGET_DIR=$PWD/target

rm -rf "$root/wheels"
as="--release"
[ "$what" != quick ] || as="--features as-tested"
# shellcheck disable=SC2086 # they are words
quietly maturin build $as --locked --manifest-path python/Cargo.toml --out "$root/wheels"
wheel=$(ls "$root"/wheels/*.whl)
quietly python -m pip install --disable-pip-version-check --no-deps --force-reinstall "$wheel"
[ "$what" != build ] || exit 0

ruff check --quiet --config python/pyproject.toml python bench/python
ruff format --quiet --config python/pyproject.toml --check python bench/python
(cd python && mypy)
quietly abi3audit --strict "$wheel"
python python/scripts/sections.py --check
tests=python/tests
[ "$what" != quick ] || tests="python/tests/test_executors.py python/tests/test_laws.py python/tests/test_limit.py python/tests/test_program.py python/tests/test_results.py python/tests/test_scenarios.py python/tests/test_transports.py"
# shellcheck disable=SC2086 # they are words
FANIN=${FANIN:-$PWD/target/release/fanin} python -m pytest --quiet -p no:cacheprovider $tests

# Every CPython from 3.10 on: those that are called python3.N, and pyenv's.
seen=
for python in $(ls -d "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3 2>/dev/null || true) \
    $(for minor in 10 11 12 13 14 15; do command -v "python3.$minor" || true; done); do
    version=$("$python" -c 'import sys; print(*sys.version_info[:2], sep=".") if sys.version_info >= (3, 10) and sys.implementation.name == "cpython" else None' 2>/dev/null || true)
    case " $seen " in *" $version "*) continue ;; esac
    [ -n "$version" ] && [ "$version" != None ] || continue
    rm -rf "$root/fresh"
    "$python" -m venv --without-pip "$root/fresh" 2>/dev/null || continue
    quietly "$tools/bin/python" -m pip --python "$root/fresh/bin/python" install --disable-pip-version-check "$wheel"
    "$root/fresh/bin/python" python/scripts/first.py
    quietly "$root/fresh/bin/fanin" list
    seen="$seen $version"
done
rm -rf "$root/fresh"
echo "python: $(basename "$wheel") works on CPython$seen"
