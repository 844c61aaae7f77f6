#!/bin/sh
# The partitioners that plans are held against, from PyPI, in an environment of their own.
set -eu
venv=target/placement/venv
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -c 'import mtkahypar, pymetis' 2>/dev/null || "$venv/bin/pip" install --quiet mtkahypar pymetis
