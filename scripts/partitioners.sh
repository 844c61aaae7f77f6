#!/bin/sh
# Installs partitioners from PyPI, for comparison with plans, in their own environment.
set -eu
venv=target/placement/venv
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -c 'import mtkahypar, pymetis' 2>/dev/null || "$venv/bin/pip" install --quiet mtkahypar pymetis
