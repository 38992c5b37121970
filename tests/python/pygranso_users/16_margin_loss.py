"""The margin loss of attacks, by the positions of the two largest logits; one's own optimum by argmax; captured and called agree."""
import torch
from pygranso.pygranso import pygranso
from pygranso.pygransoStruct import pygransoStruct

device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 6), torch.nn.Tanh(), torch.nn.Linear(6, 4)).to(device, torch.double).eval()
for p in net.parameters():
    p.requires_grad = False
inputs = torch.rand(1, 8, device=device, dtype=torch.double)
labels = net(inputs).argmax(1)


def MarginLoss(logits, labels):
    correct_logits = torch.gather(logits, 1, labels.view(-1, 1))
    max_2_logits, argmax_2_logits = torch.topk(logits, 2, dim=1)
    top_max, second_max = max_2_logits.chunk(2, dim=1)
    top_argmax, _ = argmax_2_logits.chunk(2, dim=1)
    labels_eq_max = top_argmax.squeeze().eq(labels).float().view(-1, 1)
    labels_ne_max = top_argmax.squeeze().ne(labels).float().view(-1, 1)
    max_incorrect_logits = labels_eq_max * second_max + labels_ne_max * top_max
    return -(max_incorrect_logits - correct_logits).clamp(max=1).squeeze().sum()


def user_fn(X_struct):
    adv_inputs = X_struct.x_tilde
    moved = torch.abs(adv_inputs - inputs).view(-1)
    ci = pygransoStruct()
    ci.c1 = torch.norm(moved) - 0.5
    ci.c2 = moved[torch.argmax(moved)] - 0.3
    return [MarginLoss(net(adv_inputs), labels), ci, None]


found = []
for capture in ("verify", "never"):
    opts = pygransoStruct()
    opts.torch_device = device
    opts.x0 = torch.reshape(inputs, (torch.numel(inputs), 1))
    opts.maxit, opts.opt_tol, opts.print_level, opts.capture = 100, 1e-6, 0, capture
    found.append(pygranso(var_spec={"x_tilde": list(inputs.shape)}, combined_fn=user_fn, user_opts=opts))
assert found[0].how.startswith("captured"), found[0].how
assert abs(found[0].best.f - found[1].best.f) < 1e-4 and found[0].best.tvi <= 1e-6, [soln.best.f for soln in found]
print("passed")
