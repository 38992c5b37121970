"""Rows of a dataset as PyTorch takes them."""
from __future__ import annotations

import numpy as np
import torch
from torch.utils.data import Dataset as TorchBase


class TorchDataset(TorchBase):
    """Each sample is a tensor, or a tuple of them where several arrays were asked for. Picklable: workers open the file themselves.

    A batch of a DataLoader is read in one go per array (``__getitems__``).
    """

    def __init__(self, dataset, paths, rows, transform, statistics, how):
        self.dataset, self.paths, self.rows, self.transform, self.statistics, self.how = dataset, paths, rows, transform, statistics, how

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        if not -len(self) <= i < len(self):
            raise IndexError(f"sample {i} of {len(self)}")
        return self.__getitems__([i])[0]

    def __getitems__(self, indices):
        rows = self.rows[np.asarray(indices, dtype=np.int64)]
        arrays = [torch.from_numpy(self.values(path, rows)) for path in self.paths]
        samples = list(zip(*arrays)) if len(arrays) > 1 else list(arrays[0])
        return samples if self.transform is None else [self.transform(sample) for sample in samples]

    def values(self, path, rows):
        made = self.dataset[path][rows]
        name = self.statistics and self.statistics[1].get(path)
        return self.statistics[0].normalize(name, made, self.how) if name else made

    def __repr__(self):
        return f"TorchDataset({len(self)} of {len(self.dataset)} operators: {', '.join(self.paths)})"
