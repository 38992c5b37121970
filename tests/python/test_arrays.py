"""Arrays in: no copy where layout and type fit, a reported one where not, refusal of what is no array of numbers."""
import unittest

import harness
import lathe
import numpy as np
from lathe import _core


def program(shape=(3, 4), dtype="float64"):
    g = _core.Graph()
    x = g.input("x", dtype, shape)
    return g.compile([g.op("scale", x, 2.0)])


class In(unittest.TestCase):
    def setUp(self):
        self.a = np.arange(12.0).reshape(3, 4)

    def test_a_dense_array_is_not_copied(self):
        np.testing.assert_array_equal(program()(self.a)[0], 2 * self.a)
        self.assertEqual(lathe.last_copies(), [])

    def test_read_only_arrays_are_taken(self):
        self.a.flags.writeable = False
        np.testing.assert_array_equal(program()(self.a)[0], 2 * self.a)
        self.assertEqual(lathe.last_copies(), [])

    def test_any_strides(self):
        big = np.arange(96.0).reshape(6, 16)
        for view in (big[::2, ::4], big[::-2, 12::-4][:3, :4], np.asfortranarray(self.a), np.broadcast_to(np.arange(4.0), (3, 4)), self.a.T.copy().T):
            np.testing.assert_array_equal(program()(view)[0], 2 * view)
            self.assertEqual(len(lathe.last_copies()), 1, view.strides)
            self.assertIn("strides", lathe.last_copies()[0])

    def test_other_types_are_converted_and_reported(self):
        np.testing.assert_array_equal(program()(self.a.astype(np.float32))[0], 2 * self.a)
        self.assertEqual(lathe.last_copies(), ["argument 0: float32 to float64"])
        np.testing.assert_array_equal(program()(self.a.astype(">f8"))[0], 2 * self.a)
        np.testing.assert_array_equal(program()(self.a.astype(int).tolist())[0], 2 * self.a)
        np.testing.assert_array_equal(program()(self.a > 3)[0], 2.0 * (self.a > 3))

    def test_what_is_no_array_of_numbers_is_refused(self):
        for bad in (np.array([[object()] * 4] * 3), np.array([["a"] * 4] * 3), self.a + 1j, (i for i in range(12)), "text", [[1.0], [2.0, 3.0]],
                    None, np.zeros((3, 4), dtype="datetime64[s]")):
            with self.assertRaises((ValueError, TypeError), msg=repr(bad)) as caught:
                program()(bad)
            self.assertIsInstance(caught.exception, lathe.Error)
            self.assertIn("argument 0", str(caught.exception))

    def test_an_array_of_no_elements(self):
        self.assertEqual(lathe.function(lambda x: x * 2)(np.ones((1, 4))).shape, (1, 4))

    @harness.needs("torch")
    def test_torch_tensors_come_by_dlpack(self):
        import torch
        t = torch.arange(12, dtype=torch.float64).reshape(3, 4)
        np.testing.assert_array_equal(program()(t)[0], 2 * t.numpy())
        self.assertEqual(lathe.last_copies(), [])
        np.testing.assert_array_equal(program()(t.requires_grad_())[0], 2 * self.a)
        np.testing.assert_array_equal(program((4, 3))(t.detach().T)[0], 2 * self.a.T)
        self.assertEqual(len(lathe.last_copies()), 1)
        with self.assertRaises(TypeError):
            program()(t.detach().to(torch.bfloat16))

    @harness.needs("jax")
    def test_jax_arrays_are_taken(self):
        import jax
        x = jax.numpy.arange(12.0, dtype="float32").reshape(3, 4)
        np.testing.assert_array_equal(program(dtype="float32")(x)[0], 2 * np.asarray(x))


class OnDevice:
    """An array as a package with GPUs has it: of DLPack's device 2 (CUDA), copied to the host by the method of this name."""

    def __init__(self, array, method=None, dlpack=True):
        self.array = array
        if method:
            setattr(self, method, lambda: self.array)
        if dlpack:
            self.__dlpack__ = None
        else:
            self.__cuda_array_interface__ = {"shape": array.shape, "typestr": "<f8", "data": (0, False), "version": 3}

    def __dlpack_device__(self):
        return 2, 0


class Device(unittest.TestCase):
    def test_arrays_on_a_device_are_copied_and_reported(self):
        a = np.arange(12.0).reshape(3, 4)
        for method, dlpack in (("cpu", True), ("get", True), ("copy_to_host", False)):  # PyTorch, CuPy, Numba
            with self.subTest(method):
                np.testing.assert_array_equal(program()(OnDevice(a, method, dlpack))[0], 2 * a)
                self.assertEqual(lathe.last_copies(), ["argument 0: from the device's memory to the host's"])

    def test_without_a_way_to_the_host(self):
        for dlpack in (True, False):
            with self.assertRaisesRegex(ValueError, "argument 0: OnDevice lies on a device, and its package offers no copy"):
                program()(OnDevice(np.ones((3, 4)), None, dlpack))

        class Broken(OnDevice):
            def cpu(self):
                raise RuntimeError("the device is gone")
        with self.assertRaisesRegex(ValueError, "cannot be copied to the host .the device is gone"):
            program()(Broken(np.ones((3, 4))))


class Out(unittest.TestCase):
    @harness.needs("torch")
    def test_results_are_of_the_kind_that_came_in(self):
        import torch
        f = lathe.function(lambda x: x * 2)
        self.assertIsInstance(f(torch.ones(3, dtype=torch.float64)), torch.Tensor)

    def test_results_speak_dlpack(self):
        made = lathe.solve("example:A1").final.x
        np.testing.assert_array_equal(np.from_dlpack(made), made)


if __name__ == "__main__":
    harness.main()
