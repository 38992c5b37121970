#!/bin/sh
# A dataset as h5py and NumPy see it: dataset_python.sh LATHE. SPDX-License-Identifier: BSD-3-Clause
set -u
lathe=$1
. "$(dirname "$0")/lib.sh"
python=${LATHE_TEST_PYTHON:-python3}
"$python" -c 'import h5py, numpy' 2>/dev/null || { echo "no Python with h5py and NumPy"; exit 77; }
config=$(dirname "$0")/../../examples/configs/small_cpu.yaml
"$lathe" generate --config "$config" --output "$work/a.h5" --total-samples 6 --num-realizations 2 --quiet >"$work/out" 2>"$work/err" || {
    grep -q "built without" "$work/err" && { cat "$work/err"; exit 77; }
    cat "$work/err"
    exit 1
}
printf 'dataset: {storage: {store_trajectories: true, compression: lzf, chunk_size: 4}}\n' >"$work/over.yaml"
run 0 generate --config "$config" --merge "$work/over.yaml" --output "$work/t.h5" --total-samples 6 --num-realizations 2 --quiet
run 0 replay "$work/a.h5" --index 4 --out "$work/r.h5" --weights-out "$work/w.npz"
cat >"$work/look.py" <<'PYTHON'
import json, sys, h5py, numpy as np
folder = sys.argv[1]
f = h5py.File(folder + "/a.h5")
want = {  # path: shape, dtype, chunk, compression
    "metadata/ic_types": ((6,), "O", (6,), None), "metadata/evolution_policies": ((6,), "O", (6,), None),
    "metadata/noise_regimes": ((6,), "O", (6,), None), "metadata/grid_sizes": ((6,), "int32", (6,), None),
    "parameters/params": ((6, 9), "float32", (6, 9), "gzip"), "inputs/fields": ((6, 3, 32, 32), "float32", (6, 3, 32, 32), "gzip"),
    "features/temporal/features": ((6, 50, 63), "float32", (6, 50, 63), "gzip"),
    "features/summary/per_trajectory/features": ((6, 2, 110), "float32", (6, 2, 110), "gzip"),
    "features/summary/aggregated/features": ((6, 330), "float32", (6, 330), "gzip"),
    "features/summary/aggregated/metadata/extraction_time": ((6,), "float64", (6,), None),
    "features/initial/aggregated/features": ((6, 14), "float32", (6, 14), "gzip"),
    "features/architecture/aggregated/features": ((6, 9), "float32", (6, 9), "gzip"),
    "status/code": ((6,), "uint8", None, None), "status/step": ((6,), "int32", None, None), "status/seconds": ((6,), "float32", None, None),
}
for path, (shape, dtype, chunk, compression) in want.items():
    d = f[path]
    assert (d.shape, d.dtype, d.chunks, d.compression) == (shape, np.dtype(dtype), chunk, compression), (path, d.shape, d.dtype, d.chunks, d.compression)
    assert d.maxshape == d.shape, path
m = f["metadata"].attrs
assert m["version"] == "1.0" and m["num_realizations"] == 2 and m["num_parameter_sets"] == 6 and m["grid_size"] == 32 and bool(m["track_ic_metadata"])
config = json.loads(m["config"])
assert config["parameter_space"]["architecture"]["num_layers"]["bounds"] == [2, 4]
metrics = json.loads(m["sampling_metrics"])
assert metrics["sampler_type"] == "StratifiedSobol" and metrics["n_samples"] == 6
assert json.loads(f.attrs["metadata"])["sampling_metrics"] == metrics
assert f.attrs["seed"] == 1 and f.attrs["precision"] == "float32"
assert bool(f["outputs"].attrs["feature_only_mode"]) and "note" in f["outputs"].attrs
s = f["features/summary"].attrs
registry = json.loads(s["feature_registry"])
assert s["num_features"] == 183 == sum(map(len, registry.values())) and registry["spatial"]["spatial_mean"] == 0
assert registry["causality"]["causality_pred_error_diff_lag1"] == 116 and registry["causality"]["causality_pred_error_ratio_lag2"] == 117
assert json.loads(s["extraction_config"])["realization_aggregation"] == ["mean", "std", "cv"]
assert json.loads(f["features"].attrs["family_versions"]) == {"temporal": "1.0.0", "summary": "1.0.0"}
names = f["features/temporal/features"].attrs["column_names"]
assert len(names) == 63 and names[0] == "spatial_mean" and names[62] == "cross_channel_mi_max", names[:2]
assert f["features/initial/aggregated/features"].attrs["feature_names"][0] == b"ic_spatial_cluster_count"
assert list(f["parameters"].attrs["dimension_names"])[0] == "num_layers" and f["parameters/vectors"] == f["parameters/params"]
assert (f["status/code"][:] == 1).all() and (f["status/step"][:] == 49).all()
for path in want:
    if path.startswith("features/"): assert np.isfinite(f[path][:]).all(), path
assert ((f["parameters/params"][:] >= 0) & (f["parameters/params"][:] < 1)).all()
t = h5py.File(folder + "/t.h5")
o = t["outputs/fields"]
assert o.shape == (6, 2, 50, 3, 32, 32) and o.chunks == (4, 1, 1, 3, 32, 32) and o.compression == "lzf", (o.shape, o.chunks, o.compression)
assert np.array_equal(o[:, 0, 0], t["inputs/fields"][:]) and np.isfinite(o[:]).all()
for path in want:
    if path.startswith(("features/", "parameters/", "inputs/")): assert np.array_equal(f[path][:], t[path][:]), path
assert np.array_equal(h5py.File(folder + "/r.h5")["outputs/fields"][0], o[4])
# The first features, from the states, by NumPy in double precision
x = o[:].astype(np.float64)
assert np.allclose(x.mean(axis=(-1, -2)).mean(axis=(1, 3)), f["features/temporal/features"][:, :, 0], rtol=1e-5, atol=1e-6)
assert np.allclose(x.var(axis=(-1, -2), ddof=1).mean(axis=(1, 3)), f["features/temporal/features"][:, :, 1], rtol=1e-4)
w = np.load(folder + "/w.npz")
assert w["stem.weight"].dtype == np.float32 and w["stem.weight"].ndim == 4 and w["output.bias"].shape == (3,)
PYTHON
"$python" "$work/look.py" "$work" 2>"$work/look" || { fail "h5py: $(tail -n 2 "$work/look")"; cat "$work/look"; }
# What is wrong in a file is found, and all of it reported, also as JSON
"$python" - "$work" <<'PYTHON'
import shutil, sys, h5py, numpy as np
folder = sys.argv[1]
def drop(f): del f["features/summary/aggregated/features"]
def shorten(f):
    x = f["inputs/fields"][:4]
    del f["inputs/fields"]
    f["inputs/fields"] = x
def state(f): f["status/code"][3] = 9
def not_finite(f): f["features/temporal/features"][2, 3, 4] = np.nan
def config(f): f["metadata"].attrs["config"] = '{"a":'
for change in (drop, shorten, state, not_finite, config):
    shutil.copy(folder + "/a.h5", f"{folder}/{change.__name__}.h5")
    with h5py.File(f"{folder}/{change.__name__}.h5", "r+") as f: change(f)
PYTHON
run 0 validate "$work/a.h5" --check-metadata; says out "the arrays that the configuration gives"
run 1 validate "$work/drop.h5" --check-metadata; says out "/features/summary/aggregated/features is missing: the configuration gives it 330 columns"
run 2 validate "$work/shorten.h5"; says err "/inputs/fields is float32 [4, 3, 32, 32], expected numbers [6, 3, G, G]"
run 1 validate "$work/state.h5"; says out "1 rows have a state that is none"
run 1 validate "$work/config.h5"; says out "does not load"; grep -q "(src/" "$work/out" && fail "$last: names a place in the source"
run 1 validate "$work/not_finite.h5" --json; is_json "$work/out"; says out '"findings"'; says out "1 values not finite in 1 of 63 columns"; says out '"errors": 1'
finish
