# lathe-bench generate as a user meets it: bench_generate.sh COMMAND. SPDX-License-Identifier: BSD-3-Clause
lathe=$1
. "$(dirname "$0")/lib.sh"

bench 0 generate --quick --samples 2 --realizations 2 --json
is_json "$work/out"
for key in '"commit"' '"layers"' '"precisions"' '"one_step_error"' '"realizations"' '"arithmetic"'; do says out "$key"; done
if command -v python3 >/dev/null 2>&1; then
    python3 - "$work/out" <<'PY' || fail "$last: an error is above its limit"
import json, sys
r = json.load(open(sys.argv[1]))
sys.exit(not (len(r["precisions"]) == 4 and all(0 < p["one_step_error"] <= p["error_limit"] for p in r["precisions"]) and len(r["layers"]) == 9))
PY
fi

bench 0 generate --quick --flat --samples 2 --json
is_json "$work/out"
[ "$(grep -c '"ratio_of_processor_time"' "$work/out")" -eq 12 ] || fail "$last: not two grids of six numbers of realizations"

bench 0 generate --quick --samples 1 --realizations 1 --ablate --quiet
says out "packed_weights"
says out "Cost per realization"

echo '{"peer": "test", "rows": [{"name": "float32_eager", "seconds": 1}, {"name": "float32_best", "seconds": 0.5}]}' >"$work/peer.json"
bench 0 generate --quick --samples 1 --peer "$work/peer.json" --json
says out '"torch_eager_ratio"'
bench 0 generate --quick --accuracy 6 --ks 40 --json
is_json "$work/out"
if command -v python3 >/dev/null 2>&1; then
    python3 - "$work/out" <<'PY' || fail "$last: not what was asked for"
import json, sys
r = json.load(open(sys.argv[1]))
errors, pairs = r["one_step_errors"], r["distributions"]
sys.exit(not (r["judged"] == 173 and r["operators"] == 6 and len(errors) == 8 and all(0 < e["median"] <= e["worst"] <= e["limit"] and e["good"] for e in errors)
              and r["columns"] == 393 and len(pairs) == 6 and all(0 < p["distance"] < 1 and p["corrected_p"] > 0.001 and p["good"] for p in pairs)))
PY
fi

bench 0 generate --checksum --json
is_json "$work/out"
[ "$(grep -c '"checksum": "[0-9a-f]\{16\}"' "$work/out")" -eq 4 ] || fail "$last: not four checksums"
bench 2 generate --samples 0
says err "samples"
bench 2 generate --quick --peer "$work/none.json"
says err "none.json"

finish
