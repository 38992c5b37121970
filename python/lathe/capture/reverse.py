"""PyTorch's own reverse mode: gradients of functions that are called as they are."""
from __future__ import annotations

import warnings


def jacobian(vector, leaves, keep=True):
    """k x n: row i is the derivative of vector[i] with respect to all leaves, one after the other.

    All rows come from one batched call; a leaf that plays no part has zeros. Where an op of the function has no batched
    derivative, one call per row. ``keep`` the graph of the function for more of the same.
    """
    import torch
    k = vector.numel()
    used = [leaf for leaf in leaves if leaf.requires_grad]
    if not vector.requires_grad or not used or not k:
        return torch.zeros(k, sum(leaf.numel() for leaf in leaves), dtype=leaves[0].dtype, device=leaves[0].device)
    made = iter(one_row(vector, used, keep) if k == 1 else all_rows(vector, used, keep))
    parts = [next(made) if leaf.requires_grad else None for leaf in leaves]
    blocks = [torch.zeros(k, leaf.numel(), dtype=leaf.dtype, device=leaf.device) if part is None else part.reshape(k, -1)
              for part, leaf in zip(parts, leaves)]
    return blocks[0] if len(blocks) == 1 else torch.cat(blocks, 1)


def one_row(vector, leaves, keep):
    import torch
    return torch.autograd.grad(vector, leaves, torch.ones_like(vector), retain_graph=keep, allow_unused=True)


def all_rows(vector, leaves, keep):
    import torch
    seeds = torch.eye(vector.numel(), dtype=vector.dtype, device=vector.device)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on ops that are batched by a loop
            return torch.autograd.grad(vector, leaves, seeds, retain_graph=True, allow_unused=True, is_grads_batched=True)
    except RuntimeError:  # an op that cannot be batched at all; a mistake of the function is raised again below
        rows = [torch.autograd.grad(vector, leaves, seed, retain_graph=True, allow_unused=True) for seed in seeds]
        return [None if all(r is None for r in of_leaf) else
                torch.stack([torch.zeros_like(leaf) if r is None else r for r in of_leaf]) for leaf, of_leaf in zip(leaves, zip(*rows))]
