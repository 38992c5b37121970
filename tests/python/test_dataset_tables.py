"""Datasets as tables, tensors and files of other packages; splits, statistics, cards."""
import json
import multiprocessing
import pathlib
import pickle
import unittest

import harness
import lathe
import numpy as np
from lathe.data import columns, readers

CONFIG = pathlib.Path(__file__).parents[2] / "examples" / "configs" / "small_cpu.yaml"
ROWS = 8


def setUpModule():
    try:
        lathe.generate(CONFIG, "tables.h5", sampling={"total_samples": ROWS, "batch_size": 4}, simulation={"num_timesteps": 6, "num_realizations": 2})
    except lathe.UnsupportedError as error:
        raise unittest.SkipTest(str(error))


class Case(unittest.TestCase):
    def setUp(self):
        self.d = lathe.Dataset("tables.h5")
        self.addCleanup(self.d.close)


class Reading(Case):
    def test_rows_by_slices_lists_masks(self):
        lazy = self.d["/features/temporal/features"]
        whole = np.asarray(lazy)
        self.assertEqual(whole.shape, (ROWS, 6, 63))
        mask = np.arange(ROWS) % 3 == 0
        for index in (slice(None), slice(6, 1, -2), slice(3, 3), [5, 0, 5], np.array([-1, 2]), mask, 3, -1, (slice(1, 4), 2), ([4, 1], slice(None), 0), (Ellipsis, 0), np.int64(2)):
            np.testing.assert_array_equal(lazy[index], whole[index], err_msg=str(index))
        np.testing.assert_array_equal(np.stack(list(lazy)), whole)
        for index, message in ((ROWS, "row 8 of 8"), ([0, 9], "row 9 of 8"), (np.ones(3, bool), "a mask of 3"), ([0.5], "integers or truths")):
            with self.assertRaisesRegex(IndexError, message):
                lazy[index]

    def test_several_readers_give_what_one_gives(self):
        lazy = self.d["/features/temporal/features"]
        alone = np.asarray(lazy)
        kept, readers.BYTES_PER_READER = readers.BYTES_PER_READER, 1
        threads = lathe.get_threads()
        lathe.set_threads(3)
        try:
            np.testing.assert_array_equal(np.asarray(lazy), alone)
            np.testing.assert_array_equal(np.asarray(self.d["/status/row"]), np.arange(ROWS))
            self.assertEqual(sum(f is not None for f in self.d._readers().files), 3)
        finally:
            readers.BYTES_PER_READER = kept
            lathe.set_threads(threads)

    def test_operators_one_by_one_and_in_slices(self):
        one, some = self.d[5], self.d[4:7]
        self.assertEqual(set(one), set(some))
        for path, value in one.items():
            np.testing.assert_array_equal(value, some[path][1])
        listed = list(self.d)
        self.assertEqual(len(listed), ROWS)
        np.testing.assert_array_equal(listed[5]["/parameters/params"], one["/parameters/params"])
        self.assertEqual(listed[5]["/metadata/ic_types"], one["/metadata/ic_types"])
        self.assertIn("tables", lathe.Dataset("tables.h5")._repr_html_())
        self.assertIn("float32", self.d["/parameters/params"]._repr_html_())


class Features(Case):
    def test_structured_arrays(self):
        self.assertEqual(set(self.d.families()), {"summary", "summary.per_trajectory", "temporal", "initial", "architecture"})
        for family in self.d.families():
            path = columns.family_path(self.d, family)
            made, plain = self.d.features(family), np.asarray(self.d[path])
            self.assertEqual(made.shape, plain.shape[:-1])
            self.assertEqual(list(made.dtype.names), self.d.texts(path + "@column_names"))
            for i, name in enumerate(made.dtype.names):
                np.testing.assert_array_equal(made[name], plain[..., i])
        np.testing.assert_array_equal(self.d.features(rows=[3, 1])["energy_growth_rate_mean"], self.d.features()["energy_growth_rate_mean"][[3, 1]])
        with self.assertRaisesRegex(ValueError, "no features 'sumary'; it has .*summary"):
            self.d.features("sumary")

    def test_parameters_have_their_values(self):
        made = columns.parameters(self.d)
        self.assertEqual(made["update_policy"].tolist(), self.d["/metadata/evolution_policies"])
        self.assertEqual(made["grid_size"].tolist(), np.asarray(self.d["/metadata/grid_sizes"]).tolist())
        regimes = ["low" if s < 0.01 else "medium" if s < 0.1 else "high" for s in made["noise_scale"]]
        self.assertEqual(regimes, self.d["/metadata/noise_regimes"])
        self.assertTrue(((made["num_layers"] >= 2) & (made["num_layers"] <= 4)).all())
        thirds = {"type": "choice", "choices": ["a", "b", "c"], "weights": [0.3, 0.5, 0.2]}
        self.assertEqual(columns.mapped(thirds, [0, 0.29, 0.3, 0.5, 0.8, 0.9999, 1.0]).tolist(), list("aabbccc"))
        self.assertEqual(columns.mapped({"type": "integer", "bounds": [0, 5]}, [0.5, 0.7, 0.1]).tolist(), [2, 4, 0])
        self.assertEqual(columns.mapped({"type": "boolean"}, [0.5, 0.51]).tolist(), [False, True])
        self.assertEqual(columns.mapped({"type": "choice", "choices": ["x", 2]}, [0.1, 1.0]).tolist(), ["x", 2])

    @harness.needs("pandas")
    def test_frames(self):
        frame = self.d.features("temporal", frame=True)
        self.assertEqual(frame.index.names, ["operator", "step"])
        self.assertEqual(frame.shape, (ROWS * 6, 63))
        self.assertEqual(frame.loc[(3, 2), "spatial_mean"], self.d["/features/temporal/features"][3, 2, 0])
        self.assertEqual(self.d.features(rows=slice(2, 4), frame=True).index.tolist(), [2, 3])
        table = self.d.to_pandas()
        self.assertEqual(len(table), ROWS)
        self.assertEqual(set(table["status"]), {"done"})
        for name in ("parameters.noise_scale", "summary.energy_growth_rate_mean", "initial.ic_info_entropy", "metadata.ic_types", "status.code"):
            self.assertIn(name, table)
        np.testing.assert_array_equal(self.d.to_pandas(unit=True)["parameters.noise_scale"], self.d["/parameters/params"][:, 5])

    @harness.needs("pandas", "pyarrow")
    def test_parquet(self):
        import pandas
        self.d.to_parquet("table.parquet")
        pandas.testing.assert_frame_equal(pandas.read_parquet("table.parquet"), self.d.to_pandas())

    @harness.needs("zarr")
    def test_zarr(self):
        import zarr
        seen = []
        self.d.to_zarr("out.zarr", progress=lambda done, total: seen.append((done, total)))
        root = zarr.open_group("out.zarr", mode="r")
        self.assertEqual(seen[-1][0], seen[-1][1])
        np.testing.assert_array_equal(root["features/temporal/features"][...], np.asarray(self.d["features/temporal/features"]))
        self.assertEqual(root["metadata/ic_types"][...].tolist(), self.d["metadata/ic_types"])
        self.assertEqual(root["parameters/params"].attrs["column_names"][0], "num_layers")
        with self.assertRaisesRegex(OSError, "exists already"):
            self.d.to_zarr("out.zarr")

        def fails(done, total):
            raise LookupError("mine")
        with self.assertRaisesRegex(LookupError, "mine"):
            self.d.to_zarr("half.zarr", progress=fails)
        self.assertEqual(list(pathlib.Path().glob("half.zarr*")), [])

    @harness.needs("xarray")
    def test_xarray(self):
        made = self.d.to_xarray()
        self.assertEqual(made["features.temporal.features"].dims, ("operator", "step", "temporal.column"))
        self.assertEqual(made["inputs.fields"].dims, ("operator", "channel", "y", "x"))
        one = made["features.summary.aggregated.features"].sel({"operator": 3, "summary.column": "energy_growth_rate_mean"})
        self.assertEqual(float(one), float(self.d.features()["energy_growth_rate_mean"][3]))
        self.assertEqual(set(self.d.to_xarray(["summary"])), {"features.summary.aggregated.features"})

    def test_a_missing_package_is_named(self):
        code = """
import sys
for name in ("pandas", "pyarrow", "zarr", "xarray", "torch"): sys.modules[name] = None
import lathe
d = lathe.Dataset("tables.h5")
for call in (d.to_pandas, lambda: d.to_parquet("x"), lambda: d.to_zarr("x"), d.to_xarray, d.torch):
    try: call()
    except ImportError as e: print(e)
"""
        said = harness.run_code(code).splitlines()
        self.assertEqual([line.split("pip install ")[1] for line in said], ["pandas", "pyarrow", "zarr", "xarray", "torch"])


@harness.needs("torch")
class Torch(Case):
    def test_samples_are_rows(self):
        import torch
        made = self.d.torch()
        self.assertIsInstance(made, torch.utils.data.Dataset)
        self.assertEqual(len(made), ROWS)
        parameters, summary = made[3]
        np.testing.assert_array_equal(parameters.numpy(), self.d["/parameters/params"][3])
        np.testing.assert_array_equal(summary.numpy(), self.d["/features/summary/aggregated/features"][3])
        self.assertEqual(self.d.torch("inputs", rows=[6, 2])[0].shape, (3, 32, 32))
        self.assertEqual(self.d.torch("temporal", transform=lambda x: x.sum())[0].shape, ())
        for call, message in ((lambda: self.d.torch("nothing"), "no array 'nothing'"), (lambda: self.d.torch("/metadata/ic_types"), "texts"), (lambda: self.d.torch(normalize="so"), "normalize")):
            with self.assertRaisesRegex(ValueError, message):
                call()
        with self.assertRaises(IndexError):
            made[ROWS]

    def test_a_loader_with_several_workers(self):
        from torch.utils.data import DataLoader
        whole = np.asarray(self.d["/features/summary/aggregated/features"])
        for context in ("fork", "spawn"):
            loader = DataLoader(self.d.torch(), batch_size=3, num_workers=2, multiprocessing_context=multiprocessing.get_context(context))
            read = np.concatenate([batch[1].numpy() for batch in loader])
            np.testing.assert_array_equal(read, whole, err_msg=context)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(self.d.torch("summary")))[2].numpy(), whole[2])

    def test_normalised(self):
        rows = self.d.split(0.5, 0.25, 0.25).train
        made = self.d.torch("parameters", "inputs", rows=rows, normalize="standard")
        values = np.stack([made[i][0].numpy() for i in range(len(made))])
        np.testing.assert_allclose(values.mean(axis=0), 0, atol=1e-5)
        np.testing.assert_array_equal(made[0][1].numpy(), self.d["/inputs/fields"][rows[0]])
        other = self.d.torch("parameters", normalize=self.d.statistics(rows, save=False))
        np.testing.assert_allclose(other[int(rows[0])].numpy(), made[0][0].numpy())


class About(Case):
    def test_split(self):
        made = self.d.split(0.5, 0.25, 0.25, seed=4)
        self.assertEqual([len(p) for p in made], [4, 2, 2])
        self.assertEqual(sorted(np.concatenate(list(made))), list(range(ROWS)))
        again = self.d.split(0.5, 0.25, 0.25, seed=4)
        np.testing.assert_array_equal(made.train, again.train)
        self.assertNotEqual([p.tolist() for p in made], [p.tolist() for p in self.d.split(0.5, 0.25, 0.25, seed=5)])
        import hashlib
        order = sorted(range(ROWS), key=lambda r: hashlib.sha256(f"lathe split 4 {r}".encode()).digest())
        self.assertEqual(made.train.tolist(), sorted(order[:4]))
        self.assertEqual(made.val.tolist(), sorted(order[4:6]))
        self.assertEqual([len(p) for p in self.d.split(5, 2, 0)], [5, 2, 0])
        self.assertEqual([len(p) for p in self.d.split(status="failed")], [0, 0, 0])
        self.assertIn("SHA-256", made._repr_html_())
        self.d.split(seed=1, save=True)
        stored = json.loads(pathlib.Path("tables.h5.split.json").read_text())
        self.assertEqual(stored["train"], self.d.split(seed=1).train.tolist())
        for parts in ((0.9, 0.2, 0), (9, 0, 0), (-0.1, 0.5, 0.5), (0.0, 0.0, 0.0)):
            with self.assertRaisesRegex(ValueError, "split"):
                self.d.split(*parts)
        with self.assertRaisesRegex(ValueError, "status 'dun'"):
            self.d.split(status="dun")

    def test_a_stored_split_is_read(self):
        made = self.d.split(0.5, 0.25, 0.25, seed=7, stratify=True, save=True)
        found = self.d.stored_split()
        for a, b in zip(made, found):
            np.testing.assert_array_equal(a, b)
        self.assertEqual((found.seed, found.rule), (7, made.rule))
        self.assertIn("architecture", found.rule)
        path = pathlib.Path("tables.h5.split.json")
        good = path.read_text()
        for text, message in (("{", "not a split"), ('{"rows": 8}', "not a split"), (good.replace('"rows": 8', '"rows": 9'), "of 9 rows"), (good.replace('"train": [', '"train": [99,'), "of 8 rows")):
            pathlib.Path("bad.json").write_text(text)
            with self.assertRaisesRegex(ValueError, message):
                self.d.stored_split("bad.json")
        with self.assertRaisesRegex(OSError, "lathe split"):
            self.d.stored_split("none.json")

    def test_the_command_writes_what_python_computes(self):
        from lathe.__main__ import command
        try:
            lathe_command = command()
        except SystemExit as missing:
            raise unittest.SkipTest(str(missing))
        import subprocess
        train = self.d.split(seed=3).train
        expected = self.d.statistics(train, save=False)
        subprocess.run([lathe_command, "split", "tables.h5", "--seed", "3"], check=True, stdout=subprocess.DEVNULL)
        np.testing.assert_array_equal(self.d.stored_split().train, train)
        from lathe.data import statistics
        found = statistics.stored("tables.h5.statistics.json", statistics.origin(self.d, train))
        self.assertEqual(list(found), list(expected))
        for name, array in expected.items():
            self.assertEqual((found[name]["columns"], found[name]["count"]), (array["columns"], array["count"]))
            for field in ("mean", "std", "min", "max", "q25", "median", "q75", "robust"):
                a, b = (np.array(x[field], dtype=float) for x in (found[name], array))
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12 * max(1, np.nanmax(np.abs(b), initial=0)), err_msg=f"{name} {field}")

    def test_sizes_of_shares(self):
        for parts in ((0.8, 0.1, 0.1), (1 / 3, 1 / 3, 1 / 3), (0.99, 0.005, 0.005), (0.5, 0.0, 0.0), (0.0, 0.0, 1.0), (0.6, 0.3, 0.05)):
            for stratify in (False, True):
                sizes = [len(p) for p in self.d.split(*parts, stratify=stratify)]
                self.assertEqual(sum(sizes), round(sum(parts) * ROWS))
                self.assertTrue(all(abs(s - p * ROWS) < 1 for s, p in zip(sizes, parts)))

    def test_statistics(self):
        seen, stored = [], pathlib.Path("tables.h5.statistics.json")
        made = self.d.statistics(progress=lambda done, total: seen.append((done, total)))
        self.assertEqual(seen[-1], (6, 6))
        for name, path in {"parameters": "/parameters/params", **columns.families(self.d)}.items():
            values = np.asarray(self.d[path], dtype=np.float64).reshape(-1, self.d[path].shape[-1])
            for i in range(values.shape[1]):
                x = values[np.isfinite(values[:, i]), i]
                self.assertEqual(made[name]["count"][i], len(x))
                if not len(x):
                    self.assertIsNone(made[name]["mean"][i])
                    continue
                expected = (x.mean(), x.std(ddof=1), x.min(), x.max(), np.median(x), np.quantile(x, 0.25))
                got = [made[name][field][i] for field in ("mean", "std", "min", "max", "median", "q25")]
                np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9 * max(1e-300, np.abs(x).max()), err_msg=f"{name} {i}")
        seen.clear()
        self.assertEqual(self.d.statistics(progress=lambda *a: seen.append(a)), made)
        self.assertEqual(seen, [])
        some = self.d.statistics([1, 4, 4, 6], save=False)
        np.testing.assert_allclose(some["parameters"]["mean"], np.asarray(self.d["/parameters/params"])[[1, 4, 6]].mean(axis=0, dtype=float))
        self.assertEqual(json.loads(stored.read_text())["source"]["of_rows"], "all")
        stored.write_text("{")
        self.assertEqual(self.d.statistics(), made)
        self.assertIn("iframe", made._repr_html_())
        with self.assertRaisesRegex(ValueError, "no statistics of 'x'"):
            made.normalize("x", np.zeros(3))

    def test_statistics_of_many_blocks(self):
        from lathe.data import statistics

        class Made:
            shape, size = (100, 3), 300
            values = np.random.default_rng(0).normal([0, 1e6, -3], [1, 1e-2, 5], (100, 3))

            def blocks(self):
                return ((i, self.values[i:i + 7]) for i in range(0, 100, 7))
        Made.values[::10, 2] = np.nan
        made = statistics.of_array(Made(), None)
        np.testing.assert_allclose(made["std"], np.nanstd(Made.values, axis=0, ddof=1), rtol=1e-7)
        np.testing.assert_allclose(made["mean"], np.nanmean(Made.values, axis=0), rtol=1e-12)
        self.assertEqual(made["count"], [100, 100, 90])

    def test_card(self):
        text = self.d.card("card.md")
        self.assertEqual(pathlib.Path("card.md").read_text(), text)
        self.assertEqual(self.d.card(checksum=False), "\n".join(line for line in text.split("\n") if "SHA-256" not in line))
        import hashlib
        self.assertIn(hashlib.sha256(pathlib.Path("tables.h5").read_bytes()).hexdigest(), text)
        self.assertIn("| license | not stated |", text)
        self.assertIn("| license | CC0-1.0 |", self.d.card(license="CC0-1.0", checksum=False))
        for part in ("# small_cpu", "| operators | 8 |", "noise_scale | continuous | 0.001 to 0.1, logarithmic", "residual (0.75), convex (0.25)", "`/features/temporal/features` | 8 x 6 x 63", "| done | 8 |", '"num_timesteps": 6'):
            self.assertIn(part, text)
        self.assertEqual(text._repr_markdown_(), text)
        self.assertNotIn("1970", text)


if __name__ == "__main__":
    harness.main()
