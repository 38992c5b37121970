#!/bin/sh
# Datasets in the formats of other programs: export.sh LATHE. SPDX-License-Identifier: BSD-3-Clause
set -u
lathe=$1 python=${LATHE_TEST_PYTHON:-python3}
. "$(dirname "$0")/lib.sh"

cat >"$work/c.yaml" <<'YAML'
metadata: {name: exported}
parameter_space:
  architecture: {num_layers: {type: integer, bounds: [1, 2]}, base_channels: {type: integer, bounds: [2, 3]}, kernel_size: {type: choice, choices: [1]}}
  stochastic: {noise_type: {type: choice, choices: [gaussian, laplace]}, noise_scale: {type: continuous, bounds: [0.01, 0.1], log_scale: true}}
  operator: {normalization: {type: choice, choices: [none]}, grid_size: {type: choice, choices: [8, 16]}}
sampling: {total_samples: 10, batch_size: 5, sobol: {seed: 3}}
simulation: {device: cpu, num_realizations: 2, num_timesteps: 5, input_generation: {method: sampled, ic_type_weights: {structured: 0.5, localized: 0.5}}}
dataset: {output_path: x.h5, storage: {chunk_size: 4, store_trajectories: true}}
YAML
if ! "$lathe" generate --config "$work/c.yaml" --output "$work/a.h5" --quiet >"$work/out" 2>"$work/err" && grep -q "built without" "$work/err"; then
    echo "this lathe was $(grep -o 'built without [A-Za-z0-9]*' "$work/err")"
    exit 77
fi
run 0 export "$work/a.h5" --zarr "$work/a.zarr" --npz "$work/a.npz" --the-well "$work/a.well.h5"; says out "15 arrays"; says out "on smaller grids left out"
run 0 export "$work/a.h5" --npz "$work/some.npz" --arrays parameters,summary.per_trajectory,/status/code --json; is_json "$work/out"; says out '"arrays": 3'
run 0 export "$work/a.h5" --npz "$work/same.npz" --zarr "$work/same.zarr/"; cmp -s "$work/a.npz" "$work/same.npz" || fail "$last: other bytes the second time"
diff -r "$work/a.zarr" "$work/same.zarr" >/dev/null || fail "$last: another group the second time"

# A file of another program: types, chunks that no box of ours follows, arrays larger than a box, names that lead out of a folder.
"$python" - "$work/f.h5" <<'PY' >"$work/py" 2>&1 && foreign=0 || foreign=$?
import sys
try:
    import h5py, numpy as np
except ImportError:
    sys.exit(77)
rng = np.random.default_rng(0)
f = h5py.File(sys.argv[1], "w")
f["parameters/params"] = rng.random((5, 3), dtype=np.float32)
f.create_dataset("outputs/fields", data=rng.standard_normal((5, 3, 200, 3, 32, 32), dtype=np.float32), chunks=(2, 2, 7, 3, 32, 32))
f.create_dataset("inputs/fields", data=rng.standard_normal((5, 3, 32, 32)).astype(np.float16), chunks=(3, 2, 5, 32), compression="gzip")
for i, kind in enumerate(("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f8", ">f4", ">i2")):
    f.create_dataset(f"extra/a{i}", data=(rng.random((7, 300)) * 100).astype(kind), chunks=(2, 128))
f["extra/truth"] = np.array([True, False])
f["extra/scalar"] = 3.5
f["zarr.json"] = f["extra/zarr.json"] = np.zeros(5, np.float32) # files of the group itself have this name: left out
f["extra/big"] = rng.standard_normal((3, 1500000))
group = f["extra"]
h5py.h5d.create(group.id, b"up", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple((2,)))
f.move("extra/up", "extra/dots")
PY
[ "$foreign" -ne 0 ] || run 0 export "$work/f.h5" --npz "$work/f.npz" --zarr "$work/f.zarr" --the-well "$work/f.well.h5"

cat >"$work/check.py" <<'PY'
import json, sys
try:
    import h5py, numpy as np
except ImportError:
    sys.exit(77)
base, kind = sys.argv[1:]
f = h5py.File(base + ".h5")
arrays = {}
f.visititems(lambda name, o: arrays.update({name: o}) if isinstance(o, h5py.Dataset) and o.ndim and o.dtype != bool and not name.endswith("zarr.json") else None)
def values(name):
    return arrays[name].asstr()[...] if arrays[name].dtype.kind == "O" else arrays[name][...]
def compare(name, got):
    want = values(name)
    assert got.shape == want.shape and np.array_equal(got, want, equal_nan=want.dtype.kind == "f"), name
    if want.dtype.kind != "O":
        assert got.dtype == (np.float32 if want.dtype == np.float16 else want.dtype.newbyteorder("=")), (name, got.dtype, want.dtype)
if kind == "npz":
    n = np.load(base + ".npz")
    names = {k for k in n.files if not k.endswith(".columns") and k != "info"}
    assert names == set(arrays), names ^ set(arrays)
    for name in arrays:
        compare(name, n[name])
        if name + ".columns" in n.files:
            stored = f[name].attrs["column_names"] if "column_names" in f[name].attrs else f["parameters"].attrs["dimension_names"]
            assert list(n[name + ".columns"]) == [s if isinstance(s, str) else s.decode() for s in stored], name
    assert json.loads(str(n["info"]))["rows"] == f["parameters/params"].shape[0]
elif kind == "zarr":
    try:
        import zarr
    except ImportError:
        sys.exit(77)
    if int(zarr.__version__.split(".")[0]) < 3:
        sys.exit(77)
    z = zarr.open_group(base + ".zarr", mode="r")
    assert z.metadata.zarr_format == 3
    found = {name for name, _ in ((k, v) for k, v in z.members(max_depth=None) if isinstance(v, zarr.Array))}
    assert found == set(arrays), found ^ set(arrays)
    for name in arrays:
        compare(name, z[name][...])
        assert len(z[name].metadata.dimension_names) == z[name].ndim
    assert z.attrs["rows"] == f["parameters/params"].shape[0]
    try:
        import xarray
        xarray.open_zarr(base + ".zarr", group="status", consolidated=False) if "status" in z else None
    except ImportError:
        pass
else:
    w = h5py.File(base + ".well.h5")
    o = f["outputs/fields"]
    N, M, T, C, G, _ = o.shape
    done = f["status/code"][...] == 1 if "status/code" in f else np.ones(N, bool)
    if "metadata/grid_sizes" in f:
        done &= f["metadata/grid_sizes"][...] == G
    rows = np.flatnonzero(done)
    B = len(rows) * M
    assert w.attrs["n_trajectories"] == B and w.attrs["n_spatial_dims"] == 2 and w.attrs["grid_type"] == "cartesian"
    assert list(w["dimensions"].attrs["spatial_dims"]) == ["y", "x"] and w["dimensions/time"].shape == (T,) and w["dimensions/x"].shape == w["dimensions/y"].shape == (G,)
    assert list(w["t0_fields"].attrs["field_names"]) == [f"channel_{c}" for c in range(3)]
    for c in range(3):
        field = w[f"t0_fields/channel_{c}"]
        assert field.dtype == np.float32 and np.array_equal(field[...], o[...][rows][:, :, :, c].reshape(B, T, G, G))
        assert field.attrs["sample_varying"] and field.attrs["time_varying"] and field.attrs["dim_varying"].tolist() == [True, True]
    assert len(w["t1_fields"].attrs["field_names"]) == len(w["t2_fields"].attrs["field_names"]) == 0
    assert w["scalars/operator"][...].tolist() == np.repeat(rows, M).tolist() and w["scalars/realization"][...].tolist() == list(range(M)) * len(rows)
    assert set(w["scalars"]) == set(w["scalars"].attrs["field_names"])
    for axis in "yx":
        wall = w[f"boundary_conditions/{axis}_wall"]
        assert wall.attrs["bc_type"] == "WALL" and list(wall.attrs["associated_dims"]) == [axis] and np.flatnonzero(wall["mask"][...]).tolist() == [0, G - 1]
    if "metadata/config" not in f and "engine_version" in f.attrs:
        u = f["parameters/params"][...][rows]
        names = list(f["parameters"].attrs["dimension_names"])
        scale = 10.0 ** (-2 + u[:, names.index("noise_scale")].astype(float))
        assert np.allclose(w["scalars/noise_scale"][...], np.repeat(scale, M), rtol=1e-5)
        assert list(w["scalars/noise_type"].attrs["choices"]) == ["gaussian", "laplace"]
        assert w["scalars/noise_type"][...].tolist() == np.repeat((u[:, names.index("noise_type")] >= 0.5).astype(float), M).tolist()
PY
check() { # check BASE KIND
    "$python" "$work/check.py" "$work/$1" "$2" >"$work/py" 2>&1 && got=0 || got=$?
    case $got in 0) ;; 77) echo "no package reads $2: $1 was not compared" ;; *) fail "$1 $2: $(tail -n 1 "$work/py")" ;; esac
}
for kind in npz zarr well; do
    check a $kind
    [ "$foreign" -ne 0 ] || check f $kind
done

# Bad input: a sentence, and nothing is left.
run 2 export "$work/a.h5"; says err "as what?"
run 2 export "$work/a.h5" --npz "$work/a.h5"
run 2 export "$work/a.h5" --the-well "$work/a.h5"
run 2 export "$work/a.h5" --npz "$work/x" --the-well "$work/x"; says err "they must differ"
run 2 export "$work/a.h5" --zarr "$work/x" --npz "$work/x"
run 2 export "$work/a.h5" --zarr "$work/a.zarr"; says err "exists already"
run 2 export "$work/a.h5" --zarr "$work/c.yaml"; says err "exists already"
run 2 export "$work/a.h5" --zarr "$work/none/x.zarr"
run 2 export "$work/a.h5" --npz "$work/x.npz" --arrays sumary; says err "no array 'sumary'"
run 2 export "$work/a.h5" --the-well "$work/x.h5" --arrays summary; says err "--arrays chooses for"
run 2 export "$work/none.h5" --npz "$work/x.npz"
run 2 export "$work/c.yaml" --zarr "$work/x.zarr"
run 2 export --npz "$work/x.npz"
sed 's/store_trajectories: true/store_trajectories: false/; s/total_samples: 10/total_samples: 2/; s/batch_size: 5/batch_size: 2/' "$work/c.yaml" >"$work/n.yaml"
run 0 generate --config "$work/n.yaml" --output "$work/n.h5" --quiet
run 2 export "$work/n.h5" --the-well "$work/x.h5"; says err "store_trajectories"
head -c 20000 "$work/a.h5" >"$work/cut.h5"
run 2 export "$work/cut.h5" --npz "$work/x.npz"
for option in npz the-well zarr; do
    (ulimit -f 8; exec "$lathe" export "$work/a.h5" --$option "$work/x.$option") >"$work/out" 2>"$work/err" && got=0 || got=$?
    [ "$got" -eq 1 ] || fail "no room for --$option: status $got: $(cat "$work/err")"
done
ls "$work" | grep -q '^x\|\.tmp$' && fail "left: $(ls "$work")"

# What a killed process left goes with the next export of that name; a living one keeps what it writes.
mkdir "$work/k.zarr.lathe-0.tmp" "$work/k.zarr.lathe-0.tmp/c"
echo half >"$work/k.zarr.lathe-0.tmp/c/0"
run 0 export "$work/a.h5" --zarr "$work/k.zarr"
[ ! -e "$work/k.zarr.lathe-0.tmp" ] && [ ! -e "$work/k.zarr/c" ] || fail "$last: the leftover stays"
for i in 1 2 3 4; do "$lathe" export "$work/a.h5" --zarr "$work/race.zarr" >"$work/race.$i" 2>&1 & eval "p$i=$!"; done
won=0
for i in 1 2 3 4; do eval "wait \$p$i" && won=$((won + 1)); done
[ "$won" -eq 1 ] || fail "four processes on one folder: $won succeeded"
diff -r "$work/a.zarr" "$work/race.zarr" >/dev/null || fail "four processes on one folder: another group than one makes"
ls "$work" | grep -q 'tmp$' && fail "four processes on one folder left: $(ls "$work" | grep 'tmp$')"
if [ "$foreign" -eq 0 ]; then
    for option in npz zarr the-well; do
        "$lathe" export "$work/f.h5" --$option "$work/killed.$option" >/dev/null 2>&1 &
        killed=$!
        tries=0
        until ls "$work" | grep -q "^killed.$option.lathe" || [ $tries -gt 500 ]; do sleep 0.01; tries=$((tries + 1)); done
        kill -9 $killed 2>/dev/null
        wait $killed 2>/dev/null
        [ -e "$work/killed.$option" ] && continue # it was faster
        run 0 export "$work/f.h5" --$option "$work/killed.$option"
        ls "$work" | grep -q "^killed.*tmp$" && fail "$last: the leftover stays"
    done
fi
finish
