"""Arrays on their way into the library: DLPack, lists, strides and types that do not fit as they are.

The extension takes dense arrays of the right type itself, without a copy; everything else comes here. ``lathe.last_copies()``
reports what was copied by the last call, and why.
"""
from __future__ import annotations

import numpy as np

from .errors import ArgumentError, DtypeError, kind_of

_NUMPY = {"f16": "float16", "f32": "float32", "f64": "float64", "c64": "complex64", "c128": "complex128",
          "i32": "int32", "i64": "int64", "u8": "uint8"}
_KNOWN = frozenset(_NUMPY.values()) | {"bool"}


def from_dlpack(obj, what: str):
    """(array, why it was copied or None) of an object that speaks DLPack: its own memory where that lies on the host."""
    if getattr(obj, "requires_grad", False):
        obj = obj.detach()
    kind = obj.__dlpack_device__()[0] if hasattr(obj, "__dlpack_device__") else 1
    if int(kind) not in (1, 3):  # kDLCPU, kDLCUDAHost
        return from_device(obj, what)
    try:
        return np.from_dlpack(obj), None
    except Exception as error:  # an element type that NumPy has no name for, or a producer of another version
        raise DtypeError(f"{what}: {type(obj).__name__} of {getattr(obj, 'dtype', 'unknown type')} cannot be taken ({error})") from error


#: How packages call the copy to the host: PyTorch, CuPy, Numba.
TO_HOST = ("cpu", "get", "copy_to_host")


def from_device(obj, what: str):
    """(array on the host, why it was copied) of an array on a GPU; its package waits for its own streams and copies."""
    try:
        way = next((getattr(obj, name) for name in TO_HOST if hasattr(obj, name)), None)
        array = way() if way is not None else np.asarray(obj)  # JAX
        array = array if isinstance(array, np.ndarray) else np.from_dlpack(array)
    except Exception as error:
        raise ArgumentError(f"{what}: {type(obj).__name__} lies on a device and cannot be copied to the host ({error})") from error
    if array.dtype == object:
        raise ArgumentError(f"{what}: {type(obj).__name__} lies on a device, and its package offers no copy to the host: pass a NumPy array")
    return array, "from the device's memory to the host's"


def host_array(obj, what: str):
    """(array, why it was copied or None): anything array-like as a NumPy array."""
    if isinstance(obj, np.ndarray):
        return obj, None
    if hasattr(obj, "__dlpack__"):
        return from_dlpack(obj, what)
    if hasattr(obj, "__cuda_array_interface__"):
        return from_device(obj, what)
    if isinstance(obj, (str, bytes)) or hasattr(obj, "__next__"):
        raise ArgumentError(f"{what}: expected an array, not {kind_of(obj)}")
    try:
        return np.asarray(obj), None if isinstance(obj, (int, float, complex, np.generic)) else f"made from {kind_of(obj)}"
    except ValueError as error:
        raise ArgumentError(f"{what}: {error}") from error


def convert(obj, wanted: str, what: str):
    """(dense array of the wanted type, why it was copied or None). Called by the extension."""
    array, why = host_array(obj, what)
    dtype = np.dtype(_NUMPY[wanted]) if wanted else nearest_type(array, what)
    if array.dtype != dtype:
        if array.dtype.kind not in "fciub" or not np.can_cast(array.dtype, dtype, "same_kind") and not whole(array, dtype):
            raise DtypeError(f"{what} has elements of type {array.dtype}: expected {dtype}")
        why = f"{array.dtype} to {dtype}"
    elif not array.flags.c_contiguous:
        why = f"strides {array.strides} made dense"
    return np.asarray(array, dtype=dtype, order="C"), why


def nearest_type(array, what: str):
    """The type of the library that an array is taken as when any will do."""
    if array.dtype.name in _KNOWN and array.dtype.isnative:
        return array.dtype
    kind = array.dtype.kind
    if kind in "iu":
        return np.dtype("int64")
    if kind in "fc":
        return np.dtype("float64" if kind == "f" else "complex128")
    if kind == "b":
        return np.dtype("uint8")
    raise DtypeError(f"{what} has elements of type {array.dtype}: expected numbers")


def whole(array, dtype) -> bool:
    """Whether an array of whole numbers fits the type as it is: labels of 0 and 1 as uint8."""
    return dtype.kind in "iu" and array.dtype.kind in "iubf" and bool((array == array.astype(dtype)).all())
