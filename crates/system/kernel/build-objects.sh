#!/bin/sh
# Builds the BPF objects into a folder: crates/system/kernel/objects unless another is named. Needs clang-16, llvm-strip-16 and the headers of
# libbpf (Debian: clang-16 llvm-16 libbpf-dev).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/objects}
clang=${CLANG:-clang-16}
strip=${LLVM_STRIP:-llvm-strip-16}
mkdir -p "$out"
cd "$here/bpf"
for source in *.bpf.c; do
    object=$out/${source%.c}.o
    # Paths do not reach the object, so that it is the same on every machine.
    "$clang" -O2 -g -Wall -Werror -Wno-unused-function -target bpf -mcpu=v3 -D__TARGET_ARCH_x86 \
        -I"/usr/include/$(uname -m)-linux-gnu" "-ffile-prefix-map=$here/bpf=." -c "$source" -o "$object"
    "$strip" -g "$object"
done
"$clang" --version | head -1 >"$out/COMPILER"
