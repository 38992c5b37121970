"""D2, the self-contained variant: an image near a given one in features, classified differently; three distances."""
import torch
import torch.nn as nn
from pygranso.pygranso import pygranso
from pygranso.pygransoStruct import pygransoStruct

device = torch.device("cpu")
torch.manual_seed(4)


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)

    def forward(self, x):
        return torch.relu(x + self.bn(self.conv(x)))


def net():
    return nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1), Block(8),
                         nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(), nn.Linear(16, 10))


model, features = (net().to(device=device, dtype=torch.double).eval() for _ in range(2))
for parameter in [*model.parameters(), *features.parameters()]:
    parameter.requires_grad_(False)
model[-1].weight.mul_(8)  # margins of the size that a trained network has
inputs = torch.rand(1, 3, 16, 16).to(device=device, dtype=torch.double)
labels = model(inputs).argmax(1)


elsewhere = -1e9 * nn.functional.one_hot(labels, 10).to(torch.double)


def margin(logits, labels):
    correct = torch.gather(logits, 1, labels.view(-1, 1)).squeeze(1)
    highest = torch.topk(logits + elsewhere, 2, dim=1)[0][:, 0]
    return torch.clamp(highest - correct, max=1.0).sum()


def normalized(x):
    out = []
    for layer in features[:7]:
        x = layer(x)
        if isinstance(layer, nn.ReLU):
            norm = torch.sqrt(torch.sum(x**2, dim=1, keepdim=True)) + 1e-10
            out.append((x / (norm * (x.shape[2] * x.shape[3]) ** 0.5)).view(x.shape[0], -1))
    return torch.cat(out, 1)


target = normalized(inputs)


def user_fn(X_struct, distance, eps):
    adv = X_struct.x_tilde
    ci = pygransoStruct()
    if distance == "perceptual":
        ci.c1 = torch.norm((normalized(adv) - target).reshape(-1)) - eps
    elif distance == "L2":
        ci.c1 = torch.norm((adv - inputs).reshape(-1)) - eps
    else:
        ci.c1 = torch.norm((adv - inputs).reshape(-1), float("inf")) - eps
    return [-margin(model(adv), labels), ci, None]


for distance, eps, mu0, maxit in (("perceptual", 0.5, 1, 100), ("L2", 4.0, 1, 200), ("Linf", 0.3, 0.1, 1000)):
    opts = pygransoStruct()
    opts.torch_device = device
    opts.x0 = inputs.reshape(-1, 1)
    opts.mu0, opts.maxit, opts.opt_tol = mu0, maxit, 1e-6
    opts.print_frequency = 20
    soln = pygranso({"x_tilde": list(inputs.shape)}, lambda X_struct: user_fn(X_struct, distance, eps), opts)
    assert soln.best.tvi <= 1e-6 and soln.best.f <= -1 + 1e-6, (distance, soln.best.f, soln.final.f, soln.termination_code)
print("passed")
