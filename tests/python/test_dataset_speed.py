"""Reading the features of 10,000 operators beside h5py, in one run: equal numbers, and the ratio of the times is printed.

Only a gross loss fails (reading row by row, say): on a busy machine the times of either vary more than they differ.
"""
import pathlib
import time
import unittest

import harness
import lathe
import numpy as np

CONFIG = pathlib.Path(__file__).parents[2] / "examples" / "configs" / "small_cpu.yaml"
ROWS, KEY = 10000, "/features/summary/aggregated/features"


def make_large(small, large):
    """The file with its rows repeated and features varied, so that they compress as those of different operators do."""
    import h5py
    rng = np.random.default_rng(0)
    with h5py.File(small) as source, h5py.File(large, "w") as made:
        made.attrs.update(source.attrs)

        def copy(name, item):
            if isinstance(item, h5py.Group):
                made.require_group(name).attrs.update(item.attrs)
                return
            values = item[...][np.arange(ROWS) % len(item)]
            if name == KEY[1:]:
                values = values * (1 + 0.1 * rng.standard_normal(values.shape, dtype=np.float32))
            chunks = item.chunks and (min(100, ROWS), *item.chunks[1:])
            made.create_dataset(name, data=np.arange(ROWS) if name == "status/row" else values, dtype=item.dtype, chunks=chunks, compression=item.compression,
                                compression_opts=item.compression_opts, shuffle=item.shuffle).attrs.update(item.attrs)
        source.visititems(copy)
        made["metadata"].attrs["num_parameter_sets"] = ROWS


@harness.needs("h5py")
class Speed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            lathe.generate(CONFIG, "few.h5", sampling={"total_samples": 4, "batch_size": 4}, simulation={"num_timesteps": 2, "num_realizations": 2})
        except lathe.UnsupportedError as error:
            raise unittest.SkipTest(str(error))
        make_large("few.h5", "many.h5")

    def test_features_of_ten_thousand_operators(self):
        import h5py

        def cold():
            with lathe.Dataset("many.h5") as d:
                return d.features()

        def peer():
            with h5py.File("many.h5") as f:
                return f[KEY][...]
        opened = lathe.Dataset("many.h5")
        ways = {"h5py": peer, "lathe, opened each time": cold, "lathe, open": lambda: opened.features()}
        np.testing.assert_array_equal(cold().view(np.float32).reshape(ROWS, -1), peer())
        best = dict.fromkeys(ways, np.inf)
        for _ in range(5):
            for name, call in ways.items():
                start = time.perf_counter()
                call()
                best[name] = min(best[name], time.perf_counter() - start)
        opened.close()
        for name, seconds in best.items():
            print(f"{name}: {seconds * 1e3:.1f} ms, {best['h5py'] / seconds:.2f} of h5py's speed")
        self.assertGreater(best["h5py"] / best["lathe, open"], 0.1)


if __name__ == "__main__":
    harness.main()
