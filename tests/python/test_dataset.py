"""Making datasets, reading them lazily, replaying rows."""
import multiprocessing
import os
import pathlib
import pickle
import shutil
import time
import unittest

import harness
import lathe
import numpy as np

CONFIG = pathlib.Path(__file__).parents[2] / "examples" / "configs" / "small_cpu.yaml"
SMALL = {"sampling": {"total_samples": 3, "batch_size": 1}}


def rows_in_child(dataset, queue):
    queue.put(float(np.nansum(dataset[dataset.keys()[0]][0:1]) if dataset[dataset.keys()[0]] is not None else 0))


@harness.needs("h5py")
class Datasets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.seen = []
        try:
            cls.info = lathe.generate(CONFIG, "small.h5", progress=lambda done, total: cls.seen.append((done, total)), **SMALL)
        except lathe.UnsupportedError as error:
            raise unittest.SkipTest(str(error))

    def test_statistics_and_progress(self):
        self.assertEqual(self.info["samples"], 3)
        self.assertTrue(self.info["complete"])
        self.assertEqual(self.seen[-1], (3, 3))

    def test_arrays_are_those_of_the_file(self):
        import h5py
        with lathe.Dataset("small.h5") as d, h5py.File("small.h5") as f:
            self.assertEqual(len(d), 3)
            checked = 0
            for key in d.keys():
                stored = f[key]
                if stored.dtype.kind not in "fiu" or not stored.shape or stored.shape[0] != 3:
                    continue
                lazy = d[key]
                self.assertEqual(lazy.shape, stored.shape)
                np.testing.assert_array_equal(np.asarray(lazy), stored[...].astype(lazy.dtype), err_msg=key)
                np.testing.assert_array_equal(lazy[1], stored[1].astype(lazy.dtype))
                np.testing.assert_array_equal(lazy[::-1], stored[...][::-1].astype(lazy.dtype))
                np.testing.assert_array_equal(lazy[[2, 0]], stored[...][[2, 0]].astype(lazy.dtype))
                checked += 1
            self.assertGreater(checked, 3)
            self.assertEqual(set(d[0]), set(d[-3]))
            with self.assertRaises(IndexError):
                d[3]
            with self.assertRaises(KeyError):
                d["nothing"]

    def test_replay_is_the_same_whatever_the_call(self):
        first, again = lathe.replay("small.h5", 1), lathe.replay("small.h5", 1, realization=0)
        np.testing.assert_array_equal(first["states"][:, :1], again["states"])
        with self.assertRaisesRegex(ValueError, "row 3"):
            lathe.replay("small.h5", 3)
        with self.assertRaisesRegex(ValueError, "realization"):
            lathe.replay("small.h5", 0, realization=99)

    def test_pickled_forked_shown(self):
        d = lathe.Dataset("small.h5")
        self.assertEqual(len(pickle.loads(pickle.dumps(d))), 3)
        page = d._repr_html_()
        self.assertIn("iframe", page)
        for part in ("3 done", "Growth rate of the energy", "Initial field", "svg"):
            self.assertIn(part, page)
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        children = [context.Process(target=rows_in_child, args=(d, queue)) for _ in range(2)]
        [c.start() for c in children]
        answers = {queue.get(timeout=60) for _ in children}
        [c.join(60) for c in children]
        self.assertEqual(len(answers), 1)
        np.testing.assert_array_equal(d["/status/code"][:], [1, 1, 1])  # the children left our reading process alone

    def test_closed_files_rest_for_a_second(self):
        """Opened again at once, a file needs no process; and nobody notices that the old one is still there."""
        import h5py
        shutil.copy("small.h5", "rest.h5")

        def code(path="rest.h5"):
            with lathe.Dataset(path) as d:
                return d["/status/code"][:].tolist(), d._open.first
        first = code()[1]
        self.assertIsNot(code()[1], first)  # just written: another change might not show
        time.sleep(3.2)
        first = code()[1]
        self.assertIs(code()[1], first)
        with h5py.File("rest.h5", "r+") as f:  # no lock is in the way
            self.assertEqual(code("small.h5")[0], [1, 1, 1])
            f["status/code"][0] = 2
        self.assertEqual(code()[0], [2, 1, 1])
        time.sleep(3.2)
        first = code()[1]
        shutil.copy("small.h5", "other.h5")
        os.replace("other.h5", "rest.h5")
        self.assertEqual(code()[0], [1, 1, 1])
        time.sleep(3.2)
        first = code()[1]
        time.sleep(1.5)
        self.assertFalse(first.wake())  # ended by itself
        self.assertEqual(code()[0], [1, 1, 1])
        first = code()[1]
        child = os.fork()
        if child == 0:
            os._exit(code()[1] is first or code()[0] != [1, 1, 1])
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertIs(code()[1], first)

    def test_a_dict_is_a_configuration(self):
        import json
        config = json.loads(lathe.Dataset("small.h5").info["config"])
        info = lathe.generate(config, "again.h5", sampling={"total_samples": 2})
        self.assertEqual(info["samples"], 2)

    def test_misspelt_names(self):
        with self.assertWarnsRegex(UserWarning, "samplin.*sampling"):
            lathe.generate(CONFIG, "misspelt.h5", samplin={"total_samples": 2}, sampling={"total_samples": 1})
        with lathe.Dataset("small.h5") as d, self.assertRaisesRegex(KeyError, "small.h5 has no array '/inputs/field': did you mean '/inputs/fields'"):
            d["/inputs/field"]

    def test_bad_input(self):
        with self.assertRaises(OSError):
            lathe.Dataset("nothing.h5")
        pathlib.Path("text.h5").write_text("text")
        with self.assertRaises(ValueError):
            lathe.Dataset("text.h5")
        with self.assertRaises((ValueError, OSError)):
            lathe.generate("nothing.yaml")
        with self.assertRaises(ValueError):
            lathe.generate({"sampling": {"total_samples": -1}}, "bad.h5")
        with self.assertRaises((ValueError, lathe.Error)):
            lathe.generate(CONFIG, "small.h5", sampling={"total_samples": "many"})


if __name__ == "__main__":
    harness.main()
