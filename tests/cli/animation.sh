#!/bin/sh
# Videos without ffmpeg: animation.sh LATHE. SPDX-License-Identifier: BSD-3-Clause
set -u
lathe=$1
. "$(dirname "$0")/lib.sh"

sed -n '/^metadata:/,/^YAML/p' "$(dirname "$0")/generate.sh" | grep -v '^YAML' >"$work/c.yaml"
if ! "$lathe" generate --config "$work/c.yaml" --output "$work/a.h5" --total-samples 3 >"$work/out" 2>"$work/err" && grep -q "built without" "$work/err"; then
    echo "this lathe was $(grep -o 'built without [A-Za-z0-9]*' "$work/err")"
    exit 77
fi
"$lathe" visualize-dataset "$work/a.h5" --output "$work/v.png" --n-operators 2 --steps 6 --size 32x32 --fps 5 >"$work/out" 2>"$work/err" && got=0 || got=$?
grep -q "built without zlib" "$work/err" && { echo "this lathe was built without zlib"; exit 77; }
last="visualize-dataset"
[ "$got" -eq 0 ] || fail "$last: status $got: $(cat "$work/err")"
says out "v.png"
# Chunks in order, with their checksums, frames and sequence numbers as the format asks for
python3 - "$work/v.png" <<'EOF' >"$work/py" 2>&1 || fail "not an animated PNG: $(tail -n 1 "$work/py")"
import struct, sys, zlib
data = open(sys.argv[1], "rb").read()
assert data[:8] == b"\x89PNG\r\n\x1a\n"
at, names, sequence, sizes, frames = 8, [], [], None, 0
while at < len(data):
    n, name = struct.unpack(">I4s", data[at:at + 8])
    body = data[at + 8:at + 8 + n]
    assert struct.unpack(">I", data[at + 8 + n:at + 12 + n])[0] == zlib.crc32(name + body), name
    if name == b"IHDR": width, height = struct.unpack(">II", body[:8])
    if name == b"acTL": frames, plays = struct.unpack(">II", body)
    if name == b"fcTL":
        sequence.append(struct.unpack(">I", body[:4])[0])
        assert struct.unpack(">II", body[4:12]) == (width, height) and struct.unpack(">HH", body[20:24]) == (1, 5)
    if name == b"fdAT": sequence.append(struct.unpack(">I", body[:4])[0])
    if name in (b"IDAT", b"fdAT"):
        pixels = zlib.decompress(body if name == b"IDAT" else body[4:])
        assert len(pixels) == height * (1 + 3 * width) and len(set(pixels)) > 8
    names.append(name)
    at += 12 + n
assert names[:4] == [b"IHDR", b"acTL", b"fcTL", b"IDAT"] and names[-1] == b"IEND", names[:5]
assert frames == names.count(b"fcTL") == 6 and sequence == list(range(len(sequence))), (frames, sequence)
EOF
# Without ffmpeg frames stand in for a video, and where they are is a result, not a remark
(PATH=/nowhere; exec "$lathe" visualize-dataset "$work/a.h5" --output "$work/u.mp4" --n-operators 2 --steps 6 --size 32x32 --quiet) >"$work/out" 2>"$work/err" && got=0 || got=$?
[ "$got" -eq 0 ] && [ -e "$work/u_frames/frame_00005.png" ] || fail "no ffmpeg: status $got: $(cat "$work/err")"
says out "u_frames"
# No room: nothing is left, and a file that was there stays
cp "$work/v.png" "$work/w.png"
(ulimit -f 4; exec "$lathe" visualize-dataset "$work/a.h5" --output "$work/w.png" --n-operators 3 --steps 12 --size 128x128) >"$work/out" 2>"$work/err" && got=0 || got=$?
[ "$got" -eq 1 ] || fail "no room: status $got"
cmp -s "$work/v.png" "$work/w.png" || fail "no room: the old file was changed"
finish
